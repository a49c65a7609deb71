/** The shapes that readers of a job get, key by key. */
import { describe, expect, test } from 'vitest';
import { accepted, command } from '../testkit/machine.ts';
import type { Asked, Machine } from '../testkit/machine.ts';
import { answersOf } from './answers.ts';
import type { Command } from './decide.ts';
import { briefJson, recordJson, statusJson, statusOf } from './view.ts';

const artifact = {
  uri: 'artifacts/1/a.json',
  sha256: 'a'.repeat(64),
  bytes: 1,
  mediaType: 'application/json',
};
const raw = { kind: 'raw_output' as const, uri: 'evidence/1', sha256: 'b'.repeat(64), bytes: 10 };
const malformed: Command = {
  type: 'fail',
  jitter: 0,
  failure: {
    code: 'malformed_output',
    elapsedMs: 3,
    issues: [{ path: '/summary', message: 'expected string' }],
    evidence: [raw],
  },
};
const retryable: Command = {
  type: 'fail',
  jitter: 0.5,
  failure: { code: 'timeout', elapsedMs: 1500, limitMs: 1000 },
};

function played(asked: Asked, ...orders: [at: number, order: Command][]): Machine {
  const machine = accepted(asked, 0);
  if (Array.isArray(machine)) throw new Error('not accepted');
  for (const [at, order] of orders) {
    const said = command(machine, order, at);
    if ('refused' in said) throw new Error(`${order.type}: ${said.refused}`);
  }
  return machine;
}

const claim: Command = { type: 'claim', worker: 'w1' };
const dead = () => played({}, [10, claim], [13, malformed]).job;
const done = () =>
  played(
    {},
    [10, claim],
    [
      13,
      { type: 'complete', artifact, artifacts: [{ ...artifact, uri: 'artifacts/1/p', name: 'page.png' }] },
    ],
  ).job;

describe('the status', () => {
  test('has always the same six keys', () => {
    for (const job of [played({}).job, played({}, [1, claim]).job, dead(), done()]) {
      expect(Object.keys(statusJson(statusOf(job)))).toEqual([
        'job_id',
        'status',
        'attempt',
        'artifact',
        'error',
        'updated_at',
      ]);
    }
  });

  test('names the last error of a dead letter with a fixed sentence, and the artifact of a completed job', () => {
    expect(statusJson(statusOf(dead()))).toEqual({
      job_id: 'job_1',
      status: 'dead_letter',
      attempt: 1,
      artifact: null,
      error: {
        code: 'malformed_output',
        message: "The output does not match the workflow's schema.",
        attempt: 1,
      },
      updated_at: '1970-01-01T00:00:00.013Z',
    });
    expect(statusJson(statusOf(done()))).toMatchObject({
      artifact: {
        uri: 'artifacts/1/a.json',
        sha256: 'a'.repeat(64),
        bytes: 1,
        media_type: 'application/json',
      },
      error: null,
    });
  });

  test('shows no error while a retry is still to come', () => {
    const waiting = played({}, [10, claim], [20, retryable]).job;
    expect(waiting.errors).toHaveLength(1);
    expect(statusOf(waiting).error).toBeNull();
  });

  test('has a sequence number that every change moves', () => {
    expect([played({}).job, played({}, [1, claim]).job, dead()].map((job) => statusOf(job).seq)).toEqual([
      1, 2, 3,
    ]);
  });
});

describe('the record', () => {
  test('of a dead letter has these keys and values', () => {
    const { answers, ...record } = recordJson(dead());
    expect(Object.keys(answers)).toEqual(['requested', 'now', 'tried', 'artifact', 'decision']);
    expect(record).toEqual({
      job_id: 'job_1',
      tenant: 'default',
      workflow: 'demo',
      workflow_version: '1',
      output_schema_sha256: '0'.repeat(64),
      status: 'dead_letter',
      attempt: 1,
      priority: 0,
      labels: {},
      input: { mode: 'success' },
      input_ref: null,
      input_sha256: '0'.repeat(64),
      limits: { timeout_ms: 60_000, max_attempts: 3, deadline_at: '1970-01-02T00:00:00.000Z' },
      run_at: '1970-01-01T00:00:00.000Z',
      lease: null,
      errors: [
        {
          attempt: 1,
          code: 'malformed_output',
          message: "The output does not match the workflow's schema.",
          at: '1970-01-01T00:00:00.013Z',
          elapsed_ms: 3,
          issues: [{ path: '/summary', message: 'expected string' }],
          evidence: [raw],
        },
      ],
      events: [
        { seq: 1, type: 'queued', from: null, to: 'queued', at: '1970-01-01T00:00:00.000Z', attempt: 0 },
        {
          seq: 2,
          type: 'running',
          from: 'queued',
          to: 'running',
          at: '1970-01-01T00:00:00.010Z',
          attempt: 1,
          worker: 'w1',
        },
        {
          seq: 3,
          type: 'dead_letter',
          from: 'running',
          to: 'dead_letter',
          at: '1970-01-01T00:00:00.013Z',
          attempt: 1,
          worker: 'w1',
          code: 'malformed_output',
        },
      ],
      artifact: null,
      artifacts: [],
      decision: {
        decision_id: 'dec_1_1',
        open: true,
        code: 'malformed_output',
        question: 'Read the raw output in the evidence: replay it, or give it up?',
        choices: ['replay', 'give_up'],
      },
      created_at: '1970-01-01T00:00:00.000Z',
      updated_at: '1970-01-01T00:00:00.013Z',
      started_at: '1970-01-01T00:00:00.010Z',
      finished_at: '1970-01-01T00:00:00.013Z',
    });
  });

  test('shows the lease while it runs, and how far it is where the attempt said so', () => {
    const { job } = played({}, [10, claim]);
    expect(recordJson(job).lease).toEqual({ worker: 'w1', token: 1, until: '1970-01-01T00:01:00.010Z' });
    expect(recordJson(job)).not.toHaveProperty('progress');
    const going = { ...job, progress: { fraction: 0.5, note: 'page 2', at: 20 } };
    expect(recordJson(going).progress).toEqual({
      fraction: 0.5,
      note: 'page 2',
      at: '1970-01-01T00:00:00.020Z',
    });
  });

  test('shows a timeout with its limit, and when its retry is due', () => {
    const { errors, events } = recordJson(played({}, [10, claim], [20, retryable]).job);
    expect(errors[0]).toMatchObject({ code: 'timeout', elapsed_ms: 1500, limit_ms: 1000 });
    expect(events[2]).toMatchObject({ type: 'queued', code: 'timeout', due: '1970-01-01T00:00:00.145Z' });
  });

  test('shows who took a decision, why and when', () => {
    const { job } = played(
      {},
      [10, claim],
      [13, malformed],
      [20, { type: 'replay', actor: 'key:a', reason: 'mended' }],
    );
    expect(recordJson(job).decision).toMatchObject({
      open: false,
      choice: 'replay',
      actor: 'key:a',
      reason: 'mended',
      taken_at: '1970-01-01T00:00:00.020Z',
    });
  });

  test('lists named artifacts by name', () => {
    expect(recordJson(done()).artifacts).toEqual([
      {
        name: 'page.png',
        uri: 'artifacts/1/p',
        sha256: 'a'.repeat(64),
        bytes: 1,
        media_type: 'application/json',
      },
    ]);
  });

  test('is brief where that is asked for', () => {
    expect(briefJson(dead())).toEqual({
      id: 'job_1',
      status: 'dead_letter',
      attempt: 1,
      errors: ['malformed_output'],
      events: ['queued', 'running', 'dead_letter'],
    });
  });
});

describe('the five answers', () => {
  test('of a dead letter', () => {
    expect(answersOf(dead())).toEqual({
      requested:
        'Run demo (version 1) on the input it was given: at most 3 attempts of 60 s each, until 1970-01-02T00:00:00.000Z.',
      now: 'Nothing: it stopped at 1970-01-01T00:00:00.013Z and will not run again by itself.',
      tried: '1 attempt: attempt 1 ended with malformed_output after 3 ms.',
      artifact: 'None yet.',
      decision: 'Read the raw output in the evidence: replay it, or give it up? (decision dec_1_1)',
    });
  });

  test('of a job that waits for its retry', () => {
    expect(answersOf(played({}, [10, claim], [20, retryable]).job)).toMatchObject({
      now: expect.stringMatching(
        /^It waits for a worker that knows .* version .*, from 1970-01-01T00:00:00\.145Z on\.$/,
      ),
      tried: '1 attempt: attempt 1 ended with timeout after 1.5 s, limit 1 s.',
      decision: 'None: the queue goes on by itself.',
    });
  });

  test('of an attempt that went on after its signal, until its grace had passed', () => {
    const stubborn: Command = {
      type: 'fail',
      jitter: 0.5,
      failure: { code: 'timeout', elapsedMs: 6500, limitMs: 1500 },
    };
    expect(answersOf(played({}, [10, claim], [6510, stubborn]).job).tried).toBe(
      '1 attempt: attempt 1 ended with timeout after 6.5 s, limit 1.5 s, then a grace.',
    );
  });

  test('of a job whose worker shut down, alone and between attempts that ended otherwise', () => {
    const release: Command = { type: 'release' };
    expect(answersOf(played({}, [10, claim], [20, release]).job).tried).toBe(
      '1 attempt: attempt 1 was released when its worker shut down.',
    );
    expect(answersOf(played({}, [10, claim], [20, { type: 'disown' }]).job).tried).toBe(
      '1 attempt: attempt 1 was given back by a worker that did not run it.',
    );
    const hold: Command = { type: 'hold', delayMs: 5000, reason: 'openai/gpt-5 asked for a pause' };
    expect(answersOf(played({}, [10, claim], [20, hold]).job)).toMatchObject({
      now: expect.stringContaining('from 1970-01-01T00:00:05.020Z on, since openai/gpt-5 asked for a pause.'),
      tried: '1 attempt: attempt 1 was held: openai/gpt-5 asked for a pause.',
    });
    const later = played({}, [10, claim], [20, release], [30, claim], [40, retryable], [9000, claim]);
    expect(answersOf(later.job).tried).toBe(
      '3 attempts: attempt 1 was released when its worker shut down; ' +
        'attempt 2 ended with timeout after 1.5 s, limit 1 s; attempt 3 is under way.',
    );
    const replayed = played(
      {},
      [10, claim],
      [13, malformed],
      [20, { type: 'replay', actor: 'a', reason: 'b' }],
    );
    expect(answersOf(replayed.job).tried).toBe(
      '1 attempt: attempt 1 ended with malformed_output after 3 ms.',
    );
  });

  test('of a running job that said how far it is', () => {
    const job = { ...played({}, [10, claim]).job, progress: { fraction: 0.5, note: 'page 2', at: 20 } };
    expect(answersOf(job)).toMatchObject({
      now: 'Attempt 1 has been running on w1 since 1970-01-01T00:00:00.010Z, 50 % done (page 2).',
      tried: '1 attempt: attempt 1 is under way.',
    });
  });

  test('of a completed job', () => {
    expect(answersOf(done())).toMatchObject({
      now: 'Nothing: it was completed at 1970-01-01T00:00:00.013Z.',
      tried: '1 attempt: attempt 1 succeeded.',
      artifact: `artifacts/1/a.json (application/json, 1 byte, SHA-256 ${'a'.repeat(64)}), and page.png.`,
      decision: 'None: the job is done.',
    });
  });

  test('of a job that nobody has claimed', () => {
    expect(answersOf(played({}).job)).toMatchObject({
      now: 'It waits for a worker that knows demo version 1.',
      tried: 'Nothing yet.',
    });
  });
});
