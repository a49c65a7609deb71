/** Instants as texts. */

const DAY_MS = 86_400_000;
const TWO = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));

/** The day of the last instant that was written, for the next one is mostly of the same. */
let known = { day: Number.NaN, text: '' };

/** What `toISOString` says, in a third of its time: every status and every event has one. */
export function iso(instant: number): string {
  const at = Math.trunc(instant);
  const day = Math.floor(at / DAY_MS);
  if (day !== known.day) {
    const text = new Date(at).toISOString();
    known = { day, text: text.slice(0, text.indexOf('T') + 1) };
  }
  const ofDay = at - day * DAY_MS;
  const seconds = Math.floor(ofDay / 1000);
  const clock = `${TWO[Math.floor(seconds / 3600)]}:${TWO[Math.floor(seconds / 60) % 60]}:${TWO[seconds % 60]}`;
  return `${known.text}${clock}.${String(ofDay % 1000).padStart(3, '0')}Z`;
}
