/** The fake provider as a server: its script, its sockets, what it counts and what it remembers. */
import { request } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { classify } from '../../domain/thrown.ts';
import type { ProviderReply } from './replies.ts';
import { startFakeProvider } from './server.ts';
import type { FakeProvider } from './server.ts';

let provider: FakeProvider;
beforeEach(async () => {
  provider = await startFakeProvider();
});
afterEach(() => provider.close());

const CHAT = { model: 'm-1', messages: [{ role: 'user', content: 'Hi' }] };

function ask(init: RequestInit = {}, path = '/v1/chat/completions', body: unknown = CHAT): Promise<Response> {
  return fetch(provider.url + path, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...init,
  });
}

const stream = { ...CHAT, stream: true };

async function textOf(answer: Promise<Response>): Promise<string> {
  return (await answer).text();
}

describe('a script', () => {
  test('is answered in order, and its last reply for ever', async () => {
    provider.script({ reply: 'unauthorized' }, { reply: 'ok' });
    const statuses = [];
    for (const _ of [1, 2, 3]) statuses.push((await ask()).status);
    expect(statuses).toEqual([401, 200, 200]);
    expect(provider.calls.map(({ index, reply }) => [index, reply])).toEqual([
      [0, 'unauthorized'],
      [1, 'ok'],
      [2, 'ok'],
    ]);
  });

  test('with a name that no reply has is refused at once', async () => {
    const script = [{ reply: 'rate_limit' }] as unknown as ProviderReply[];
    expect(() => provider.script(...script)).toThrow('No reply of the fake provider is named "rate_limit"');
    await expect(startFakeProvider({ script })).rejects.toThrow('There are: ok, rate_limited');
  });

  test('can be replaced, and calls are awaited from there on', async () => {
    await ask();
    provider.script({ reply: 'model_not_found' });
    const came = provider.nextCall();
    expect((await ask()).status).toBe(404);
    expect((await came).index).toBe(1);
  });

  test('is untouched by a call on a path that no API has, which gets a 404 in the form of the nearest', async () => {
    provider.script({ reply: 'forbidden' }, { reply: 'ok' });
    const openai = await ask({}, '/v1/embeddings');
    expect([openai.status, await openai.json()]).toMatchObject([
      404,
      { error: { type: 'invalid_request_error' } },
    ]);
    const anthropic = await ask({}, '/v1/messages/batches');
    expect([anthropic.status, await anthropic.json()]).toMatchObject([
      404,
      { type: 'error', error: { type: 'not_found_error' } },
    ]);
    expect(provider.calls.map(({ reply, path }) => [reply, path])).toEqual([
      ['unknown_path', '/v1/embeddings'],
      ['unknown_path', '/v1/messages/batches'],
    ]);
    expect((await ask()).status).toBe(403);
  });

  test('is untouched by a body that is no JSON, which gets a 400', async () => {
    provider.script({ reply: 'forbidden' }, { reply: 'ok' });
    expect((await ask({}, '/v1/messages', '{"model":')).status).toBe(400);
    expect(provider.calls).toMatchObject([{ reply: 'unreadable_body', body: null, bytesIn: 9 }]);
    expect((await ask()).status).toBe(403);
  });
});

describe('a call is remembered', () => {
  test('with what was asked, and not with its key', async () => {
    await ask({ headers: { authorization: 'Bearer sk-very-secret', 'x-trace': '7' } }, undefined, stream);
    const call = await provider.callEnded(0);
    expect(call).toMatchObject({
      api: 'chat',
      path: '/v1/chat/completions',
      model: 'm-1',
      stream: true,
      body: stream,
      headers: { authorization: true, 'x-api-key': false, 'x-trace': '7' },
      closedBy: null,
      finished: true,
    });
    expect(JSON.stringify(call)).not.toContain('very-secret');
    expect(call.bytesIn).toBe(JSON.stringify(stream).length);
  });

  test('with the bytes of the answer, however they were cut', async () => {
    provider.script({ reply: 'ok', text: 'Grüße 🦊', chunks: 5 });
    const whole = await textOf(ask());
    const streamed = await textOf(ask({}, undefined, stream));
    expect(provider.calls.map(({ bytesOut }) => bytesOut)).toEqual([
      Buffer.byteLength(whole),
      Buffer.byteLength(streamed),
    ]);
  });

  test('only when its body came in whole', async () => {
    const half = request(`${provider.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-length': 100 },
    });
    await new Promise<void>((resolve) => half.write('{"model":', () => resolve()));
    const closed = new Promise((resolve) => half.once('close', resolve));
    half.once('error', () => {});
    half.destroy();
    await closed;
    await ask();
    expect(provider.calls).toHaveLength(1);
  });
});

test('the same seed and script give the same bytes, and another seed other ids', async () => {
  const script: ProviderReply[] = [{ reply: 'ok' }, { reply: 'ok', toolCalls: [{ name: 'f', input: 1 }] }];
  const told = async (seed: number) => {
    const one = await startFakeProvider({ seed, script });
    const answers = [];
    for (const path of ['/v1/responses', '/v1/chat/completions', '/v1/messages']) {
      for (const body of [CHAT, stream]) {
        const answer = await fetch(one.url + path, { method: 'POST', body: JSON.stringify(body) });
        answers.push([
          answer.headers.get('x-request-id') ?? answer.headers.get('request-id'),
          await answer.text(),
        ]);
      }
    }
    await one.close();
    return answers;
  };
  const first = await told(1);
  expect(await told(1)).toEqual(first);
  const second = await told(2);
  expect(second.flat().filter((text, index) => text === first.flat()[index])).toEqual([]);
  expect(new Set(first.map(([id]) => id)).size).toBe(first.length);
});

describe('Retry-After is', () => {
  test.each<[string, number | Date | { days: number } | string, string]>([
    ['seconds', 7, '7'],
    ['a date', new Date(Date.UTC(2026, 10, 30, 4)), 'Mon, 30 Nov 2026 04:00:00 GMT'],
    ['days', { days: 3 }, '259200'],
    ['what the script spells out', 'soon', 'soon'],
  ])('%s', async (_, retryAfter, header) => {
    provider.script({ reply: 'rate_limited', retryAfter });
    expect((await ask()).headers.get('retry-after')).toBe(header);
  });

  test('absent where the script has none', async () => {
    provider.script({ reply: 'rate_limited' });
    expect((await ask()).headers.has('retry-after')).toBe(false);
  });
});

describe('a call that holds', () => {
  test.each<ProviderReply>([
    { reply: 'silence', text: 'late' },
    { reply: 'ok', text: 'late', hold: true },
  ])('goes on when it is released: $reply', async (reply) => {
    provider.script(reply);
    const answer = ask();
    const call = await provider.nextCall();
    expect([call.finished, call.bytesOut]).toEqual([false, 0]);
    provider.release();
    expect(await textOf(answer)).toContain('late');
    expect((await provider.callEnded(0)).finished).toBe(true);
  });

  test('has sent its headers, where the reply says so', async () => {
    provider.script({ reply: 'headers_then_silence', text: 'late' });
    const answer = await ask();
    expect([answer.status, provider.calls[0]?.bytesOut]).toEqual([200, 0]);
    provider.release();
    expect(await answer.text()).toContain('late');
  });

  test('in the middle has sent half of its text, and sends the rest when it is released', async () => {
    provider.script({ reply: 'ok', text: 'abcdef', chunks: 4, hold: 'middle' });
    const answer = await ask({}, undefined, stream);
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    let seen = '';
    while (!seen.includes('"bc"')) seen += (await reader.read()).value ?? '';
    expect(seen).not.toContain('"content":"d"');
    provider.release();
    for (let part = await reader.read(); !part.done; part = await reader.read()) seen += part.value;
    expect(seen).toContain('data: [DONE]');
  });

  test.each<ProviderReply>([
    { reply: 'silence' },
    { reply: 'headers_then_silence' },
    { reply: 'one_byte_a_second' },
    { reply: 'ok', hold: 'middle' },
    { reply: 'ok', chunkDelayMs: 60_000 },
  ])('sees its client go: $reply', async (reply) => {
    provider.script(reply);
    const controller = new AbortController();
    const answer = textOf(ask({ signal: controller.signal }, undefined, stream)).catch(
      (reason: unknown) => reason,
    );
    await provider.nextCall();
    controller.abort(new Error('enough'));
    expect(await provider.callEnded(0)).toMatchObject({ closedBy: 'client', finished: false });
    expect(provider.closedByClient).toBe(1);
    await answer;
  });
});

describe('a connection', () => {
  test.each<[string, ProviderReply, object]>([
    ['is reset before a byte of an answer', { reply: 'connection_reset' }, CHAT],
    ['is closed in the middle of an answer', { reply: 'stream_breaks' }, CHAT],
    ['is closed in the middle of a stream', { reply: 'stream_breaks' }, stream],
  ])('%s, which plain fetch sees as a fault that passes', async (_, reply, body) => {
    provider.script(reply);
    const error: unknown = await textOf(ask({}, undefined, body)).catch((reason: unknown) => reason);
    expect(classify(error).code).toBe('upstream_unavailable');
    expect(await provider.callEnded(0)).toMatchObject({ closedBy: 'server', finished: false });
    expect(provider.closedByClient).toBe(0);
  });

  test('that breaks in the middle has brought half of the text before', async () => {
    provider.script({ reply: 'stream_breaks', text: 'abcd', chunks: 4 });
    const answer = await ask({}, undefined, stream);
    let seen = '';
    await expect(async () => {
      for await (const bytes of answer.body!) seen += Buffer.from(bytes).toString();
    }).rejects.toThrow('terminated');
    expect(seen).toContain('"content":"b"');
    expect(seen).not.toContain('"content":"c"');
  });

  test('that drips brings a byte at a time', async () => {
    provider.script({ reply: 'one_byte_a_second', intervalMs: 5 });
    const reader = (await ask({}, undefined, stream)).body!.getReader();
    const sizes = [];
    for (const _ of [1, 2, 3]) sizes.push((await reader.read()).value?.byteLength);
    expect(sizes).toEqual([1, 1, 1]);
    await reader.cancel();
    await provider.callEnded(0);
  });

  test('that its client has closed gets nothing more', async () => {
    provider.script({ reply: 'ok', chunks: 1000, text: 'x'.repeat(1000), chunkDelayMs: 1 });
    const reader = (await ask({}, undefined, stream)).body!.getReader();
    await reader.read();
    await reader.cancel();
    const { bytesOut } = await provider.callEnded(0);
    provider.script({ reply: 'ok', chunks: 10, chunkDelayMs: 1 });
    await textOf(ask({}, undefined, stream));
    expect(provider.calls[0]?.bytesOut).toBe(bytesOut);
  });

  test('that drips brings the whole answer in the end', async () => {
    provider.script({ reply: 'one_byte_a_second', intervalMs: 0 });
    expect(await textOf(ask({}, undefined, stream))).toContain('data: [DONE]');
    expect(provider.calls[0]?.finished).toBe(true);
  });

  test('is closed by a provider that closes, and refused from then on', async () => {
    provider.script({ reply: 'silence' });
    const answer = textOf(ask()).catch((reason: unknown) => reason);
    await provider.nextCall();
    await provider.close();
    expect(await answer).toBeInstanceOf(Error);
    expect(await provider.callEnded(0)).toMatchObject({ closedBy: 'server' });
    await expect(ask()).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
  });
});

test('two hundred streams at once are each whole, and each its own', async () => {
  provider.script({ reply: 'ok', chunks: 10, chunkDelayMs: 1 });
  const answers = await Promise.all(Array.from({ length: 200 }, () => textOf(ask({}, undefined, stream))));
  expect(answers.filter((text) => !text.endsWith('data: [DONE]\n\n'))).toEqual([]);
  expect(new Set(answers).size).toBe(200);
});
