import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as answers from '../../src/http/answers.ts';
import { ended, openApi, problemOf } from './harness.ts';
import type { Api } from './harness.ts';

const MAX = 200_000;

let api: Api;
beforeAll(async () => {
  api = await openApi({ settings: { maxUploadBytes: MAX }, limits: { uploadBytes: MAX, uploadIdleMs: 200 } });
  api.startWorker();
});
afterAll(() => api.close());

const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex');
const digest = (bytes: string) => `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`;

function raw(
  body: NonNullable<RequestInit['body']>,
  headers: Record<string, string> = {},
): Promise<Response> {
  return api.ask('/uploads', {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/pdf', ...headers },
    duplex: 'half',
  });
}

function form(text: string, boundary = 'XX'): Promise<Response> {
  return raw(text, { 'content-type': `multipart/form-data; boundary=${boundary}` });
}

const part = (name: string, content: string, extra = '', boundary = 'XX') =>
  `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${extra}\r\nContent-Type: text/plain\r\n\r\n${content}\r\n`;

/** The input file of a job that is given this reference. */
async function read(ref: string): Promise<Response> {
  const id = await api.enqueue({ workflow: 'echo', input_ref: ref });
  return api.ask(`/ai-jobs/${id}/input`);
}

describe('POST /uploads', () => {
  it('keeps a raw body under a name of the server, with its media type', async () => {
    const answer = await raw('%PDF-1.7', {
      'content-disposition': 'attachment; filename="../../etc/invoice 1.pdf"',
    });
    expect(answer.status).toBe(201);
    const body = answers.Upload.parse(await answer.json());
    expect(body).toMatchObject({ sha256: sha256('%PDF-1.7'), bytes: 8, media_type: 'application/pdf' });
    expect(body.input_ref).toMatch(/^uploads\/[0-9a-z]+\.pdf$/);
    const back = await read(body.input_ref);
    expect(back.headers.get('content-type')).toBe('application/pdf');
    expect(await back.text()).toBe('%PDF-1.7');
  });

  it('keeps the one file of a form, as browsers and curl send it', async () => {
    const data = new FormData();
    const bytes = new Uint8Array(150_000).map((_, index) => index % 251);
    data.append('file', new Blob([bytes], { type: 'image/png' }), 'Müller "x".png');
    const answer = await api.ask('/uploads', { method: 'POST', body: data });
    expect(answer.status).toBe(201);
    const body = answers.Upload.parse(await answer.json());
    expect(body).toMatchObject({ sha256: sha256(bytes), bytes: 150_000, media_type: 'image/png' });
    expect(sha256(new Uint8Array(await (await read(body.input_ref)).arrayBuffer()))).toBe(sha256(bytes));
  });

  it('takes the file of a form also without a file name, and an empty file', async () => {
    expect((await form(`${part('file', 'x')}--XX--\r\n`)).status).toBe(201);
    expect((await raw('')).status).toBe(201);
    expect((await form(`${part('file', '', '; filename=""')}--XX--`)).status).toBe(201);
  });

  it.each([
    ['no part at all', '--XX--\r\n', '/file'],
    ['a field only', `${part('note', 'x')}--XX--\r\n`, '/note'],
    ['a file of another name', `${part('upload', 'x', '; filename="a"')}--XX--\r\n`, '/upload'],
    [
      'a field before the file',
      `${part('note', 'x')}${part('file', 'x', '; filename="a"')}--XX--\r\n`,
      '/note',
    ],
    [
      'a field behind the file',
      `${part('file', 'x', '; filename="a"')}${part('note', 'x')}--XX--\r\n`,
      '/note',
    ],
    [
      'two files',
      `${part('file', 'x', '; filename="a"')}${part('file', 'y', '; filename="b"')}--XX--\r\n`,
      '/file',
    ],
    ['many parts', `${part('file', 'x', '; filename="a"')}${part('f', 'y').repeat(50)}--XX--\r\n`, '/f'],
  ])('refuses a form with %s, and keeps nothing', async (_, text, path) => {
    const before = stored();
    const problem = await problemOf(await form(text));
    expect(problem).toMatchObject({ status: 400, code: 'invalid_request', errors: [{ path }] });
    expect(stored()).toEqual(before);
  });

  it.each([
    ['is cut short in its file', part('file', 'x'.repeat(5000), '; filename="a"').slice(0, 3000)],
    ['is cut short behind its file', part('file', 'x', '; filename="a"')],
    ['holds no part', 'hello'],
    ['is empty', ''],
    ['has a broken head', '--XX\r\nContent-Disposition\r\n\r\nx\r\n--XX--\r\n'],
  ])('refuses a form that %s, and keeps nothing', async (_, text) => {
    const before = stored();
    expect(await problemOf(await form(text))).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(stored()).toEqual(before);
  });

  it('refuses a form without a boundary', async () => {
    expect((await raw('x', { 'content-type': 'multipart/form-data' })).status).toBe(400);
  });

  it('is 413 one byte over the limit, raw and in a form, and nothing is kept', async () => {
    expect((await raw(new Uint8Array(MAX))).status).toBe(201);
    const before = stored();
    expect(before.length).toBeGreaterThan(0);
    const over = new Uint8Array(MAX + 1);
    const stream = () => new Blob([over]).stream();
    for (const answer of [
      await raw(over),
      await raw(stream()),
      await raw(stream(), { 'content-length': '5' }),
      await form(`${part('file', 'x'.repeat(MAX + 1), '; filename="a"')}--XX--\r\n`),
    ]) {
      expect(await problemOf(answer)).toMatchObject({ status: 413, code: 'too_large' });
      expect(answer.headers.get('connection')).toBe('close');
    }
    expect(stored()).toEqual(before);
  });

  it('is 413 for a form that hides its bulk outside the file', async () => {
    const bulk = 'x'.repeat(MAX + 100_000);
    expect((await form(`${bulk}\r\n${part('file', 'x', '; filename="a"')}--XX--\r\n`)).status).toBe(413);
    expect((await form(`${part('file', 'x', '; filename="a"')}--XX--\r\n${bulk}`)).status).toBe(413);
  });

  it('is 408 where the body stands still, and nothing is kept', async () => {
    const before = stored();
    const stuck = (text: string) =>
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(text));
        },
      });
    expect((await raw(stuck('%PDF'))).status).toBe(408);
    const headers = { 'content-type': 'multipart/form-data; boundary=XX' };
    expect((await raw(stuck(part('file', 'x'.repeat(100), '; filename="a"')), headers)).status).toBe(408);
    expect((await raw(stuck('--XX\r\n'), headers)).status).toBe(408);
    expect(stored()).toEqual(before);
  });

  it.each(['nonsense', 'a/\u00e9', `text/${'x'.repeat(300)}`])(
    'refuses the media type %.20s',
    async (type) => {
      expect((await raw('x', { 'content-type': type })).status).toBe(415);
    },
  );

  /** The files in the blob store, temporary ones included. */
  function stored(): string[] {
    const { dataDir } = api;
    return readdirSync(join(dataDir, 'blobs'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => entry.name)
      .toSorted();
  }
});

describe('an artifact', () => {
  it('comes as an attachment with its digest, once, and 304 after that', async () => {
    const id = await api.enqueue({ workflow: 'echo', input: 'hello' });
    await ended(api, id);
    const answer = await api.ask(`/ai-jobs/${id}/artifact`);
    const bytes = await answer.text();
    expect(JSON.parse(bytes)).toEqual({ value: 'hello' });
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      etag: `"${sha256(bytes)}"`,
      'repr-digest': digest(bytes),
      'content-type': 'application/json',
      'content-length': String(bytes.length),
      'content-disposition': `attachment; filename="${id}.json"`,
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
    });
    const again = await api.ask(`/ai-jobs/${id}/artifact`, {
      headers: { 'if-none-match': answer.headers.get('etag') ?? '' },
    });
    expect(again.status).toBe(304);
    expect(again.headers.get('repr-digest')).toBe(digest(bytes));
    expect(await again.text()).toBe('');
    const head = await api.ask(`/ai-jobs/${id}/artifact`, { method: 'HEAD' });
    expect(head.headers.get('content-length')).toBe(String(bytes.length));
    expect(await head.text()).toBe('');
  });

  it('that is large comes whole', async () => {
    const value = 'abcdefghij'.repeat(20_000);
    const id = await api.enqueue({ workflow: 'echo', input: value });
    const { artifact } = answers.Status.parse(await ended(api, id));
    const bytes = await (await api.ask(`/ai-jobs/${id}/artifact`)).text();
    expect(JSON.parse(bytes)).toEqual({ value });
    expect(artifact).toMatchObject({ sha256: sha256(bytes), bytes: bytes.length });
  });

  it('with a name and a page as its content is still only an attachment', async () => {
    const id = await api.enqueue({
      workflow: 'echo',
      input: { save: 'page.html', media: 'text/html; charset=utf-8' },
    });
    await ended(api, id);
    const answer = await api.ask(`/ai-jobs/${id}/artifacts/page.html`);
    expect(await answer.text()).toBe('named bytes');
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="page.html"');
    expect(answer.headers.get('content-security-policy')).toBe("sandbox; default-src 'none'");
  });

  it('is not ready before the job completes, and not found where there is none', async () => {
    const id = await api.enqueue({ workflow: 'echo', run_at: new Date(Date.now() + 600_000).toISOString() });
    expect(await problemOf(await api.ask(`/ai-jobs/${id}/artifact`))).toMatchObject({
      status: 404,
      code: 'artifact_not_ready',
    });
    expect(await problemOf(await api.ask('/ai-jobs/job_none/artifact'))).toMatchObject({
      status: 404,
      code: 'not_found',
    });
    expect((await api.ask(`/ai-jobs/${id}/input`)).status).toBe(404);
    const done = await api.enqueue({ workflow: 'echo' });
    await ended(api, done);
    for (const name of ['nope', '..%2f..%2fclaimcheck.db', '%2e%2e', '..%5cx', 'a%00', '.hidden']) {
      expect(await problemOf(await api.ask(`/ai-jobs/${done}/artifacts/${name}`))).toMatchObject({
        status: 404,
        code: 'not_found',
      });
    }
  });
});

describe('evidence', () => {
  it('comes by the uri that the record gives, and only of that job', async () => {
    const id = await api.enqueue({ workflow: 'picky', input: { mode: 'a' } });
    await ended(api, id);
    const record = answers.Record.parse(await (await api.ask(`/ai-jobs/${id}/record`)).json());
    const [evidence] = record.errors[0]?.evidence ?? [];
    const uri = encodeURIComponent(evidence?.uri ?? '');
    const answer = await api.ask(`/ai-jobs/${id}/evidence?uri=${uri}`);
    expect(answer.status).toBe(200);
    expect(sha256(await answer.text())).toBe(evidence?.sha256);
    expect(answer.headers.get('content-disposition')).toMatch(/^attachment/);
    const other = await api.enqueue({ workflow: 'echo' });
    expect((await api.ask(`/ai-jobs/${other}/evidence?uri=${uri}`)).status).toBe(404);
    expect((await api.ask(`/ai-jobs/${id}/evidence?uri=..%2f..%2fclaimcheck.db`)).status).toBe(404);
    expect(await problemOf(await api.ask(`/ai-jobs/${id}/evidence`))).toMatchObject({
      status: 400,
      errors: [{ path: '/uri' }],
    });
    expect(await problemOf(await api.ask(`/ai-jobs/${id}/evidence?uri=a%00`))).toMatchObject({
      status: 400,
      errors: [{ path: '/uri' }],
    });
  });
});
