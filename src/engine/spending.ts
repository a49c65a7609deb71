/** What persons see of money and say about it: accounts and limits of today, and what a call in doubt cost. */
import { MOST_USD, usdOf } from '../domain/dollars.ts';
import type { NanoUsd } from '../domain/money.ts';
import type { ValidationIssue } from '../domain/record.ts';

/** What is wrong with the limit that a request sets for its job. */
export function spendingIssues(
  limit: NanoUsd | undefined,
  cap: NanoUsd | null,
  root: string,
): ValidationIssue[] {
  if (limit === undefined || (limit >= 0 && limit <= (cap ?? limit))) return [];
  const most = cap === null ? MOST_USD : usdOf(cap);
  const message = `must be a number of dollars from 0 to ${most}, and is ${usdOf(limit)}`;
  return [{ path: `${root}/limits/spending_usd`, message }];
}
