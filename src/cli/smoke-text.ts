/** A smoke check's report as a reader at a terminal needs it. What was sent and what came is only in the file. */
import { dollars, nanoOf } from '../domain/dollars.ts';
import type { CallReport, SmokeReport } from '../domain/smoke/report.ts';
import { columns, palette, plain } from './text.ts';
import type { Cell, Palette } from './text.ts';

/** One line, as soon as a call is over. */
export function progressLine(report: SmokeReport, calls: number): string {
  const call = report.calls.at(-1);
  if (call === undefined) return '';
  const said = call.as_pinned ? 'as pinned' : (call.deviations[0] ?? 'not as pinned');
  return plain(`call ${call.n} of ${calls}: ${said}, ${call.latency_ms.end} ms`);
}

export function summary(report: SmokeReport, file: string, hasColour: boolean): string[] {
  const colours = palette(hasColour);
  const { calls, pinned, spending } = report;
  return [
    plain(`${pinned.name}: ${pinned.provider} ${pinned.api}, ${pinned.model}`),
    ...columns([headings(colours), ...calls.map((call) => row(call, colours))], '  '),
    ...calls.flatMap(({ n, deviations }) => deviations.map((said) => plain(`  call ${n}: ${said}`))),
    ...stopped(report),
    ...report.redaction
      .filter(({ matches }) => matches === 0)
      .map(({ rule, kind }) => `The ${kind} ${rule} found nothing to take out.`),
    plain(`Spent ${usd(spending.spent_usd)} of ${usd(spending.limit_usd)}${held(spending.held_usd)}.`),
    plain(`The report is in ${file}, for its owner alone.`),
    '',
    `It proves: ${report.proves}`,
    'It does not prove:',
    ...report.does_not_prove.map((sentence) => `  - ${sentence}`),
  ];
}

function headings({ dim }: Palette): Cell[] {
  const names = ['CALL', 'RESULT', 'SERVED BY', 'FINISH', 'SCHEMA', 'HEADERS', 'FIRST', 'END', 'COST'];
  return names.map((text) => ({ text, style: dim }));
}

function row(call: CallReport, { good, bad }: Palette): Cell[] {
  const { headers, first_token: first, end } = call.latency_ms;
  const result = call.as_pinned ? 'as pinned' : (call.code ?? 'deviates');
  const ms = (latency: number | null) => (latency === null ? '-' : `${latency} ms`);
  return [
    { text: String(call.n) },
    { text: result, style: call.as_pinned ? good : bad },
    { text: call.served_model ?? '-' },
    { text: call.finish_reason ?? '-' },
    { text: call.schema.result.replace('_', ' ') },
    { text: ms(headers) },
    { text: ms(first) },
    { text: ms(end) },
    { text: call.cost_usd === null ? 'unknown' : usd(call.cost_usd) },
  ];
}

function stopped({ stopped: reason, calls, pinned, spending }: SmokeReport): string[] {
  if (reason === null) return [];
  const next = `${usd(spending.most_per_call_usd)} more would have passed the limit`;
  return [`Stopped after ${calls.length} of ${pinned.calls} calls: ${next}.`];
}

function held(amount: number): string {
  return amount === 0 ? '' : `; ${usd(amount)} held for calls whose cost nobody knows`;
}

function usd(amount: number): string {
  return dollars(nanoOf(amount) ?? 0);
}
