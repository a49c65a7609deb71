/** Smoke checks of a provider of our own, with a real socket. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, vi } from 'vitest';
import { SMOKE_EXAMPLE } from '../../src/cli/smoke-example.ts';
import type { SmokeReport } from '../../src/domain/smoke/report.ts';
import type { ProviderReply } from '../../src/testkit/provider/replies.ts';
import { startFakeProvider } from '../../src/testkit/provider/server.ts';
import type { FakeProvider } from '../../src/testkit/provider/server.ts';
import { runHere, tempDir } from './run.ts';

export const KEY = 'sk-live-0123456789abcdefXYZ';
export const ANSWER = { total: 80, currency: 'EUR' };

export type Pins = Record<string, unknown>;

export let provider: FakeProvider;
beforeAll(async () => {
  provider = await startFakeProvider();
});
afterAll(() => provider.close());
beforeEach(() => vi.stubEnv('SMOKE_KEY', KEY));
afterEach(() => vi.unstubAllEnvs());

/** Pins of one call to the fake provider. */
export function pinsFor(changed: Pins = {}): Pins {
  return {
    ...SMOKE_EXAMPLE,
    base_url: `${provider.url}/v1`,
    api_key_env: 'SMOKE_KEY',
    redact: [],
    calls: 1,
    ...changed,
  };
}

export const APIS = {
  'openai responses': { provider: 'openai', api: 'responses' },
  'openai chat': { provider: 'openai', api: 'chat' },
  anthropic: { provider: 'anthropic', api: 'messages', model: 'claude-sonnet-4-5-20250929' },
  'openai-compatible': { provider: 'openai-compatible', api: 'chat', model: 'llama-0613' },
} satisfies Record<string, Pins>;

interface Checked {
  code: number | null;
  stdout: string;
  stderr: string;
  out: string;
  /** Of the report's file; empty where there is none. */
  text: string;
  report: SmokeReport;
  /** How many calls the provider got by it. */
  calls: number;
}

export async function check(
  pins: unknown,
  replies: ProviderReply[] = [],
  flags: string[] = [],
): Promise<Checked> {
  const dir = tempDir();
  const [file, out] = [join(dir, 'pins.json'), join(dir, 'report.json')];
  writeFileSync(file, typeof pins === 'string' ? pins : JSON.stringify(pins));
  const before = provider.calls.length;
  provider.script(...(replies.length === 0 ? [{ reply: 'ok' as const, json: ANSWER }] : replies));
  const finished = await runHere(['smoke', file, '--out', out, ...flags]);
  const text = existsSync(out) ? readFileSync(out, 'utf8') : '';
  const report = (text === '' ? null : JSON.parse(text)) as SmokeReport;
  return { ...finished, out, text, report, calls: provider.calls.length - before };
}
