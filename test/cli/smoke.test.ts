/** `claimcheck smoke`, against a provider of our own with a real socket: what it calls, and what it writes down. */
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { Output, generateText, jsonSchema } from 'ai';
import { describe, expect, test, vi } from 'vitest';
import { SMOKE_EXAMPLE } from '../../src/cli/smoke-example.ts';
import { readPins } from '../../src/domain/smoke/pins.ts';
import type { SmokeReport } from '../../src/domain/smoke/report.ts';
import type { ProviderReply } from '../../src/testkit/provider/replies.ts';
import { startFakeProvider } from '../../src/testkit/provider/server.ts';
import { run, runHere, tempDir } from './run.ts';
import { ANSWER, APIS, KEY, check, pinsFor, provider } from './smoke-check.ts';
import type { Pins } from './smoke-check.ts';

describe('calls', () => {
  const forms = Object.entries(APIS).flatMap(([name, pins]) =>
    [false, true].map((stream) => ({
      name: `${name}, ${stream ? 'streamed' : 'in one piece'}`,
      pins: { ...pins, stream },
    })),
  );

  test.each(forms)('$name: a run as pinned', async ({ pins }) => {
    const headers = {
      'x-ratelimit-remaining-requests': '99',
      'anthropic-ratelimit-tokens-reset': '2026-11-30T00:00:00Z',
      'set-cookie': 'session=of-the-provider',
      'openai-organization': 'org-secret',
    };
    const usage = { input: 100, output: 20 };
    const { code, report, calls, stdout, stderr } = await check(pinsFor({ ...pins, calls: 2 }), [
      { reply: 'ok', json: ANSWER, usage, headers, requestId: 'req_1' },
    ]);
    expect({ code, calls, stderr }).toEqual({ code: 0, calls: 2, stderr: '' });
    expect(report).toMatchObject({
      kind: 'claimcheck_smoke_report',
      as_pinned: true,
      complete: true,
      stopped: null,
    });
    const [call] = report.calls;
    expect(call).toMatchObject({
      as_pinned: true,
      deviations: [],
      code: null,
      http_status: 200,
      request_id: 'req_1',
      finish_reason: 'stop',
      output: JSON.stringify(ANSWER),
      schema: { result: 'valid', issues: [] },
      usage: { input: 100, output: 20 },
      billing: 'settled',
      cost_usd: 0.000065,
    });
    expect(call?.request?.body).toEqual(provider.calls.at(-1)?.body);
    expect(call?.served_model).toBe(report.pinned.model);
    expect(call?.response_headers).toMatchObject({
      'x-ratelimit-remaining-requests': '99',
      'anthropic-ratelimit-tokens-reset': '2026-11-30T00:00:00Z',
    });
    expect(JSON.stringify(report)).not.toMatch(/of-the-provider|org-secret|authorization|x-api-key/i);
    const { headers: headersMs, first_token: firstMs, end: endMs } = call?.latency_ms ?? {};
    expect(headersMs).toBeLessThanOrEqual(endMs ?? -1);
    expect(typeof firstMs).toBe(pins.stream ? 'number' : 'object');
    expect(stdout).toMatch(/^ {2}2 {5}as pinned +/m);
    expect(stdout).toMatch(/It does not prove:/);
    expect(report.does_not_prove.length).toBeGreaterThan(4);
    expect(report.spending).toMatchObject({ spent_usd: 0.00013, held_usd: 0 });
  });

  test.each([
    ['openai responses', () => createOpenAI(asUsers())('gpt-5-mini-2025-08-07')],
    ['anthropic', () => createAnthropic(asUsers())('claude-sonnet-4-5-20250929')],
  ] as const)('%s: the request is the one that generateText sends', async (name, model) => {
    const { report } = await check(pinsFor(APIS[name]));
    const { system, user } = SMOKE_EXAMPLE.prompt;
    await generateText({
      model: model(),
      system,
      prompt: user,
      maxOutputTokens: SMOKE_EXAMPLE.max_output_tokens,
      output: Output.object({ schema: jsonSchema(SMOKE_EXAMPLE.schema as Parameters<typeof jsonSchema>[0]) }),
    });
    expect(report.calls[0]?.request?.body).toEqual(provider.calls.at(-1)?.body);
  });

  function asUsers() {
    return { baseURL: `${provider.url}/v1`, apiKey: KEY };
  }

  test('an OpenAI-compatible server is sent the schema, too', async () => {
    await check(pinsFor(APIS['openai-compatible']));
    const format = provider.calls.at(-1)?.body?.['response_format'];
    expect(format).toMatchObject({ json_schema: { schema: SMOKE_EXAMPLE.schema } });
  });

  test('a server without keys gets none', async () => {
    const { code } = await check(pinsFor({ ...APIS['openai-compatible'], api_key_env: null }));
    expect(code).toBe(0);
    expect(provider.calls.at(-1)?.headers['authorization']).toBe(false);
  });

  test('an alias that was accepted may be served by a version of it, and by nothing else', async () => {
    const pins = pinsFor({ model: 'gpt-5-mini', alias_accepted: true });
    const json = ANSWER;
    expect((await check(pins, [{ reply: 'ok', json, model: 'gpt-5-mini-2025-08-07' }])).code).toBe(0);
    const other = await check(pins, [{ reply: 'ok', json, model: 'gpt-5-mini-fast' }]);
    expect(other.code).toBe(1);
    expect(other.report.calls[0]?.deviations).toEqual(['gpt-5-mini-fast served it; pinned is gpt-5-mini']);
    expect(other.report.calls[0]).toMatchObject({ code: null, cost_usd: null, billing: 'unknown' });
  });

  interface Fault {
    reply: ProviderReply;
    pins?: Pins;
    call: object;
  }

  const json = ANSWER;
  const FAULTS: Record<string, Fault> = {
    wrong_model: {
      reply: { reply: 'wrong_model', json },
      call: {
        code: null,
        billing: 'unknown',
        deviations: [expect.stringMatching(/-other served it; pinned is /)],
      },
    },
    rate_limited: {
      reply: { reply: 'rate_limited', retryAfter: 7 },
      call: {
        code: 'upstream_unavailable',
        rule: 'models-v1/rate_limited',
        http_status: 429,
        billing: 'none',
        response_headers: expect.objectContaining({ 'retry-after': '7' }),
      },
    },
    insufficient_quota: {
      reply: { reply: 'insufficient_quota' },
      call: { code: 'spending_limit', rule: 'models-v1/quota', billing: 'none' },
    },
    bad_gateway_html: {
      reply: { reply: 'bad_gateway_html' },
      call: { code: 'upstream_unavailable', http_status: 502, billing: 'unknown', cost_usd: null },
    },
    silence: {
      reply: { reply: 'silence' },
      pins: { timeout_ms: 150 },
      call: {
        code: 'timeout',
        rule: 'models-v1/signal_timeout',
        billing: 'unknown',
        latency_ms: { headers: null, first_token: null, end: expect.any(Number) },
      },
    },
    headers_then_silence: {
      reply: { reply: 'headers_then_silence' },
      pins: { timeout_ms: 150 },
      call: { code: 'timeout', http_status: 200, billing: 'unknown' },
    },
    'headers_then_silence, streamed': {
      reply: { reply: 'headers_then_silence' },
      pins: { timeout_ms: 150, stream: true },
      call: { code: 'timeout', http_status: 200, billing: 'unknown' },
    },
    refusal: {
      reply: { reply: 'refusal' },
      call: { code: 'refused', rule: 'models-v1/refusal', billing: 'settled' },
    },
    'refusal, streamed': {
      reply: { reply: 'refusal' },
      pins: { stream: true },
      call: { code: 'refused', rule: 'models-v1/refusal', billing: 'settled' },
    },
    'refusal, openai-compatible, streamed': {
      reply: { reply: 'refusal' },
      pins: { ...APIS['openai-compatible'], stream: true },
      call: { code: 'refused', rule: 'models-v1/refusal', billing: 'settled' },
    },
    length: {
      reply: { reply: 'length_with_json', json },
      call: {
        code: 'incomplete_output',
        rule: 'models-v1/finish_length',
        finish_reason: 'length',
        deviations: expect.arrayContaining(['the answer ended with length']),
      },
    },
    malformed: {
      reply: { reply: 'malformed_output', json },
      call: {
        code: 'malformed_output',
        rule: 'models-v1/malformed',
        output: expect.stringContaining('```json'),
        schema: { result: 'invalid', issues: [expect.objectContaining({ path: '' })] },
        deviations: ['the answer does not fit the schema'],
      },
    },
    misfit: {
      reply: { reply: 'ok', json: { total: '80', currency: 'EUR' } },
      call: {
        code: 'malformed_output',
        schema: { result: 'invalid', issues: [{ path: '/total', message: 'must be number' }] },
      },
    },
    broken_json: {
      reply: { reply: 'broken_json', json },
      call: { code: 'upstream_unavailable', rule: 'models-v1/broken_json', billing: 'unknown' },
    },
    'stream_breaks, streamed': {
      reply: { reply: 'stream_breaks', json },
      pins: { stream: true },
      call: { code: 'upstream_unavailable', rule: 'models-v1/broken_stream', output: expect.any(String) },
    },
    'stream_ends_early, streamed': {
      reply: { reply: 'stream_ends_early', json },
      pins: { stream: true },
      call: { code: 'upstream_unavailable', rule: 'models-v1/ended_early', billing: 'unknown' },
    },
    no_usage: {
      reply: { reply: 'no_usage', json },
      call: { code: null, as_pinned: true, usage: null, cost_usd: null, billing: 'unknown' },
    },
    connection_reset: {
      reply: { reply: 'connection_reset' },
      call: { code: 'upstream_unavailable', rule: 'models-v1/network', billing: 'unknown' },
    },
  };

  test.each(Object.entries(FAULTS))('a provider that fails: %s', async (_, { reply, pins, call }) => {
    const { code, report, calls } = await check(pinsFor(pins), [reply]);
    expect(calls).toBe(1);
    expect(report.calls[0]).toMatchObject(call);
    expect(code).toBe(report.calls[0]?.as_pinned === true ? 0 : 1);
  });

  test('nobody at the address: nothing was sent, and nothing is billed', async () => {
    const gone = await startFakeProvider();
    await gone.close();
    const { code, report } = await check(pinsFor({ base_url: `${gone.url}/v1` }));
    expect(code).toBe(1);
    expect(report.calls[0]).toMatchObject({ code: 'upstream_unavailable', billing: 'none', cost_usd: 0 });
  });

  test('a redirect is not followed, so that the key goes nowhere else', async () => {
    const headers = { location: `${provider.url}/v1/messages` };
    const { report, calls } = await check(pinsFor(), [{ reply: 'raw', status: 307, body: {}, headers }]);
    expect(calls).toBe(1);
    expect(report.calls[0]).toMatchObject({ code: 'invalid_request', http_status: 307, billing: 'none' });
  });

  test('the spending limit ends it before the next call; what nobody knows counts as the most it can be', async () => {
    const usage = { input: 0, output: 1000 };
    const known = await check(pinsFor({ calls: 5, spending_limit_usd: 0.007 }), [
      { reply: 'ok', json, usage },
    ]);
    expect({ calls: known.calls, code: known.code }).toEqual({ calls: 2, code: 1 });
    expect(known.report).toMatchObject({ stopped: 'spending_limit', as_pinned: false, complete: true });
    expect(known.report.spending).toMatchObject({ spent_usd: 0.004, held_usd: 0 });
    expect(known.stdout).toMatch(
      /^Stopped after 2 of 5 calls: \$0\.0041\d* more would have passed the limit\.$/m,
    );
    const unknown = await check(pinsFor({ calls: 5, spending_limit_usd: 0.007 }), [
      { reply: 'no_usage', json },
    ]);
    expect({ calls: unknown.calls, code: unknown.code }).toEqual({ calls: 1, code: 1 });
    expect(unknown.report.spending.held_usd).toBe(unknown.report.spending.most_per_call_usd);
  });
});

describe('writes', () => {
  test('a report for its owner alone, which --json prints as it is', async () => {
    const { out, stdout, text } = await check(pinsFor(), [], ['--json']);
    expect(statSync(out).mode & 0o777).toBe(0o600);
    expect(stdout).toBe(text);
  });

  test('the key nowhere, whatever a provider says of it', async () => {
    const pins = pinsFor({ schema: null, calls: 5, spending_limit_usd: 1 });
    const { report, text, stdout, stderr } = await check(pins, [
      { reply: 'ok', text: `Your key is ${KEY}.`, requestId: KEY },
      { reply: 'ok', json: { [KEY]: KEY }, model: `model-${KEY}`, headers: { 'retry-after': KEY } },
      { reply: 'server_error' },
      { reply: 'raw', status: 401, body: { error: { message: `bad ${KEY}`, type: KEY, code: KEY } } },
      { reply: 'raw', body: `not JSON, but ${KEY}` },
    ]);
    expect(report.calls).toHaveLength(5);
    expect(report.calls[0]?.output).toBe('Your key is [redacted].');
    for (const written of [text, stdout, stderr]) expect(written).not.toContain(KEY);
  });

  test('nothing that the rules name, wherever it stands', async () => {
    const prompt = {
      system: null,
      user: 'Write to ann@example.com, born 1961-04-12, called "Ann \\ O\'Neil".',
    };
    const redact = [
      { regex: '[\\w.]+@[\\w.]+' },
      { regex: '"iban":\\s*"[^"]*"' },
      { regex: 'Ann \\\\ O' },
      { pointer: '/output/born' },
      { pointer: '/output/absent' },
    ];
    const answer = { mail: 'ann@example.com', iban: 'DE99 1234', born: '1961-04-12', name: 'Ann \\ O', n: 7 };
    const pins = pinsFor({ prompt, redact, schema: null });
    const { report, text, stdout } = await check(pins, [
      { reply: 'ok', json: answer, requestId: 'ann@example.com' },
    ]);
    for (const secret of ['ann@', 'example.com', 'DE99', '1961', 'Ann \\']) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(JSON.stringify(secret).slice(1, -1));
    }
    expect(report.redaction.map(({ matches }) => matches > 0)).toEqual([true, true, true, true, false]);
    expect(report.calls[0]?.output).toBe(
      '{"mail":"[redacted]",[redacted],"born":"[redacted]","name":"[redacted]","n":7}',
    );
    expect(stdout).toContain('The pointer /redact/4 found nothing to take out.');
    expect(stdout).not.toContain('ann@');
  });

  test('nothing of an answer that is no JSON, where a rule points into it', async () => {
    const { report, text } = await check(pinsFor({ redact: [{ pointer: '/output/total' }] }), [
      { reply: 'malformed_output', json: { total: 'vierhundert' } },
    ]);
    expect(report.calls[0]).toMatchObject({ code: 'malformed_output', output: '[redacted]' });
    expect(text).not.toContain('vierhundert');
  });

  test('nothing of a prompt that an error quotes', async () => {
    const prompt = { system: null, user: 'The number of the account is 4929-1234.' };
    const { text, stdout, stderr } = await check(pinsFor({ prompt, redact: [{ regex: '\\d{4}-\\d{4}' }] }), [
      { reply: 'server_error' },
    ]);
    for (const written of [text, stdout, stderr]) expect(written).not.toContain('4929');
  });

  test('what was paid for as soon as it was: a run that is ended from outside has a report of its calls', async () => {
    const dir = tempDir();
    const [file, out] = [join(dir, 'pins.json'), join(dir, 'report.json')];
    writeFileSync(file, JSON.stringify(pinsFor({ calls: 2 })));
    const index = provider.calls.length + 1;
    provider.script({ reply: 'ok', json: ANSWER }, { reply: 'ok', json: ANSWER, hold: true });
    const running = runHere(['smoke', file, '--out', out], { columns: 100 });
    await vi.waitUntil(() => provider.calls.length > index);
    const soFar = JSON.parse(readFileSync(out, 'utf8')) as SmokeReport;
    expect(soFar).toMatchObject({ complete: false, as_pinned: false, ended_at: null });
    expect(soFar.calls).toHaveLength(1);
    provider.release();
    const { code, stderr } = await running;
    expect(code).toBe(0);
    expect(stderr).toMatch(/^call 1 of 2: as pinned, \d+ ms\ncall 2 of 2: as pinned, \d+ ms\n$/);
  });
});

describe('starts', () => {
  test('with an example that is complete, and whose prompt has something for its rule to take out', async () => {
    const { code, stdout } = await runHere(['smoke', '--example']);
    expect(code).toBe(0);
    const example = JSON.parse(stdout) as Pins & { base_url?: string };
    expect(readPins(example as never)).toMatchObject({
      ok: true,
      pins: { baseUrl: 'https://api.openai.com/v1' },
    });
    vi.stubEnv('OPENAI_API_KEY', KEY);
    const { report } = await check({ ...example, base_url: `${provider.url}/v1` });
    expect(report).toMatchObject({ as_pinned: true, redaction: [{ matches: 2 }, { matches: 0 }] });
  });

  test('as a command of its own, with its report beside it', async () => {
    const cwd = tempDir();
    writeFileSync(join(cwd, 'pins.json'), JSON.stringify(pinsFor()));
    provider.script({ reply: 'ok', json: ANSWER });
    const { code, stdout } = await run(['smoke', 'pins.json'], { cwd, env: { SMOKE_KEY: KEY } });
    expect(code).toBe(0);
    const [name = ''] = readdirSync(join(cwd, 'smoke-reports'));
    expect(name).toMatch(/^invoice-total-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}\.\d{3}Z\.json$/);
    expect(stdout).toContain(`The report is in smoke-reports/${name}, for its owner alone.`);
    expect(statSync(join(cwd, 'smoke-reports', name)).mode & 0o777).toBe(0o600);
  });

  test('with the libraries of providers, which no other command loads', () => {
    const loaded = new Set<string>();
    const packages = staticImports(fileURLToPath(new URL('../../src/main/cli.ts', import.meta.url)), loaded);
    expect(packages).toContain('commander');
    expect(packages.filter((name) => name === 'ai' || /^@ai-sdk\/(?!provider$)/.test(name))).toEqual([]);
    expect([...loaded].map((file) => basename(file)).filter((name) => name.includes('smok'))).toEqual([
      'smoke.ts',
    ]);
  });
});

/** The packages that a module loads as soon as it is loaded itself, through whatever of ours. */
function staticImports(file: string, loaded: Set<string>): string[] {
  loaded.add(file);
  const imports = readFileSync(file, 'utf8').matchAll(/^(?:import|export) (?!type )[^;]*?from '([^']+)';/gm);
  return Array.from(imports, ([, name = '']) => name).flatMap((name) => {
    if (!name.startsWith('.')) return [name];
    const target = join(dirname(file), name);
    return loaded.has(target) || !target.endsWith('.ts') ? [] : staticImports(target, loaded);
  });
}
