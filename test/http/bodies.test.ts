import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openApi, problemOf } from './harness.ts';
import type { Api } from './harness.ts';

const LIMIT = 1024 * 1024;

let api: Api;
beforeAll(async () => {
  api = await openApi({ limits: { bodyMs: 300, uploadIdleMs: 200 } });
});
afterAll(async () => {
  const page = (await (await api.ask('/ai-jobs?workflow=picky')).json()) as { jobs: unknown[] };
  expect(page.jobs, 'a refused request leaves no job').toEqual([]);
  await api.close();
});

type Body = NonNullable<RequestInit['body']>;

function send(body: Body, headers: Record<string, string> = {}): Promise<Response> {
  const init = {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...headers },
    duplex: 'half' as const,
  };
  return api.ask('/ai-jobs', init);
}

const job = (input: string) => `{"workflow":"picky","input":${input}}`;

describe('a JSON body', () => {
  it.each([
    ['{"workflow":"picky"', '', /too early/],
    ['{workflow:"picky"}', '', /line 1, column 2/],
    ['', '', /too early/],
    [job('1,"workflow":"picky"'), '/workflow', /twice/],
    [job('{"mode":"a","mode":"b"}'), '/input/mode', /twice/],
    [job('{"__proto__":{"x":1}}'), '/input/__proto__', /not allowed/],
    [job('{"constructor":{"prototype":{"x":1}}}'), '/input/constructor/prototype', /not allowed/],
    [job('{"n":9007199254740993}'), '/input/n', /2\^53/],
    [job('[1e999]'), '/input/0', /too large/],
    [job(`${'['.repeat(64)}${']'.repeat(64)}`), `/input${'/0'.repeat(63)}`, /deeper than 64/],
    [job('['.repeat(200_000)), `/input${'/0'.repeat(63)}`, /deeper than 64/],
  ])('such as %.60s is refused with its path', async (text, path, message) => {
    const problem = await problemOf(await send(text));
    expect(problem).toMatchObject({ status: 400, code: 'invalid_request', errors: [{ path }] });
    expect(problem.errors[0]?.message).toMatch(message);
  });

  it.each([
    ['an unknown field', (name: string) => `{"workflow":"picky","${name}":1}`],
    ['a field given twice', (name: string) => `{"${name}":1,"${name}":2}`],
    ['an unknown field of the input', (name: string) => job(`{"mode":"a","${name}":1}`)],
    ['a label', (name: string) => `{"workflow":"picky","input":{"mode":"a"},"labels":{"${name}":"x"}}`],
    ['a workflow', (name: string) => `{"workflow":"${name}"}`],
  ])('with a huge name as %s is refused without giving it back', async (_, body) => {
    const answer = await send(body('x'.repeat(200_000)));
    const text = await answer.clone().text();
    expect(answer.status).toBe(400);
    expect(text.length).toBeLessThan(2000);
    const { errors, detail } = await problemOf(answer);
    expect(errors[0]?.path.length).toBeLessThanOrEqual(200);
    expect(errors[0]?.message).not.toBe('');
    expect(detail).toContain(errors[0]?.message.slice(-20));
  });

  it('must be UTF-8', async () => {
    expect((await problemOf(await send(Buffer.from(job('"é"'), 'latin1')))).detail).toMatch(/UTF-8/);
  });

  it.each([
    ['text/plain'],
    ['application/x-www-form-urlencoded'],
    ['multipart/form-data; boundary=x'],
    ['application/jsonp'],
    ['application/json; charset=latin1'],
    ['application/json; charset=utf-16'],
  ])('as %s is refused with 415', async (type) => {
    expect(await problemOf(await send(job('1'), { 'content-type': type }))).toMatchObject({
      status: 415,
      code: 'unsupported_media_type',
    });
  });

  it.each([
    ['application/json'],
    ['Application/JSON;charset=UTF-8'],
    ['application/json; charset="utf-8"'],
    ['application/merge-patch+json'],
  ])('as %s is read', async (type) => {
    expect((await send('{"workflow":"echo"}', { 'content-type': type })).status).toBe(202);
  });

  it('that is compressed is refused with 415, on both routes that take bodies', async () => {
    const bomb = gzipSync(Buffer.alloc(20 * LIMIT, ' '));
    expect((await send(bomb, { 'content-encoding': 'gzip' })).status).toBe(415);
    const upload = {
      method: 'POST',
      body: bomb,
      headers: { 'content-encoding': 'gzip', 'content-type': 'application/pdf' },
    };
    expect((await api.ask('/uploads', upload)).status).toBe(415);
    expect((await send('{"workflow":"echo"}', { 'content-encoding': 'identity' })).status).toBe(202);
  });

  it('may be exactly 1 MB: one byte over is 413', async () => {
    const exact = `{"workflow":"echo"}${' '.repeat(LIMIT - 19)}`;
    expect((await send(exact)).status).toBe(202);
    const over = await send(`${exact} `);
    expect(await problemOf(over)).toMatchObject({ status: 413, code: 'too_large' });
    expect(over.headers.get('connection')).toBe('close');
  });

  it('of 10 MB is 413 however its length is told, and little of it is read', async () => {
    let given = 0;
    const endless = () =>
      new ReadableStream({
        pull(controller) {
          given += 64 * 1024;
          controller.enqueue(new Uint8Array(64 * 1024).fill(0x20));
        },
      });
    expect((await send(endless())).status).toBe(413);
    expect(given).toBeLessThan(2 * LIMIT);
    given = 0;
    expect((await send(endless(), { 'content-length': String(10 * LIMIT) })).status).toBe(413);
    expect(given).toBeLessThan(LIMIT);
    given = 0;
    expect((await send(endless(), { 'content-length': '10' })).status).toBe(413);
  });

  it('that does not arrive in time is 408', async () => {
    const stuck = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"workflow":'));
      },
    });
    expect(await problemOf(await send(stuck))).toMatchObject({ status: 408, code: 'request_timeout' });
  });

  it('that breaks off is no defect of the server', async () => {
    const broken = new ReadableStream({
      pull(controller) {
        controller.error(new Error('gone'));
      },
    });
    expect((await send(broken)).status).toBe(400);
    expect(api.log.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
