/** What `claimcheck smoke` refuses before it calls anybody. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { SMOKE_EXAMPLE } from '../../src/cli/smoke-example.ts';
import { runHere, tempDir } from './run.ts';
import { APIS, KEY, check, pinsFor, provider } from './smoke-check.ts';
import type { Pins } from './smoke-check.ts';

describe('refuses, and calls nothing', () => {
  const REQUIRED = Object.keys(SMOKE_EXAMPLE);

  test('a file that pins nothing: every pin is named at once', async () => {
    const { code, stderr, calls, text } = await check({});
    expect({ code, calls, text }).toEqual({ code: 2, calls: 0, text: '' });
    const named = stderr.match(/^ {2}\/\S+/gm)?.map((path) => path.slice(3));
    expect(named?.toSorted()).toEqual(REQUIRED.toSorted());
    expect(stderr).toMatch(/^not_pinned: .*pins\.json does not pin the check; nothing was called\.$/m);
  });

  test.each(REQUIRED)('a file without %s', async (name) => {
    const { [name]: _, ...rest } = pinsFor();
    const { code, stderr, calls } = await check(rest);
    expect({ code, calls }).toEqual({ code: 2, calls: 0 });
    expect(stderr).toMatch(new RegExp(`^ {2}/${name} {2}is not pinned; it must be `, 'm'));
  });

  const WRONG: [path: string, changed: Pins, says: RegExp][] = [
    ['/name', { name: '../../etc' }, /a name for the report/],
    ['/provider', { provider: 'azure' }, /must be one of openai, anthropic/],
    ['/api', { provider: 'anthropic', api: 'chat' }, /must be one of messages/],
    ['/base_url', { base_url: 'ftp://127.0.0.1/v1' }, /an http or https address/],
    ['/base_url', { base_url: 'http://user:pass@localhost/v1' }, /without user, query or fragment/],
    ['/base_url', { ...APIS['openai-compatible'], base_url: undefined }, /is not pinned/],
    ['/api_key_env', { api_key_env: null }, /null for an openai-compatible server/],
    ['/api_key_env', { api_key_env: 'SMOKE_KEY_NOT_SET' }, /names SMOKE_KEY_NOT_SET, which is not set/],
    ['/model', { model: 'gpt-5' }, /names no version/],
    ['/model', { model: 'mistral-large-latest' }, /names no version/],
    ['/alias_accepted', { alias_accepted: 'yes' }, /must be true or false/],
    ['/prompt/system', { prompt: { user: 'a' } }, /a text, or null/],
    ['/prompt/user', { prompt: { system: null, user: '' } }, /a text/],
    ['/prompt/developer', { prompt: { system: null, user: 'a', developer: 'b' } }, /is no field here/],
    ['/schema/properties/a/if', { schema: { properties: { a: { if: {} } } } }, /cannot be checked by/],
    ['/stream', { stream: null }, /must be true or false/],
    ['/max_output_tokens', { max_output_tokens: 0 }, /a whole number from 1/],
    ['/redact', { redact: null }, /\[\] for nothing/],
    ['/redact/1/regex', { redact: [{ regex: 'a+' }, { regex: '(' }] }, /is no regular expression/],
    ['/redact/0/regex', { redact: [{ regex: 'a*' }] }, /matches an empty text/],
    ['/redact/0/pointer', { redact: [{ pointer: 'output' }] }, /a JSON Pointer/],
    ['/redact/0', { redact: ['a'] }, /must be \{"regex"/],
    ['/timeout_ms', { timeout_ms: 1.5 }, /a whole number from 1/],
    ['/spending_limit_usd', { spending_limit_usd: 0 }, /more than 0/],
    ['/spending_limit_usd', { spending_limit_usd: 0.004 }, /pays for no call: one may cost \$0\.0041/],
    ['/usd_per_million/output', { usd_per_million: { input: 1 } }, /is not pinned/],
    ['/usd_per_million/input', { usd_per_million: { input: -1, output: 1 } }, /number of dollars/],
    [
      '/usd_per_million/thinking',
      { usd_per_million: { input: 1, output: 1, thinking: 1 } },
      /is no field here/,
    ],
    ['/calls', { calls: 101 }, /a whole number from 1 to 100/],
    ['/temperature', { temperature: 0 }, /is no field here/],
  ];

  test.each(WRONG)('%s of %j', async (path, changed, says) => {
    const { code, stderr, calls, text } = await check(pinsFor(changed));
    expect({ code, calls, text }).toEqual({ code: 2, calls: 0, text: '' });
    const line = stderr.split('\n').find((one) => one.startsWith(`  ${path}  `));
    expect(line ?? stderr).toMatch(says);
  });

  test.each([
    ['in a field of its own', { api_key: KEY }],
    ['as the name of the variable', { api_key_env: KEY }],
    ['in the prompt', { prompt: { system: null, user: `use ${KEY}` } }],
    ['as the name of a field', { [KEY]: true }],
    ['of another provider', { prompt: { system: 'AIzaSyA0123456789abcdefghijklmnopqrstuv', user: 'a' } }],
  ])('a key %s, without repeating it', async (_, changed) => {
    const { code, stderr, calls } = await check(pinsFor(changed));
    expect({ code, calls }).toEqual({ code: 2, calls: 0 });
    expect(stderr).toContain('looks like a key');
    expect(stderr).not.toMatch(/sk-live|AIzaSy/);
  });

  test('what the variable holds, whatever it looks like', async () => {
    vi.stubEnv('SMOKE_KEY', 'correct horse battery');
    const { code, stderr, calls } = await check(
      pinsFor({ prompt: { system: null, user: 'correct horse battery' } }),
    );
    expect({ code, calls }).toEqual({ code: 2, calls: 0 });
    expect(stderr).toMatch(/holds what SMOKE_KEY holds/);
    expect(stderr).not.toContain('horse');
  });

  test.each(['', 'short', 'two\nlines of a key', ' sk-0123456789abcdef'])('the key %j', async (key) => {
    vi.stubEnv('SMOKE_KEY', key);
    const { code, stderr, calls } = await check(pinsFor());
    expect({ code, calls }).toEqual({ code: 2, calls: 0 });
    expect(stderr).toMatch(/^ {2}\/api_key_env {2}names SMOKE_KEY, which /m);
  });

  test('a field that is given twice, and a file that is no JSON or not there', async () => {
    const twice = await check('{"calls": 1, "calls": 2}');
    expect(twice).toMatchObject({ code: 2, calls: 0 });
    expect(twice.stderr).toMatch(/refused at \/calls: this key is given twice/);
    expect(await check('calls: 1')).toMatchObject({ code: 2, calls: 0 });
    expect(await check('[]')).toMatchObject({ code: 2, calls: 0 });
    expect(await runHere(['smoke', join(tempDir(), 'none.json')])).toMatchObject({ code: 2 });
    expect(await runHere(['smoke'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('smoke --example'),
    });
  });

  test('a report that has no place', async () => {
    const first = await check(pinsFor());
    const before = provider.calls.length;
    const file = join(tempDir(), 'pins.json');
    writeFileSync(file, JSON.stringify(pinsFor()));
    const again = await runHere(['smoke', file, '--out', first.out]);
    expect(again).toMatchObject({ code: 3, stderr: expect.stringContaining('there is a file of that name') });
    const below = await runHere(['smoke', file, '--out', join(first.out, 'report.json')]);
    expect(below).toMatchObject({ code: 3 });
    expect(provider.calls.length).toBe(before);
    expect(readFileSync(first.out, 'utf8')).toBe(first.text);
  });
});
