/** Both desks on one real store: the one in this process, and the one behind a real server. */
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineWorkflow } from '../engine/define.ts';
import { createApp } from '../http/app.ts';
import { listen } from '../http/listen.ts';
import type { Listening } from '../http/listen.ts';
import { openParts } from '../main/open.ts';
import type { Parts } from '../main/open.ts';
import { createTelemetry } from '../main/telemetry.ts';
import { Refusal } from './desk.ts';
import type { Desk } from './desk.ts';
import { exportJob } from './exporting.ts';
import { createHttpDesk } from './http-desk.ts';
import { createLocalDesk } from './local-desk.ts';
import { EXIT, Problem } from './problem.ts';

const workflow = defineWorkflow({
  name: 'copy',
  version: '1',
  input: z.strictObject({ answer: z.unknown() }),
  output: z.strictObject({ answer: z.string() }),
  inputFile: 'optional',
  async run({ input, file, saveArtifact }) {
    if (file !== null) await saveArtifact('copy.txt', await file.read(), 'text/plain');
    return { answer: input.answer as string };
  },
});

let dir: string;
let parts: Parts;
let server: Listening;
let worker: ReturnType<Parts['createWorker']>;
const desks: Record<string, Desk> = {};

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'claimcheck-desk-'));
  const telemetry = createTelemetry({ level: 'silent', process: 'test' });
  parts = await openParts({ dataDir: dir, workflows: [workflow], model: null, telemetry });
  const app = createApp({ engine: parts.engine, log: telemetry.log });
  server = await listen({ app, host: '127.0.0.1', port: 0 });
  const caller = { tenant: 'default', actor: 'local:test' };
  const { key } = await parts.engine.createKey(caller, 'test');
  desks['local'] = createLocalDesk({ engine: parts.engine, caller, close: async () => {} });
  desks['http'] = createHttpDesk({ url: `${server.url}/`, apiKey: key });
  worker = parts.createWorker();
  worker.start();
});

afterAll(async () => {
  await worker.stop();
  await server.close();
  await parts.close();
  rmSync(dir, { recursive: true, force: true });
});

const QUIETLY = { signal: new AbortController().signal, onLost: () => {} };

async function typesOf(desk: Desk, jobId: string): Promise<string[]> {
  const types: string[] = [];
  for await (const event of desk.follow(jobId, QUIETLY)) types.push(event.type);
  return types;
}

async function refusalOf(asked: Promise<unknown>): Promise<Refusal> {
  const error: unknown = await asked.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof Refusal) return error;
  throw new Error(`not refused: ${String(error)}`);
}

describe.each(['local', 'http'])('the %s desk', (name) => {
  const desk = () => desks[name] as Desk;
  const accept = async (answer: unknown) =>
    (await desk().enqueue({ workflow: 'copy', input: { answer }, labels: { from: name } }, undefined)).job_id;

  test('hands in a job, follows it to its end and reads what came out', async () => {
    const ticket = await desk().enqueue(
      { workflow: 'copy', input: { answer: 'yes' }, priority: 3 },
      undefined,
    );
    expect(ticket).toEqual({
      job_id: ticket.job_id,
      status: 'queued',
      status_url: `/ai-jobs/${ticket.job_id}`,
    });
    expect(await typesOf(desk(), ticket.job_id)).toEqual(['queued', 'running', 'completed']);
    expect(await desk().status(ticket.job_id)).toMatchObject({ status: 'completed', attempt: 1 });
    expect(await desk().brief(ticket.job_id)).toMatchObject({ id: ticket.job_id, errors: [] });
    expect(await desk().record(ticket.job_id)).toMatchObject({ priority: 3, input: { answer: 'yes' } });
    expect(JSON.parse(await text(await desk().artifact(ticket.job_id, null)))).toEqual({ answer: 'yes' });
  });

  test('the same idempotency key gives the same job, and another request with it is refused', async () => {
    const key = `key-${name}`;
    const first = await desk().enqueue({ workflow: 'copy', input: { answer: 'a' } }, key);
    expect(await desk().enqueue({ workflow: 'copy', input: { answer: 'a' } }, key)).toMatchObject({
      job_id: first.job_id,
    });
    const other = desk().enqueue({ workflow: 'copy', input: { answer: 'b' } }, key);
    expect(await refusalOf(other)).toMatchObject({ code: 'idempotency_key_reused', exitCode: EXIT.failed });
  });

  test('a request that is wrong is refused with its path, as wrong usage', async () => {
    const wrong = await refusalOf(desk().enqueue({ workflow: 'copy', input: { nope: 1 } }, undefined));
    expect(wrong).toMatchObject({ code: 'invalid_request', exitCode: EXIT.usage });
    expect(wrong.errors.length).toBeGreaterThan(0);
    const unknown = await refusalOf(desk().enqueue({ workflow: 'nope', input: {} }, undefined));
    expect(unknown).toMatchObject({ code: 'unknown_workflow', exitCode: EXIT.usage });
    expect(await refusalOf(desk().record('job_nope'))).toMatchObject({
      code: 'not_found',
      exitCode: EXIT.failed,
    });
  });

  test('a dead letter is replayed, and followed through its whole history to its present end', async () => {
    const id = await accept(42);
    expect(await typesOf(desk(), id)).toEqual(['queued', 'running', 'dead_letter']);
    await desk().replay(id, { reason: 'again', limits: { maxAttempts: 1 } });
    const once = ['queued', 'running', 'dead_letter'];
    expect(await typesOf(desk(), id)).toEqual([...once, ...once]);
    expect(await refusalOf(desk().cancel(id, 'too late'))).toMatchObject({ code: 'already_ended' });
  });

  test('a job that waits is cancelled', async () => {
    const request = { workflow: 'copy', input: { answer: 'a' }, runAt: Date.now() + 3_600_000 };
    const { job_id: id } = await desk().enqueue(request, undefined);
    await desk().cancel(id, 'not needed');
    expect(await desk().status(id)).toMatchObject({ status: 'dead_letter', error: { code: 'cancelled' } });
  });

  test('lists by state and label, a page at a time', async () => {
    const id = await accept(42);
    await typesOf(desk(), id);
    const page = await desk().list({ status: 'dead_letter', labels: { from: name }, limit: 1 });
    expect(page.jobs).toMatchObject([{ job_id: id, workflow: 'copy', error: { code: 'malformed_output' } }]);
    const rest = await desk().list({ labels: { from: name }, after: page.next ?? '' });
    expect(rest.jobs.length).toBeGreaterThan(0);
    expect(rest.jobs.map((job) => job.job_id)).not.toContain(id);
  });

  test('writes everything of a job as plain files, and never over others', async () => {
    const body = Readable.from([Buffer.from('a file')]);
    const upload = await desk().upload({ body, mediaType: 'text/plain', fileName: '../ä "x".txt' });
    const request = { workflow: 'copy', input: { answer: 1 }, inputRef: upload.input_ref };
    const { job_id: id } = await desk().enqueue(request, undefined);
    await typesOf(desk(), id);
    const record = await desk().record(id);
    const out = join(dir, `out-${name}`);
    const { written, missing } = await exportJob(desk(), record, { dir: out, force: false });
    expect(missing).toEqual([]);
    expect(JSON.parse(readFileSync(join(out, 'record.json'), 'utf8'))).toEqual(record);
    expect(JSON.parse(readFileSync(join(out, 'input.json'), 'utf8'))).toEqual({ answer: 1 });
    const contents = written.map((file) => readFileSync(file, 'utf8'));
    expect(contents).toContain('a file');
    expect(contents.some((content) => content.includes('"answer": 1') && !content.includes('job_id'))).toBe(
      true,
    );
    await expect(exportJob(desk(), record, { dir: out, force: false })).rejects.toThrow('is not empty');
    await exportJob(desk(), record, { dir: out, force: true });
  });

  test('named artifacts are among the files', async () => {
    const body = Readable.from([Buffer.from('a file')]);
    const { input_ref: inputRef } = await desk().upload({ body, mediaType: 'text/plain', fileName: 'x.txt' });
    const { job_id: id } = await desk().enqueue(
      { workflow: 'copy', input: { answer: 'a' }, inputRef },
      undefined,
    );
    await typesOf(desk(), id);
    const out = join(dir, `named-${name}`);
    await exportJob(desk(), await desk().record(id), { dir: out, force: false });
    expect(readFileSync(join(out, 'artifacts', 'copy.txt'), 'utf8')).toBe('a file');
  });

  test('evidence is written under the attempt that it explains', async () => {
    const { job_id: id } = await desk().enqueue({ workflow: 'copy', input: { answer: 1 } }, undefined);
    await typesOf(desk(), id);
    const out = join(dir, `evidence-${name}`);
    await exportJob(desk(), await desk().record(id), { dir: out, force: false });
    expect(readdirSync(join(out, 'evidence'))).toEqual(['attempt-1-raw-output.json']);
  });

  test('makes, lists and revokes keys', async () => {
    const { key, ...made } = await desk().createKey(`for ${name}`);
    expect(key).toMatch(/^ck_/);
    expect(await desk().listKeys()).toContainEqual(made);
    expect(await desk().createKey('reader', ['jobs', 'evidence'])).toMatchObject({
      scopes: ['jobs', 'evidence'],
    });
    await desk().revokeKey(made.id);
    expect(await refusalOf(desk().revokeKey(made.id))).toMatchObject({ code: 'not_found' });
  });
});

describe('writing into a directory that holds something', () => {
  async function deadJob() {
    const desk = desks['local']!;
    const { job_id: id } = await desk.enqueue({ workflow: 'copy', input: { answer: 1 } }, undefined);
    await typesOf(desk, id);
    return { desk, record: await desk.record(id) };
  }

  test('replaces a link of a name of its own and leaves alone what it leads to', async () => {
    const { desk, record } = await deadJob();
    const victim = join(dir, 'victim.txt');
    writeFileSync(victim, 'mine');
    const out = join(dir, 'linked');
    mkdirSync(join(out, 'evidence'), { recursive: true });
    const links = ['record.json', 'input.json', join('evidence', 'attempt-1-raw-output.json')];
    for (const link of links) symlinkSync(victim, join(out, link));
    const { written } = await exportJob(desk, record, { dir: out, force: true });
    expect(written).toEqual(links.map((link) => join(out, link)));
    expect(readFileSync(victim, 'utf8')).toBe('mine');
    for (const file of written) {
      expect(lstatSync(file).isFile()).toBe(true);
      expect(lstatSync(file).mode & 0o077).toBe(0);
    }
  });

  test('writes through no link to another directory', async () => {
    const { desk, record } = await deadJob();
    const elsewhere = join(dir, 'elsewhere');
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, 'attempt-1-raw-output.json'), 'mine');
    const out = join(dir, 'linked-folder');
    mkdirSync(out);
    symlinkSync(elsewhere, join(out, 'evidence'));
    await expect(exportJob(desk, record, { dir: out, force: true })).rejects.toThrow(
      `${join(out, 'evidence')} is no directory of its own; give another one to --out.`,
    );
    expect(readFileSync(join(elsewhere, 'attempt-1-raw-output.json'), 'utf8')).toBe('mine');
  });
});

test('without a key, or with a wrong one, the sentence says so and the exit code is that of a setting', async () => {
  const without = await refusalOf(createHttpDesk({ url: server.url, apiKey: null }).status('job_1'));
  expect(without.message).toBe(`${server.url} wants an API key, and none was given: set CLAIMCHECK_API_KEY.`);
  const wrong = await refusalOf(createHttpDesk({ url: server.url, apiKey: 'wrong' }).status('job_1'));
  expect(wrong).toMatchObject({ code: 'unauthorized', exitCode: EXIT.usage });
});

test('a text that no header can carry is refused before anything is sent, and is not repeated', async () => {
  const broken = createHttpDesk({ url: server.url, apiKey: 'ck_sesame\nck_open' });
  const asked = [broken.status('job_1'), desks['http']!.enqueue({ workflow: 'copy' }, 'ses\name')];
  for (const [index, header] of ['authorization', 'idempotency-key'].entries()) {
    const error: unknown = await asked[index]!.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Problem);
    expect(error).toMatchObject({
      message: `The header ${header} cannot carry the text that it was given.`,
      exitCode: EXIT.usage,
    });
  }
});

test('where nobody answers, the sentence names the address', async () => {
  const free = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => free.once('listening', resolve));
  const { port } = free.address() as AddressInfo;
  await new Promise((resolve) => free.close(resolve));
  const desk = createHttpDesk({ url: `http://127.0.0.1:${port}`, apiKey: null });
  await expect(desk.status('job_1')).rejects.toThrow(
    `Nobody answers at http://127.0.0.1:${port}: the connection was refused.`,
  );
  await expect(desk.follow('job_1', QUIETLY)[Symbol.asyncIterator]().next()).rejects.toBeInstanceOf(Problem);
});

/** A server that sends what it is told and then breaks the connection, time after time. */
async function brokenServer(streams: string[], status: string) {
  const asked: (string | undefined)[] = [];
  const broken = createServer((request, response) => {
    if (!request.url?.endsWith('/events')) return void response.end(JSON.stringify({ status }));
    asked.push(request.headers['last-event-id'] as string | undefined);
    response.write(streams.shift() ?? '', () => response.destroy());
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => broken.once('listening', resolve));
  const { port } = broken.address() as AddressInfo;
  return { asked, url: `http://127.0.0.1:${port}`, close: () => broken.close() };
}

test('a stream that breaks is taken up after the last event, and none is seen twice', async () => {
  const event = (seq: number, to: string) => `id: ${seq}\ndata: ${JSON.stringify({ seq, type: to, to })}\n\n`;
  const streams = [
    `${event(1, 'queued')}${event(2, 'running')}data: {"cut`,
    event(2, 'running'),
    event(3, 'completed'),
  ];
  const { asked, url, close } = await brokenServer(streams, 'completed');
  const desk = createHttpDesk({ url, apiKey: null, patience: { reconnectMs: 1 } });
  expect(await typesOf(desk, 'job_1')).toEqual(['queued', 'running', 'completed']);
  expect(asked).toEqual([undefined, '2', '2']);
  close();
});

/** A server that answers with the events of one stream, and is gone in the middle of it. */
async function serverThatGoes() {
  const going = createServer((_, response) => {
    response.write('id: 1\ndata: {"seq":1,"type":"queued","to":"queued"}\n\n', () => {
      going.close();
      going.closeAllConnections();
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => going.once('listening', resolve));
  const { port } = going.address() as AddressInfo;
  const gone = new Promise<void>((resolve) => void going.once('close', resolve));
  return { port, gone, url: `http://127.0.0.1:${port}` };
}

test('a server that goes away is missed once, asked again for a bounded time, and then given up', async () => {
  const { url } = await serverThatGoes();
  const desk = createHttpDesk({ url, apiKey: null, patience: { reconnectMs: 1, giveUpMs: 50 } });
  let missed = 0;
  const seen: string[] = [];
  async function follow() {
    const watch = { signal: QUIETLY.signal, onLost: () => void (missed += 1) };
    for await (const event of desk.follow('job_1', watch)) seen.push(event.type);
  }
  const end: unknown = await follow().catch((error: unknown) => error);
  expect(end).toBeInstanceOf(Problem);
  expect(end).toMatchObject({ exitCode: EXIT.unavailable });
  expect((end as Problem).message).toMatch(
    /^Nobody answers at http:\S+: the connection was refused; that has lasted for 0 s\. How the job went on is not known here\.$/,
  );
  expect({ missed, seen }).toEqual({ missed: 1, seen: ['queued'] });
});

test('a server that comes back is followed on from where it was lost', async () => {
  const { url, port, gone } = await serverThatGoes();
  const desk = createHttpDesk({ url, apiKey: null, patience: { reconnectMs: 1 } });
  let isMissed = (): void => {};
  const missed = new Promise<void>((resolve) => void (isMissed = resolve));
  const types: string[] = [];
  async function follow() {
    const watch = { signal: QUIETLY.signal, onLost: () => isMissed() };
    for await (const event of desk.follow('job_1', watch)) types.push(event.type);
  }
  const following = follow();
  await Promise.all([missed, gone]);
  const asked: unknown[] = [];
  const back = createServer((request, response) => {
    if (!request.url?.endsWith('/events')) return void response.end('{"status":"completed"}');
    asked.push(request.headers['last-event-id']);
    response.end('id: 2\ndata: {"seq":2,"type":"completed","to":"completed"}\n\n');
  }).listen(port, '127.0.0.1');
  await following;
  back.close();
  expect({ types, asked }).toEqual({ types: ['queued', 'completed'], asked: ['1'] });
});
