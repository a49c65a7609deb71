/** The checker, checked: a valid history passes, and for each invariant a corrupted one is caught under its number. */
import { describe, expect, test } from 'vitest';
import { by, claim, complete, lived, malformed, ref, valid } from '../../../test/support/valid-history.ts';
import type { Command } from '../../domain/decide.ts';
import type { Job } from '../../domain/record.ts';
import { check, report } from './checker.ts';

type Corrupt = (history: ReturnType<typeof valid>) => void;

function job(history: ReturnType<typeof valid>, jobId: string): Job {
  return history.jobs.find((one) => one.jobId === jobId)!;
}

/** Corruptions by the invariant that has to catch them. */
const CORRUPTIONS: [invariant: number, what: string, corrupt: Corrupt][] = [
  [1, 'a job that was accepted is gone', (h) => h.jobs.splice(0, 1)],
  [1, 'a job is there twice', (h) => h.jobs.push(structuredClone(h.jobs[0]!))],
  [1, 'a job is another tenant’s', (h) => (job(h, 'job_done').tenant = 'other')],
  [
    1,
    'a job holds another input',
    (h) => (h.clients.creates[0]!.inputSha256 = 'input of one without a reply'),
  ],
  [1, 'an acceptance named no job', (h) => delete h.clients.creates[0]!.jobId],
  [2, 'nobody asked for a job', (h) => h.clients.creates.splice(1, 1)],
  [2, 'a refused request left a job', (h) => (h.clients.creates[1]!.told = 'refused')],
  [
    2,
    'one request without a reply left two jobs',
    (h) => {
      for (const jobId of ['job_x', 'job_y'])
        h.jobs.push({ ...lived(jobId, {}), inputSha256: 'input of one without a reply', runAt: 990 });
    },
  ],
  [3, 'a key was answered with two jobs', (h) => (h.clients.creates[0]!.idempotencyKey = 'key of job_dead')],
  [3, 'a key was accepted with another input', (h) => (h.clients.creates[6]!.inputSha256 = 'other')],
  [
    4,
    'a job that was accepted is gone after a crash',
    (h) => {
      h.crashed = true;
      h.jobs.splice(0, 1);
    },
  ],
  [5, 'an event does not follow the one before', (h) => job(h, 'job_done').events.splice(2, 1)],
  [5, 'an event is outside the table', (h) => (job(h, 'job_dead').events[2]!.type = 'completed')],
  [5, 'a job has no events', (h) => (job(h, 'job_dead').events = [])],
  [
    5,
    'a status counts another number of events',
    (h) => (h.statuses = h.statuses.map((one) => ({ ...one, seq: one.seq + 1 }))),
  ],
  [
    6,
    'a state has no event',
    (h) => {
      job(h, 'job_waiting').status = 'completed';
      job(h, 'job_waiting').artifact = ref('artifacts/9');
    },
  ],
  [6, 'an error has no event', (h) => job(h, 'job_dead').errors.unshift(job(h, 'job_dead').errors[0]!)],
  [6, 'the budget is not what was spent', (h) => (job(h, 'job_lost').used = 0)],
  [
    6,
    'the list shows another state',
    (h) => (h.statuses = h.statuses.map((one) => ({ ...one, status: 'queued' }))),
  ],
  [7, 'an attempt falls', (h) => (job(h, 'job_lost').events.at(-1)!.attempt = 1)],
  [7, 'an attempt is skipped', (h) => (job(h, 'job_done').events[3]!.attempt = 3)],
  [
    8,
    'a reader missed an event',
    (h) =>
      (h.clients.streams![0]!.events = [
        { seq: 1, type: 'queued' },
        { seq: 3, type: 'dead_letter' },
      ]),
  ],
  [
    8,
    'a reader saw an event twice',
    (h) =>
      (h.clients.streams![0]!.events = [
        { seq: 1, type: 'queued' },
        { seq: 1, type: 'queued' },
      ]),
  ],
  [
    8,
    'a reader saw what did not happen',
    (h) => (h.clients.streams![0]!.events = [{ seq: 3, type: 'completed' }]),
  ],
  [9, 'a running job has no lease', (h) => (job(h, 'job_lost').lease = null)],
  [9, 'a job that ended has a lease', (h) => (job(h, 'job_done').lease = job(h, 'job_lost').lease)],
  [9, 'a lease has no token', (h) => (job(h, 'job_lost').lease!.token = 0)],
  [10, 'a token did not grow', (h) => (h.workers!.claims[1]!.token = 1)],
  [10, 'two workers were given one attempt', (h) => (h.workers!.claims[1]!.attempt = 1)],
  [10, 'a lease is older than the last claim', (h) => (h.workers!.claims[2]!.token = 9)],
  [10, 'a lease is of another attempt', (h) => (job(h, 'job_lost').lease!.attempt = 1)],
  [11, 'an attempt was settled twice', (h) => h.workers!.settlements.push({ ...h.workers!.settlements[0]! })],
  [
    11,
    'a worker that had lost its lease was told that it settled',
    (h) => (h.workers!.settlements[2]!.told = 'settled'),
  ],
  [11, 'a completion that was told is a failure', (h) => (h.workers!.settlements[1]!.command = 'complete')],
  [11, 'a failure that was told is a completion', (h) => (h.workers!.settlements[0]!.command = 'fail')],
  [11, 'a failure that was told is a release', (h) => (h.workers!.settlements[3]!.command = 'fail')],
  [11, 'a release that was told is a failure', (h) => (h.workers!.settlements[1]!.command = 'release')],
  [11, 'a failure that was told is a cancel', (h) => (h.workers!.settlements[4]!.told = 'settled')],
  [11, 'an attempt that was only refused completed', (h) => h.workers!.settlements.splice(5, 1)],
  [11, 'what was settled is in no history', (h) => (h.workers!.settlements[0]!.attempt = 7)],
  [12, 'more attempts than the budget', (h) => (job(h, 'job_done').limits.maxAttempts = 1)],
  [
    12,
    'more attempts than the budget, before a replay',
    (h) => {
      const lives: Command[] = [claim, { type: 'lose' }, claim, malformed, { type: 'replay', ...by }];
      const replayed = lived('job_x', {}, ...lives.map((order, at): [number, Command] => [at, order]));
      h.jobs.push({ ...replayed, limits: { ...replayed.limits, maxAttempts: 1 } });
    },
  ],
  [12, 'a claim left no trace', (h) => (h.workers!.claims[2]!.attempt = 4)],
  [12, 'the attempt is not the number of claims', (h) => (job(h, 'job_done').attempt = 3)],
  [13, 'an attempt has no outcome', (h) => job(h, 'job_done').events.splice(2, 1)],
  [
    13,
    'an attempt has two outcomes',
    (h) => job(h, 'job_dead').events.push({ ...job(h, 'job_dead').events[2]! }),
  ],
  [14, 'a lease that expired was not swept', (h) => (job(h, 'job_lost').lease!.until = 499)],
  [14, 'a lease that had expired was seen', (h) => (h.overstays![0]!.lateMs = 501)],
  [15, 'an event carries a time of the future', (h) => (job(h, 'job_done').events[1]!.at += 3_600_000)],
  [15, 'an event is older than its job', (h) => (job(h, 'job_done').events[4]!.at = -1)],
  [
    16,
    'a completed job went on',
    (h) =>
      job(h, 'job_done').events.push({
        type: 'queued',
        from: 'completed',
        to: 'queued',
        at: 400,
        attempt: 2,
      }),
  ],
  [16, 'a dead letter was replayed by nobody', (h) => delete job(h, 'job_replayed').events[3]!.actor],
  [16, 'a replay has no reason', (h) => delete job(h, 'job_replayed').events[3]!.reason],
  [16, 'two replays took one decision', (h) => (h.clients.replays[1]!.told = 'accepted')],
  [
    16,
    'a replay that was accepted is not in the record',
    (h) => h.clients.replays.push({ jobId: 'job_dead', told: 'accepted' }),
  ],
  [16, 'a replay that nobody asked for', (h) => h.clients.replays.splice(0, 2)],
  [17, 'a dead letter asks nothing', (h) => (job(h, 'job_dead').decision = null)],
  [17, 'a dead letter’s decision was taken', (h) => (job(h, 'job_dead').decision!.open = false)],
  [17, 'a dead letter has no cause', (h) => (job(h, 'job_dead').errors = [])],
  [17, 'a completed job has an open decision', (h) => (job(h, 'job_replayed').decision!.open = true)],
  [
    18,
    'a cancelled job completed',
    (h) =>
      job(h, 'job_cancelled').events.push({
        type: 'completed',
        from: 'running',
        to: 'completed',
        at: 30,
        attempt: 1,
      }),
  ],
  [18, 'a cancel that was accepted left no trace', (h) => (h.clients.cancels[1]!.told = 'accepted')],
  [19, 'a completed job has no artifact', (h) => (job(h, 'job_done').artifact = null)],
  [19, 'an artifact is gone', (h) => (job(h, 'job_done').artifact!.uri = 'lost/1')],
  [19, 'a named artifact has other bytes', (h) => (job(h, 'job_done').artifacts[0]!.sha256 = 'f'.repeat(64))],
  [19, 'evidence has another size', (h) => (job(h, 'job_dead').errors[0]!.evidence![0]!.bytes += 1)],
  [
    20,
    'two attempts wrote different bytes to one key',
    (h) => {
      job(h, 'job_replayed').artifact = { ...ref('artifacts/1'), sha256: 'f'.repeat(64) };
    },
  ],
  [19, 'the response to a call is gone', (h) => (job(h, 'job_done').calls[0]!.response!.uri = 'lost/2')],
  [22, 'a call has no row', (h) => job(h, 'job_lost').calls.splice(1, 1)],
  [22, 'a call is of an attempt that never ran', (h) => (job(h, 'job_done').calls[0]!.attempt = 3)],
  [22, 'a call began before its attempt', (h) => (job(h, 'job_done').calls[0]!.startedAt = 199)],
  [22, 'a call ended before it began', (h) => (job(h, 'job_done').calls[0]!.end!.endedAt = 209)],
  [22, 'a call was begun twice', (h) => (job(h, 'job_lost').calls[2]!.place = 1)],
  [26, 'a cost is not in the account of its job', (h) => (job(h, 'job_done').spending.spent = 12)],
  [26, 'what is unknown is not held', (h) => (job(h, 'job_lost').spending.reserved = 10)],
  [26, 'a job was taken past its limit', (h) => (job(h, 'job_lost').spending.limit = 23)],
  [
    26,
    'a job was taken past its limit by more than a call cost more',
    (h) => (job(h, 'job_done').spending.limit = 9),
  ],
  [26, 'a cost is not in the account of the day', (h) => (h.accounts![0]!.spent = 20)],
  [26, 'what is held is not in the account of the workflow', (h) => (h.accounts![1]!.reserved = 0)],
  [26, 'the day was taken past its limit', (h) => (h.accounts![0]!.setBy!.at = 969)],
  [26, 'an account counts calls of another workflow', (h) => (h.accounts![2]!.spent = 4)],
  [
    27,
    'a job that was due has not moved',
    (h) => {
      h.quietMs = 50;
      job(h, 'job_waiting').events.at(-1)!.due = 900;
    },
  ],
  [27, 'a job lives past its deadline', (h) => (job(h, 'job_lost').limits.deadlineAt = 50)],
  [28, 'an attempt started before run_at', (h) => (job(h, 'job_lost').runAt = 11)],
  [28, 'an attempt started before its retry was due', (h) => (job(h, 'job_done').events[3]!.at = 100)],
  [28, 'an attempt started past the deadline', (h) => (job(h, 'job_done').limits.deadlineAt = 200)],
  [28, 'an attempt outlived its timeout', (h) => (job(h, 'job_lost').limits.timeoutMs = 389)],
];

describe('the checker', () => {
  test('finds nothing in a history that holds', async () => {
    expect(report(await check(valid()))).toBe('');
  });

  test.each(CORRUPTIONS)('finds, by invariant %i, that %s', async (invariant, _, corrupt) => {
    const history = valid();
    corrupt(history);
    expect((await check(history)).map((violation) => violation.invariant)).toContain(invariant);
  });

  test('has a corruption for each of its invariants', () => {
    const checked = [...new Set(CORRUPTIONS.map(([invariant]) => invariant))];
    expect(checked.toSorted((a, b) => a - b)).toEqual([
      ...Array.from({ length: 20 }, (_, index) => index + 1),
      22,
      26,
      27,
      28,
    ]);
  });

  test('allows what a broken connection leaves open: one job at most, and a cancel or replay that may have come', async () => {
    const history = valid();
    history.jobs.push({
      ...lived('job_unheard', {}, [5, claim], [6, complete('artifacts/7')]),
      inputSha256: 'input of one without a reply',
    });
    history.clients.replays[0]!.told = 'nothing';
    history.clients.cancels.push({ jobId: 'job_dead', told: 'nothing' });
    expect(report(await check(history))).toBe('');
  });

  test('lets a job that no worker knows wait until its deadline', async () => {
    const history = valid();
    history.jobs.push({ ...lived('job_unknown', {}), inputSha256: 'input of one without a reply' });
    expect(report(await check(history))).toContain('invariant 27: job_unknown has been due for 1000 ms');
    history.known = () => false;
    expect(report(await check(history))).toBe('');
  });

  test('lets a replayed job complete after its cancel', async () => {
    const history = valid();
    const events: [number, Command][] = [
      [10, { type: 'cancel', ...by }],
      [20, { type: 'replay', ...by }],
      [30, claim],
      [40, complete('artifacts/8')],
    ];
    history.jobs.push({ ...lived('job_back', {}, ...events), inputSha256: 'input of one without a reply' });
    history.clients.cancels.push({ jobId: 'job_back', told: 'accepted' });
    history.clients.replays.push({ jobId: 'job_back', told: 'accepted' });
    expect(report(await check(history))).toBe('');
  });
});
