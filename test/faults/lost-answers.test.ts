/**
 * The database does what it is asked, commits it, and its answer never arrives: the connection breaks in between. Whoever
 * asked cannot know. So clients are told that nobody knows (503), and workers find out by themselves.
 */
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { demoWorkflow } from '../../src/examples/index.ts';
import { defineWorkflow, MalformedOutputError, RetryableError } from '../../src/index.ts';
import type { RunContext } from '../../src/index.ts';
import { Clients } from '../../src/testkit/crash/clients.ts';
import { databaseUrl, dropSchema, newSchema } from '../postgres/database.ts';
import { startProxy } from '../postgres/proxy.ts';
import type { Proxy } from '../postgres/proxy.ts';
import { gate, tempDir } from '../support/claimcheck.ts';
import { judged, judgedBy, Party } from './party.ts';

let proxy: Proxy;
/** Its connections may be cut. */
let party: Party;
/** Another process, whose connections hold. */
let other: Party;
/** What an attempt does. */
let run: (context: RunContext<unknown>) => unknown;

const workflow = defineWorkflow({
  name: 'test',
  version: '1',
  input: z.any(),
  output: z.any(),
  run: (context) => run(context),
});

beforeEach(async () => {
  const url = await databaseUrl();
  const schema = newSchema();
  proxy = await startProxy(url);
  onTestFinished(async () => {
    proxy.close();
    await dropSchema(schema);
  });
  run = () => 'done';
  const shared = { schema, workflows: [workflow, demoWorkflow], dataDir: await tempDir() };
  other = await Party.open({ ...shared, url });
  party = await Party.open({ ...shared, url: proxy.url });
});

/** Runs until its signal fires, and says why it did. */
function untilAborted() {
  const [running, ended] = [gate(), gate<string>()];
  run = ({ signal }) => {
    running.open();
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        ended.open((signal.reason as { ending: string }).ending);
        reject(signal.reason as Error);
      });
    });
  };
  return { running, ended };
}

async function deadJob(): Promise<{ jobId: string; decisionId: string }> {
  run = () => {
    throw new MalformedOutputError('no', { raw: 'x' });
  };
  const worker = other.startWorker();
  const jobId = await other.accepted('dies first');
  await other.ended(jobId);
  worker.kill();
  run = () => 'done';
  const { decision } = await other.record(jobId);
  return { jobId, decisionId: (decision as { decision_id: string }).decision_id };
}

const UNKNOWN = { status: 503, json: { code: 'unavailable' } };
const ONCE = { attempt: 1, events: ['queued', 'running', 'completed'] };
const TWICE = { attempt: 2, errors: [], events: ['queued', 'running', 'queued', 'running', 'completed'] };

describe('the answer of an acceptance that is lost', () => {
  it('with an Idempotency-Key: the same request again gives the job that was written, and there is one', async () => {
    const cut = proxy.cutAfter('enqueue.add');
    const first = await party.create('a', { idempotencyKey: 'key-1' });
    await cut;
    expect(first).toMatchObject(UNKNOWN);
    expect(first.headers.get('retry-after')).toBe('2');
    const second = await party.create('a', { idempotencyKey: 'key-1' });
    const third = await party.create('a', { idempotencyKey: 'key-1' });
    expect([second.status, third.json['job_id']]).toEqual([202, second.json['job_id']]);
    other.startWorker();
    expect((await judged(other, party)).jobs).toBe(1);
  });

  it('without one: the client does not know, and the job runs once', async () => {
    const cut = proxy.cutAfter('enqueue.addAlike');
    expect(await party.create('a')).toMatchObject(UNKNOWN);
    await cut;
    other.startWorker();
    expect(await judged(other, party)).toMatchObject({ jobs: 1, unanswered: 1, completed: 1 });
  });
});

describe('the answer of a person’s command that is lost', () => {
  it('of a replay: the same again is refused as taken, and the job was replayed once', async () => {
    const { jobId, decisionId } = await deadJob();
    const cut = proxy.cutAfter('moves.revive');
    expect(await party.replay(jobId, decisionId)).toMatchObject(UNKNOWN);
    await cut;
    expect(await party.replay(jobId, decisionId)).toMatchObject({
      status: 409,
      json: { code: 'decision_taken' },
    });
    other.startWorker();
    expect(await other.ended(jobId)).toMatchObject({ status: 'completed', attempt: 2 });
    await judged(other, party);
  });

  it('of a cancel: the same again is refused as ended, and the attempt is told by the next renewal', async () => {
    const { running, ended } = untilAborted();
    other.startWorker();
    const jobId = await other.accepted('cancelled');
    await running.opened;
    const cut = proxy.cutAfter('moves.end');
    expect(await party.cancel(jobId)).toMatchObject(UNKNOWN);
    await cut;
    expect(await party.cancel(jobId)).toMatchObject({ status: 409, json: { code: 'already_ended' } });
    expect(await ended.opened).toBe('revoked');
    expect(await other.ended(jobId)).toMatchObject({ status: 'dead_letter', errors: ['cancelled'] });
    await judged(other, party);
  });
});

describe('the answer of a claim that is lost', () => {
  it('leaves no job behind: the worker gives back what it never heard of, and no attempt is spent', async () => {
    const jobId = await other.accepted('claimed in vain', { max_attempts: 1 });
    const cut = proxy.cutAfter('claim.take');
    party.startWorker();
    await cut;
    expect(await other.ended(jobId)).toMatchObject({ status: 'completed', ...TWICE });
    await judged(other);
  });

  it('costs the attempts nothing that the worker runs at the same time', async () => {
    const [running, go] = [gate(), gate()];
    run = async ({ input }) => {
      if (input !== 'first') return 'done';
      running.open();
      await go.opened;
      return 'done';
    };
    party.startWorker();
    const first = await other.accepted('first');
    await running.opened;
    const cut = proxy.cutAfter('claim.take');
    const second = await other.accepted('second');
    await cut;
    expect(await other.ended(second)).toMatchObject({ status: 'completed', errors: [] });
    go.open();
    expect(await other.ended(first)).toMatchObject({ status: 'completed', ...ONCE });
    await judged(other);
  });

  it('is cleared up by a worker that stops at this very moment', async () => {
    const jobId = await other.accepted('claimed in vain', { max_attempts: 1 });
    const cut = proxy.cutAfter('claim.take');
    const worker = party.startWorker();
    await cut;
    await worker.stop();
    expect(await other.brief(jobId)).toMatchObject({
      status: 'queued',
      errors: [],
      events: ['queued', 'running', 'queued'],
    });
    other.startWorker();
    expect(await other.ended(jobId)).toMatchObject({ status: 'completed', ...TWICE });
    await judged(other);
  });
});

describe('the answer of a settlement that is lost', () => {
  it('of a success: the job is completed once, and the worker knows that it was its own doing', async () => {
    const cut = proxy.cutAfter('moves.end');
    party.startWorker();
    const jobId = await other.accepted('completed');
    await cut;
    expect(await other.ended(jobId)).toMatchObject({ status: 'completed', ...ONCE });
    await expect.poll(() => party.notes.moved.map(({ event }) => event)).toEqual(['running', 'completed']);
    expect(party.notes.lines.filter((line) => line.includes('refused'))).toEqual([]);
    await judged(other);
  });

  it('of a failure: it is counted once, and tried again', async () => {
    run = ({ attempt }) => {
      if (attempt === 1) throw new RetryableError('busy');
      return 'done';
    };
    const cut = proxy.cutAfter('moves.end');
    party.startWorker();
    const jobId = await other.accepted('fails first');
    await cut;
    expect(await other.ended(jobId)).toMatchObject({
      ...TWICE,
      errors: ['upstream_unavailable'],
      status: 'completed',
    });
    await judged(other);
  });

  it('of a release at shutdown: the job waits again, and its attempt is not spent', async () => {
    const { running } = untilAborted();
    const worker = party.startWorker();
    const jobId = await other.accepted('released', { max_attempts: 1 });
    await running.opened;
    const cut = proxy.cutAfter('moves.end');
    await Promise.all([worker.stop(), cut]);
    expect(await other.brief(jobId)).toMatchObject({ status: 'queued', errors: [] });
    expect(party.notes.moved.at(-1)).toMatchObject({ event: 'queued', status: 'queued' });
    run = () => 'done';
    other.startWorker();
    expect(await other.ended(jobId)).toMatchObject({ status: 'completed', ...TWICE });
    await judged(other);
  });
});

it('the answer of a renewal that is lost: the cancel that it brought is told again', async () => {
  const { running, ended } = untilAborted();
  party.startWorker();
  const jobId = await other.accepted('cancelled');
  await running.opened;
  await other.cancel(jobId);
  await proxy.cutAfter('sessions.renew'); // that one knew of the cancel
  expect(await ended.opened).toBe('revoked');
  expect(await other.ended(jobId)).toMatchObject({ status: 'dead_letter', errors: ['cancelled'] });
  await judged(other);
});

it('the opening of a session that nobody heard of: another is opened, and jobs run', async () => {
  const cut = proxy.cutAfter('sessions.open');
  party.startWorker();
  await cut;
  expect(await other.ended(await other.accepted('a'))).toMatchObject({ status: 'completed', ...ONCE });
  await judged(other);
});

const LOAD_MS = 4000;

it('any answer, now and then, under load: nothing is lost, and nothing happens twice', async () => {
  const clients = new Clients(await party.listen(), seeded(7));
  for (let count = 0; count < 3; count += 1) party.startWorker();
  party.parts.sweeper.start();
  proxy.cutSome(0.08, seeded(8));
  const over = AbortSignal.timeout(LOAD_MS);
  await Promise.all([1, 2, 3, 4].map(() => clients.run(over)));
  proxy.cutSome(0, () => 1);
  const { log } = clients;
  const judgement = await judgedBy(other, { ...log, streams: [] });
  expect(judgement.acknowledged).toBeGreaterThan(20);
  expect(judgement.unanswered).toBeGreaterThan(0);
  // every worker lived on, so none was lost
  expect(judgement.recovered).toBe(0);
});

/** The same numbers each time, uniform in [0, 1). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
