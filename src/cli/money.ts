/** Dollars, for people. */
import type { AccountJson } from '../domain/accounts.ts';
import { dollars } from '../domain/dollars.ts';
import { NANO } from '../domain/money.ts';

/** `$0.25` of 0.25. */
export function money(usd: number): string {
  return dollars(Math.round(usd * NANO));
}

/** What an account may cost now, in a sentence. */
export function limitSentence({ scope, name, limit_usd: limit }: AccountJson): string {
  const whose = scope === 'day' ? 'All workflows together' : name;
  return `${whose} may cost ${limit === null ? 'what they like' : money(limit)} in a day, from now on.`;
}
