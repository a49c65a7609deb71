/** A history in which every invariant holds: one job of each fate, and what clients and workers were told of them. */
import { createHash } from 'node:crypto';
import type { Command } from '../../src/domain/decide.ts';
import type { ModelCall } from '../../src/domain/model-call.ts';
import type { Job } from '../../src/domain/record.ts';
import { statusOf } from '../../src/domain/view.ts';
import type { History } from '../../src/testkit/checker/history.ts';
import { accepted, command } from '../../src/testkit/machine.ts';
import type { Asked } from '../../src/testkit/machine.ts';
import { ANSWERED, OPENING } from '../../src/testkit/store/calls.ts';

const BYTES = Buffer.from('{"summary":"ok"}');
const SHA256 = createHash('sha256').update(BYTES).digest('hex');

export function ref(uri: string) {
  return { uri, sha256: SHA256, bytes: BYTES.byteLength, mediaType: 'application/json' };
}

export const claim: Command = { type: 'claim', worker: 'w1' };
const down: Extract<Command, { type: 'fail' }> = {
  type: 'fail',
  failure: { code: 'upstream_unavailable', elapsedMs: 5 },
  jitter: 0.5,
};
export const malformed: Command = {
  type: 'fail',
  jitter: 0,
  failure: {
    code: 'malformed_output',
    elapsedMs: 5,
    evidence: [{ kind: 'raw_output', uri: 'evidence/2', sha256: SHA256, bytes: BYTES.byteLength }],
  },
};

export function complete(uri: string): Command {
  return { type: 'complete', artifact: ref(uri), artifacts: [{ ...ref(`${uri}-page`), name: 'page' }] };
}

/** A call that was answered; `changes` say otherwise. */
function call(n: number, attempt: number, startedAt: number, changes: Partial<ModelCall> = {}): ModelCall {
  const end = { ...ANSWERED, endedAt: startedAt + 5 };
  const bill = { reserved: 10, billing: 'settled', cost: 4 } as const;
  const rest = {
    token: attempt,
    place: n,
    response: ref(`evidence/${n}`),
    reusedFrom: null,
    settledBy: null,
  };
  return { ...OPENING, n, attempt, startedAt, end, ...bill, ...rest, ...changes };
}

const LOST = { end: null, billing: 'unknown', cost: null, response: null } as const;

export function lived(jobId: string, asked: Asked, ...orders: [at: number, order: Command][]): Job {
  const machine = accepted({ jobId, ...asked }, 0);
  if (Array.isArray(machine)) throw new Error('not accepted');
  for (const [at, order] of orders) {
    const said = command(machine, order, at);
    if ('refused' in said) throw new Error(`${jobId} ${order.type}: ${said.refused}`);
  }
  return structuredClone({ ...machine.job, inputSha256: `input of ${jobId}` });
}

export const by = { actor: 'key:a', reason: 'asked' };

/** What a job called: an attempt that was lost, a stored response, a call that cost more than was held; and after the replay, a lower limit. */
function withCalls(jobs: Job[]): Job[] {
  const of = (jobId: string): Job => jobs.find((one) => one.jobId === jobId)!;
  of('job_lost').calls = [
    call(1, 1, 20, LOST),
    call(2, 2, 920, { place: 1 }),
    call(3, 2, 930, { cost: 0, billing: 'none', reserved: 0, reusedFrom: 2 }),
    call(4, 3, 970, { ...LOST, billing: null }),
  ];
  of('job_lost').spending = { limit: 24, spent: 4, reserved: 20 };
  of('job_done').calls = [call(1, 2, 210, { cost: 13 })];
  of('job_done').spending = { limit: 10, spent: 13, reserved: 0 };
  of('job_replayed').calls = [call(1, 1, 15)];
  of('job_replayed').spending = { limit: 3, spent: 4, reserved: 0 };
  return jobs;
}

/** One job of each fate, a client's log of them, and all of it as it should be. */
export function valid(): History & { jobs: Job[] } {
  const jobs = withCalls([
    lived('job_done', {}, [10, claim], [20, down], [200, claim], [300, complete('artifacts/1')]),
    lived('job_dead', {}, [10, claim], [20, malformed]),
    lived(
      'job_lost',
      { runAt: 5 },
      [10, claim],
      [900, { type: 'lose' }],
      [910, claim],
      [950, { type: 'release' }],
      [960, claim],
    ),
    lived('job_cancelled', {}, [10, claim], [20, { type: 'cancel', ...by }]),
    lived(
      'job_replayed',
      {},
      [10, claim],
      [20, malformed],
      [30, { type: 'replay', ...by }],
      [40, claim],
      [50, complete('artifacts/2')],
    ),
    lived(
      'job_waiting',
      {},
      [10, claim],
      [20, { ...down, failure: { ...down.failure, retryAfterMs: 5000 } }],
    ),
  ]);
  const creates: History['clients']['creates'] = jobs.map(({ jobId, inputSha256 }) => ({
    tenant: 'default',
    told: 'accepted',
    jobId,
    inputSha256,
    idempotencyKey: `key of ${jobId}`,
  }));
  return {
    jobs,
    statuses: jobs.map(statusOf),
    accounts: [
      {
        scope: 'day',
        name: '1970-01-01',
        limit: 5,
        spent: 21,
        reserved: 20,
        setBy: { actor: 'a', reason: 'r', at: 980 },
      },
      { scope: 'workflow', name: 'demo', limit: null, spent: 21, reserved: 20, setBy: null },
      { scope: 'workflow', name: 'idle', limit: null, spent: 0, reserved: 0, setBy: null },
    ],
    clients: {
      creates: [
        ...creates,
        { ...creates[0]!, told: 'accepted' },
        { tenant: 'default', told: 'refused', inputSha256: 'input of a refused one' },
        { tenant: 'default', told: 'nothing', inputSha256: 'input of one without a reply' },
      ],
      cancels: [
        { jobId: 'job_cancelled', told: 'accepted' },
        { jobId: 'job_done', told: 'refused' },
      ],
      replays: [
        { jobId: 'job_replayed', told: 'accepted', decisionId: 'dec_replayed_1' },
        { jobId: 'job_replayed', told: 'refused', decisionId: 'dec_replayed_1' },
      ],
      streams: [
        {
          jobId: 'job_dead',
          events: [
            { seq: 2, type: 'running' },
            { seq: 3, type: 'dead_letter' },
          ],
        },
      ],
    },
    workers: {
      claims: [
        { jobId: 'job_done', attempt: 1, token: 1 },
        { jobId: 'job_done', attempt: 2, token: 2 },
        { jobId: 'job_lost', attempt: 3, token: 3 },
      ],
      settlements: [
        { jobId: 'job_done', attempt: 2, command: 'complete', told: 'settled' },
        { jobId: 'job_done', attempt: 1, command: 'fail', told: 'settled' },
        { jobId: 'job_lost', attempt: 1, command: 'complete', told: 'lease_lost' },
        { jobId: 'job_lost', attempt: 2, command: 'release', told: 'settled' },
        { jobId: 'job_cancelled', attempt: 1, command: 'fail', told: 'lease_lost' },
        // the reply to the first was lost
        { jobId: 'job_replayed', attempt: 2, command: 'complete', told: 'nothing' },
        { jobId: 'job_replayed', attempt: 2, command: 'complete', told: 'lease_lost' },
      ],
    },
    overstays: [{ jobId: 'job_lost', lateMs: 400 }],
    crashed: false,
    read: (uri) => Promise.resolve(/^(artifacts|evidence)\//.test(uri) ? BYTES : null),
    now: 1000,
    graceMs: 500,
    quietMs: 900,
    known: () => true,
  };
}
