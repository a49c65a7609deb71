/** The calls of a job to models as a table: what each was, how it ended, what it cost. */
import type { CallJson, UsageJson } from '../domain/call-view.ts';
import { money } from './money.ts';
import { columns } from './text.ts';
import type { Cell, Palette } from './text.ts';

export function callLines(calls: readonly CallJson[], { dim, bad }: Palette): string[] {
  if (calls.length === 0) return [];
  const header = ['CALL', 'ATTEMPT', 'MODEL', 'TOKENS', 'MS', 'COST', 'ENDED'].map((text) => ({
    text,
    style: dim,
  }));
  const rows = calls.map((call): Cell[] => [
    { text: String(call.n), style: dim },
    { text: String(call.attempt) },
    { text: modelOf(call) },
    { text: tokensOf(call.usage) },
    { text: call.latency_ms === null ? '' : String(Math.round(call.latency_ms)) },
    { text: costOf(call), ...(call.billing === 'unknown' ? { style: bad } : {}) },
    { text: endOf(call), ...(call.code === null ? {} : { style: bad }) },
  ]);
  return columns([header, ...rows], '  ');
}

function modelOf(call: CallJson): string {
  const asked = `${call.provider}/${call.requested_model}`;
  return call.served_another ? `${asked} (answered by ${call.served_model})` : asked;
}

/** In and out, all buckets of each together; a question mark for what the provider did not say. */
function tokensOf(usage: UsageJson | null): string {
  if (usage === null) return '';
  const { input, cached_input: cached, cache_write: write, output, reasoning } = usage;
  return `${sum(input, cached, write)} > ${sum(output, reasoning)}`;
}

function sum(first: number | null, ...more: (number | null)[]): string {
  return first === null ? '?' : String(more.reduce<number>((total, one) => total + (one ?? 0), first));
}

function costOf({ billing, cost_usd: cost, reserved_usd: held, settled_by: settled }: CallJson): string {
  if (billing === 'unknown') return `unknown, ${money(held)} held`;
  if (billing === null) return `${money(held)} held`;
  if (billing === 'none') return 'none';
  return `${money(cost ?? 0)}${settled === null ? '' : ' (settled)'}`;
}

function endOf(call: CallJson): string {
  const { billing, code, rule, finish_reason: finish, latency_ms: latency, reused_from: reused } = call;
  const parts = [
    code ?? finish ?? (billing === null ? 'under way' : latency === null ? 'cut off' : ''),
    rule === null ? '' : `(${rule})`,
    reused === null ? '' : `answered by call ${reused}`,
    call.repair ? 'repair' : '',
  ];
  return parts.filter((part) => part !== '').join(' ');
}
