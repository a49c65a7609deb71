/** How long a provider asks to be left alone. */

const DAY_MS = 86_400_000;

/** Whoever asks for more means never; the queue turns what lies past a job's deadline into its end anyway. */
const MOST_MS = 366 * DAY_MS;

/** The three forms of a date in HTTP (RFC 9110, 5.6.7), of which `Date.parse` reads many more. */
const HTTP_DATE = /^(Mon|Tues?|Wed(nes)?|Thu(rs)?|Fri|Sat(ur)?|Sun)(day)?,? [ \w:-]+( GMT)?$/;

/**
 * A `Retry-After` as whole milliseconds from now: seconds, or a date. Days are kept. Null where it is neither.
 * @param nowMs by the clock of whoever wrote the date, where that is known
 */
export function parseRetryAfter(text: string, nowMs: number): number | null {
  const value = text.trim();
  if (/^\d+(\.\d+)?$/.test(value)) return within(Number(value) * 1000);
  if (!HTTP_DATE.test(value)) return null;
  const at = Date.parse(value.endsWith('GMT') ? value : `${value} GMT`);
  return Number.isNaN(at) ? null : within(at - nowMs);
}

/** OpenAI's `retry-after-ms`. */
export function parseRetryAfterMs(text: string): number | null {
  const value = text.trim();
  return /^\d+(\.\d+)?$/.test(value) ? within(Number(value)) : null;
}

function within(ms: number): number {
  return Math.min(Math.max(0, Math.ceil(ms)), MOST_MS);
}
