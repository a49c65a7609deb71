import { afterEach, describe, expect, test } from 'vitest';
import { classify } from '../domain/thrown.ts';
import { startFakeProvider } from './fake-provider.ts';
import type { FakeProvider, ProviderReply } from './fake-provider.ts';

let provider: FakeProvider;

async function started(...replies: [ProviderReply, ...ProviderReply[]]): Promise<FakeProvider> {
  provider = await startFakeProvider(replies);
  return provider;
}

function ask(signal?: AbortSignal): Promise<Response> {
  return fetch(`${provider.url}/v1/answers`, {
    method: 'POST',
    body: '{"prompt":"x"}',
    ...(signal ? { signal } : {}),
  });
}

afterEach(() => provider.close());

describe('the fake provider', () => {
  test('answers in the order of its script, the last reply for ever, and counts', async () => {
    await started(
      { type: 'rate_limited', retryAfterSeconds: 7 },
      { type: 'server_error' },
      { type: 'json', json: { text: 'hi' } },
    );
    const limited = await ask();
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '7']);
    const broken = await ask();
    expect(broken.status).toBe(500);
    expect(await broken.text()).toContain('prompt');
    expect(await (await ask()).json()).toEqual({ text: 'hi' });
    expect(await (await ask()).json()).toEqual({ text: 'hi' });
    expect(provider.calls.map(({ method, url, body }) => [method, url, body])).toEqual(
      Array.from({ length: 4 }, () => ['POST', '/v1/answers', '{"prompt":"x"}']),
    );
  });

  test.each([
    ['resets the connection', { type: 'reset' }],
    ['resets it in the middle of a body', { type: 'half', json: { text: 'a long answer' } }],
  ] as [string, ProviderReply][])('%s, which a client sees as a fault that passes', async (_, reply) => {
    await started(reply);
    const error: unknown = await ask()
      .then((response) => response.text())
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    expect(classify(error).code).toBe('upstream_unavailable');
  });

  test('sends half of the body before it resets', async () => {
    await started({ type: 'half', json: 'x'.repeat(1000) });
    const response = await ask();
    expect(response.status).toBe(200);
    const { value } = await response.body!.getReader().read();
    expect(value?.byteLength).toBe(501);
  });

  test('stalls until the client goes, and sees it go', async () => {
    await started({ type: 'stall' });
    const controller = new AbortController();
    const asked = ask(controller.signal);
    const call = await provider.call(0);
    controller.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
    await call.clientClosed;
    expect(provider.calls).toHaveLength(1);
  });

  test('closes with a request still open', async () => {
    await started({ type: 'stall' });
    const asked = ask().catch((reason: unknown) => reason);
    await provider.call(0);
    await provider.close();
    expect(await asked).toBeInstanceOf(Error);
    await started({ type: 'stall' });
  });
});
