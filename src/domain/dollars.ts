/** Between dollars, as people and JSON write them, and whole nano-dollars. */
import { NANO } from './money.ts';
import type { NanoUsd } from './money.ts';

/** Up to here every whole nano-dollar has a number of dollars of its own, and comes back from it. */
export const MOST_USD = 1_000_000;

/** Null where it is no amount: negative, past `MOST_USD`, or of more than nine decimals. */
export function nanoOf(usd: unknown): NanoUsd | null {
  if (typeof usd !== 'number' || !(usd >= 0 && usd <= MOST_USD)) return null;
  const nano = Math.round(usd * NANO);
  return nano / NANO === usd ? nano : null;
}

export function usdOf(nano: NanoUsd): number {
  return nano / NANO;
}

/** What an amount may be, as a phrase. */
export const ALLOWED_USD = `a number of dollars from 0 to ${MOST_USD}, with at most 9 decimals`;

/** `$0.25`, `$0.000123`: cents at least, and as many decimals as it has. */
export function dollars(nano: NanoUsd): string {
  const whole = Math.floor(nano / NANO);
  const decimals = String(nano % NANO)
    .padStart(9, '0')
    .replace(/0{1,7}$/, '');
  return `$${whole}.${decimals}`;
}
