/** Short forms for cases about calls to models. */
import assert from 'node:assert/strict';
import type { CallEnd, CallOpening, ModelCall } from '../../domain/model-call.ts';
import type { CallBegun, Ledger, LimitLine } from '../../ports/ledger.ts';
import type { ClaimedJob } from '../../ports/job-store.ts';
import type { Fixture } from './fixture.ts';

export type Begin = Parameters<Ledger['begin']>[0];
export type End = Parameters<Ledger['end']>[0];
type Running = Pick<ClaimedJob, 'jobId' | 'token' | 'attempt' | 'workflow'>;

export const OPENING: CallOpening = {
  provider: 'openai',
  account: 'default',
  requestedModel: 'gpt-5',
  promptSha256: 'prompt-digest',
  schemaSha256: null,
  requestSha256: 'request-digest',
  parameters: { temperature: 0.5, seed: 7, tools: ['look_up'], streaming: false },
  sdk: 'ai@6',
  streamed: false,
  repair: false,
};

export const UPSTREAM = { provider: 'openai', account: 'default', model: 'gpt-5' };

export const ANSWERED: CallEnd = {
  servedModel: 'gpt-5-2026-01-01',
  finishReason: 'stop',
  requestId: 'req_1',
  usage: { input: 10, cachedInput: 0, cacheWrite: null, output: 20, reasoning: null },
  latencyMs: 123.4,
  code: null,
  rule: null,
  httpStatus: 200,
};

export const NO_LIMITS: Begin['limits'] = { workflow: null, day: null };

/** The opening of a call, of a cost of 10 where nothing else is said. */
export function opening({ jobId, token, attempt, workflow }: Running, changes: Partial<Begin> = {}): Begin {
  const call = { jobId, token, attempt, workflow, place: 1, opening: OPENING };
  return { ...call, estimate: 10, limits: NO_LIMITS, reusedFrom: null, ...changes };
}

/** Begins a call, which has to be let through, and gives its number. */
export async function begun(f: Fixture, running: Running, changes: Partial<Begin> = {}): Promise<number> {
  const answer = await f.store.ledger.begin(opening(running, changes));
  assert.ok(answer.outcome === 'begun', `begin answered ${answer.outcome}`);
  return answer.n;
}

export function ended(
  f: Fixture,
  { jobId, token }: Pick<Running, 'jobId' | 'token'>,
  n: number,
  changes: Partial<End> = {},
): Promise<boolean> {
  const end = { jobId, token, n, end: ANSWERED, cost: 4, response: null, blob: null };
  return f.store.ledger.end({ ...end, ...changes });
}

/** One call from its beginning to its end. */
export async function called(f: Fixture, running: Running, changes: Partial<Begin> = {}): Promise<number> {
  const n = await begun(f, running, changes);
  assert.ok(await ended(f, running, n));
  return n;
}

export async function callOf(f: Fixture, jobId: string, n = 1): Promise<ModelCall> {
  const call = (await f.store.ledger.calls({ jobId })).find((one) => one.n === n);
  assert.ok(call, `${jobId} has no call ${n}`);
  return call;
}

/** Spent and reserved of the deployment, of the workflow and of the job. */
export async function sums(f: Fixture, jobId: string): Promise<Record<string, [number, number]>> {
  const { workflow, spending } = await f.job(jobId);
  const lines: LimitLine[] = await f.store.ledger.limits();
  const of = (scope: string, name?: string): [number, number] => {
    const line = lines.find((one) => one.scope === scope && (name === undefined || one.name === name));
    return [line?.spent ?? 0, line?.reserved ?? 0];
  };
  return { day: of('day'), workflow: of('workflow', workflow), job: [spending.spent, spending.reserved] };
}

export function everywhere(spent: number, reserved: number): Record<string, [number, number]> {
  return { day: [spent, reserved], workflow: [spent, reserved], job: [spent, reserved] };
}

export function refusedBy(answer: CallBegun): LimitLine {
  assert.ok(answer.outcome === 'over_limit', `begin answered ${answer.outcome}`);
  return answer.line;
}
