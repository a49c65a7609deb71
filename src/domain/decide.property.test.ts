/** Whatever commands come, in whatever order and at whatever time: what must hold of every history. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { accepted, command, RULES } from '../testkit/machine.ts';
import type { Machine } from '../testkit/machine.ts';
import { answersOf } from './answers.ts';
import type { Command, Move } from './decide.ts';
import { ERROR_CODES, FAILURES } from './failures.ts';
import { fold } from './fold.ts';
import { isLegalEvent } from './transitions.ts';

const jitter = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const by = {
  actor: fc.constantFrom('key:a', 'local:ann'),
  reason: fc.string({ minLength: 1, maxLength: 5 }),
};
const limits = fc.record(
  {
    timeoutMs: fc.integer({ min: 1, max: 5000 }),
    maxAttempts: fc.integer({ min: 1, max: 4 }),
    deadlineMs: fc.integer({ min: 1, max: 20_000 }),
  },
  { requiredKeys: [] },
);
const failure = fc.record(
  {
    code: fc.constantFrom(...ERROR_CODES),
    elapsedMs: fc.nat(5000),
    retryAfterMs: fc.oneof(fc.nat(30_000), fc.constant(Number.POSITIVE_INFINITY)),
    limitMs: fc.nat(5000),
  },
  { requiredKeys: ['code', 'elapsedMs'] },
);
const artifact = { uri: 'artifacts/a', sha256: 'a'.repeat(64), bytes: 2, mediaType: 'application/json' };

const claim: fc.Arbitrary<Command> = fc.record({
  type: fc.constant('claim' as const),
  worker: fc.constantFrom('w1', 'w2'),
});
const orders: fc.Arbitrary<Command> = fc.oneof(
  { arbitrary: claim, weight: 5 },
  fc.constant<Command>({ type: 'complete', artifact, artifacts: [] }),
  {
    arbitrary: fc.record({ type: fc.constant('fail' as const), failure, jitter }) as fc.Arbitrary<Command>,
    weight: 4,
  },
  fc.constantFrom<Command>({ type: 'release' }, { type: 'disown' }, { type: 'lose' }, { type: 'expire' }),
  fc.record({ type: fc.constant('hold' as const), delayMs: fc.nat(20_000), reason: by.reason }),
  fc.record({ type: fc.constant('overdue' as const), jitter }),
  fc.record({ type: fc.constant('cancel' as const), ...by }),
  {
    arbitrary: fc.record({
      type: fc.constant('replay' as const),
      ...by,
      limits,
      decisionId: fc.constantFrom(undefined, 'dec_1_1', 'dec_1_2'),
    }),
    weight: 3,
  },
);

interface Step {
  waitMs: number;
  order: Command;
}

const steps = fc.array(
  fc.record({ waitMs: fc.oneof(fc.nat(50), fc.nat(8000)), order: orders }) as fc.Arbitrary<Step>,
  { maxLength: 25 },
);

interface Taken {
  order: Command;
  at: number;
  before: Machine;
  after: Machine;
  move: Move | null;
}

/** Plays the steps; `check` sees each with the job as it was and as it is. */
function everyStep(check: (taken: Taken) => void, runs = 400): void {
  fc.assert(
    fc.property(limits, steps, (asked, list) => {
      const machine = accepted({ limits: asked }, 0);
      if (Array.isArray(machine)) throw new Error('these limits are all within the caps');
      let at = 0;
      for (const { waitMs, order } of list) {
        at += waitMs;
        const before = { ...machine };
        const said = command(machine, order, at);
        check({ order, at, before, after: machine, move: 'refused' in said ? null : said });
      }
    }),
    { numRuns: runs },
  );
}

/** Whether the attempt was put back unspent. */
function isUnspent({ type }: Command, { to }: Move): boolean {
  return type === 'release' || type === 'disown' || (type === 'hold' && to === 'queued');
}

describe('every sequence of commands', () => {
  test('reaches only states and events of the transition table', () => {
    everyStep(({ after }) => expect(after.job.events.every(isLegalEvent)).toBe(true));
  });

  test('keeps the attempts within the budget, and spends one for each claim', () => {
    everyStep(({ before, after, move, order }) => {
      expect(after.job.used).toBeLessThanOrEqual(after.job.limits.maxAttempts);
      expect(after.job.used).toBeGreaterThanOrEqual(0);
      if (move?.to === 'running') expect(after.job.used).toBe(before.job.used + 1);
      if (move !== null && isUnspent(order, move)) expect(after.job.used).toBe(before.job.used - 1);
      if (after.job.status === 'queued') expect(after.job.used).toBeLessThan(after.job.limits.maxAttempts);
    });
  });

  test('lets the attempt only grow, by one with each claim', () => {
    everyStep(({ before, after, move }) => {
      expect(after.job.attempt).toBe(before.job.attempt + (move?.to === 'running' ? 1 : 0));
    });
  });

  test('gives a history that folds to the state', () => {
    everyStep(({ after: { job } }) => {
      expect(fold(job.events)).toEqual({
        status: job.status,
        attempt: job.attempt,
        used: job.used,
        replays: job.replays,
        errorCodes: job.errors.map((error) => error.code),
      });
    });
  });

  test('leaves every dead letter with its cause and one open decision', () => {
    everyStep(({ after: { job } }) => {
      const dead = job.status === 'dead_letter';
      expect(job.decision?.open ?? false).toBe(dead);
      if (!dead) return;
      const last = job.errors.at(-1);
      expect(last?.code).toBe(job.decision?.code);
      expect(job.events.at(-1)).toMatchObject({ type: 'dead_letter', code: last?.code });
    });
  });

  test('gives each death of a job a decision of its own', () => {
    everyStep(({ before, after, move }) => {
      if (move?.to !== 'dead_letter') return;
      expect(after.job.decision?.decisionId).not.toBe(before.job.decision?.decisionId);
    });
  });

  test('moves an ended job only by a replay, which names a person and a reason', () => {
    everyStep(({ before, order, move }) => {
      if (move === null || !['completed', 'dead_letter'].includes(before.job.status)) return;
      expect(order.type).toBe('replay');
      expect(before.job.status).toBe('dead_letter');
      expect(move.events[0]).toMatchObject({
        type: 'queued',
        actor: expect.any(String),
        reason: expect.any(String),
      });
    });
  });

  test('never runs a cancelled job again without a replay', () => {
    everyStep(({ after: { job } }) => {
      const types = job.events.map((event) => event.type);
      const cancelled = types.lastIndexOf('cancel_requested');
      if (cancelled === -1) return;
      const replayed = job.events.findLastIndex((event) => event.from === 'dead_letter');
      const ran = Math.max(types.lastIndexOf('running'), types.lastIndexOf('completed'));
      expect(ran < cancelled || replayed > cancelled).toBe(true);
    });
  });

  test('starts nothing at or past the deadline, and nothing before it is due', () => {
    everyStep(({ before, at, move }) => {
      if (move?.to !== 'running') return;
      expect(at).toBeLessThan(before.job.limits.deadlineAt);
      expect(at).toBeGreaterThanOrEqual(before.due!);
    });
  });

  test('lets nothing but a recorded extension move the deadline', () => {
    everyStep(({ before, after, move }) => {
      const extended = move?.events.find((event) => event.type === 'deadline_extended');
      if (extended === undefined) expect(after.job.limits.deadlineAt).toBe(before.job.limits.deadlineAt);
      else
        expect(extended.detail).toEqual({ deadline_at: new Date(after.job.limits.deadlineAt).toISOString() });
    });
  });

  test('requeues only before the deadline and not earlier than Retry-After', () => {
    everyStep(({ order, at, move }) => {
      if (move?.to !== 'queued' || move.from !== 'running') return;
      if (order.type === 'release' || order.type === 'disown') return;
      expect(move.due).toBeLessThan(move.limits.deadlineAt);
      expect(move.due).toBeGreaterThanOrEqual(at);
      if (order.type === 'hold') expect(move.due).toBe(at + Math.max(1, order.delayMs));
      if (order.type !== 'fail' || FAILURES[order.failure.code].retry !== 'backoff') return;
      const retryAfterMs = order.failure.retryAfterMs ?? 0;
      expect(move.due).toBeGreaterThanOrEqual(at + retryAfterMs);
      expect(move.due).toBeLessThanOrEqual(at + Math.max(retryAfterMs, RULES.backoff.capMs));
    });
  });

  test('retries nothing that no retry can mend', () => {
    everyStep(({ order, move }) => {
      if (move === null || order.type !== 'fail' || FAILURES[order.failure.code].retry !== 'never') return;
      expect(move.to).toBe('dead_letter');
    });
  });

  test('says when a job is due exactly while it is queued, and who runs it exactly while it runs', () => {
    everyStep(({ after }) => {
      expect(after.due !== null).toBe(after.job.status === 'queued');
      expect(after.job.lease !== null).toBe(after.job.status === 'running');
    });
  });

  test('leaves a job whose five answers are sentences', () => {
    everyStep(({ after: { job } }) => {
      const answers = Object.values(answersOf(job));
      expect(answers).toHaveLength(5);
      for (const answer of answers) expect(answer).toMatch(/^\S.*\S.*[.?)]$/s);
    }, 100);
  });

  test('changes nothing where it is refused', () => {
    everyStep(({ before, after, move }) => {
      if (move === null) expect(after).toEqual(before);
    });
  });
});
