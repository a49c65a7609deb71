/** What the command line says and does about money, on the store itself and through a server. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { LIMIT_RULES, NO_PRICE } from '../../src/domain/money-rules.ts';
import type { RecordJson } from '../../src/domain/view.ts';
import { demoWorkflow } from '../../src/examples/index.ts';
import { createApp } from '../../src/http/app.ts';
import { listen } from '../../src/http/listen.ts';
import type { Listening } from '../../src/http/listen.ts';
import { openParts } from '../../src/main/open.ts';
import type { Parts } from '../../src/main/open.ts';
import { createTelemetry } from '../../src/main/telemetry.ts';
import { CENT, claimNext } from '../support/calls.ts';
import { runHere } from './run.ts';

let dir: string;
let parts: Parts;
let server: Listening;
const flagsOf: Record<string, string[]> = {};

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'claimcheck-money-'));
  const telemetry = createTelemetry({ level: 'silent', process: 'test' });
  parts = await openParts({ dataDir: dir, workflows: [demoWorkflow], model: null, telemetry });
  server = await listen({
    app: createApp({ engine: parts.engine, log: telemetry.log }),
    host: '127.0.0.1',
    port: 0,
  });
  const { key } = await parts.engine.createKey({ tenant: 'default', actor: 'local:test' }, 'test');
  flagsOf['local'] = ['--data-dir', dir];
  flagsOf['http'] = ['--url', server.url, '--api-key', key];
});
afterAll(async () => {
  await server.close();
  await parts.close();
  rmSync(dir, { recursive: true, force: true });
});
afterEach(async () => {
  const { jobs } = await parts.store.jobs.list({
    tenant: 'default',
    filter: { status: 'queued' },
    after: null,
    limit: 50,
  });
  for (const { jobId } of jobs) {
    const command = { type: 'cancel' as const, actor: 'test', reason: 'over' };
    await parts.store.jobs.act({ tenant: 'default', jobId, command });
  }
});

describe.each(['local', 'http'])('with the %s desk', (name) => {
  const command = (...args: string[]) => runHere([...args, ...(flagsOf[name] ?? [])]);
  const recordOf = async (id: string) =>
    JSON.parse((await command('show', id, '--json')).stdout) as RecordJson;

  /** A dead letter with a call that was paid and one in doubt. */
  async function stopped(rule: string, ...args: string[]): Promise<string> {
    const enqueued = await command('enqueue', 'demo', '-i', '{"mode":"success"}', ...args);
    expect(enqueued).toMatchObject({ code: 0, stderr: '' });
    const attempt = await claimNext(parts);
    await attempt.answer((await attempt.begin(5 * CENT))!, 2 * CENT);
    await attempt.begin(10 * CENT);
    await attempt.fail({ code: 'spending_limit', rule });
    return enqueued.stdout.trim();
  }

  test('a job shows its calls with their money and doubts, and what to do next', async () => {
    const id = await stopped(LIMIT_RULES.job, '--spending-limit', '0.25');
    const { stdout } = await command('show', id);
    expect(stdout).toMatch(/^ {2}CALL +ATTEMPT +MODEL +TOKENS +MS +COST +ENDED$/m);
    expect(stdout).toMatch(
      /^ {2}1 +1 +openai\/gpt-5 \(answered by gpt-5-2026-01-01\) +10 > 20 +123 +\$0\.02 +stop$/m,
    );
    expect(stdout).toMatch(/^ {2}2 +1 +openai\/gpt-5 +unknown, \$0\.10 held +cut off$/m);
    expect(stdout).toMatch(/^Decision +The job's own limit, \$0\.25, has no room for the next call/m);
    expect(stdout).toContain(`claimcheck replay ${id} --raise-limit USD --reason "..."`);
    expect(stdout).toContain(`claimcheck resolve ${id}\n`);
    const out = join(dir, `out-${name}`);
    await command('show', id, '--out', out);
    expect(JSON.parse(readFileSync(join(out, 'evidence', 'attempt-1-call-1.json'), 'utf8'))).toMatchObject({
      raw: 'an answer',
    });
  });

  test('the limit that stopped a job is raised and the job replayed by one command', async () => {
    const id = await stopped(LIMIT_RULES.job, '--spending-limit', '0.25');
    const raise = (usd: string) => command('replay', id, '--raise-limit', usd, '--reason', 'worth it');
    expect(await raise('0.25')).toMatchObject({
      code: 2,
      stderr: 'The limit is $0.25: give more than that to --raise-limit.\n',
    });
    expect((await raise('much')).stderr).toContain('It takes a number of dollars from 0 to 1000000');
    expect((await recordOf(id)).status).toBe('dead_letter');
    expect((await raise('$1.5')).stdout).toBe(`${id} is queued again. It may cost $1.50 now.\n`);
    expect(await recordOf(id)).toMatchObject({ status: 'queued', limits: { spending_usd: 1.5 } });
  });

  test('so is the limit of a workflow’s day, or of the day', async () => {
    const today = new Date().toISOString().slice(0, 10);
    for (const [rule, words, account, ...flags] of [
      [LIMIT_RULES.workflow, 'demo', 'demo', '-w', 'demo'],
      [LIMIT_RULES.day, 'All workflows together', `all, ${today}`],
    ] as const) {
      const set = await command('spending', 'set-limit', '0.01', ...flags, '-r', 'too much');
      expect(set.stdout).toBe(`${words} may cost $0.01 in a day, from now on.\n`);
      await command('spending', 'set-limit', '5', ...flags, '-r', 'for now');
      const id = await stopped(rule);
      const lower = await command('replay', id, '--raise-limit', '4', '-r', 'worth it');
      expect(lower.stderr).toBe('The limit is $5.00: give more than that to --raise-limit.\n');
      const raised = await command('replay', id, '--raise-limit', '20', '-r', 'worth it');
      expect(raised.stdout).toBe(`${id} is queued again. ${words} may cost $20.00 in a day, from now on.\n`);
      const table = (await command('spending')).stdout;
      expect(table).toMatch(/^ACCOUNT +SPENT +HELD +LIMIT +SET BY$/m);
      expect(table).toMatch(new RegExp(`^${account} +\\$\\S+ +\\$\\S+ +\\$20\\.00 +(key|local):\\S+$`, 'm'));
      const lost = await command('replay', id, '--raise-limit', '30', '-r', 'again');
      expect(lost).toMatchObject({ code: 1, stdout: '' });
      await command('cancel', id, '-r', 'over');
      expect((await command('spending', 'set-limit', 'none', ...flags, '-r', 'no matter')).stdout).toBe(
        `${words} may cost what they like in a day, from now on.\n`,
      );
    }
    const { accounts } = JSON.parse((await command('spending', '--json')).stdout) as {
      accounts: { scope: string; limit_usd: number | null }[];
    };
    expect(accounts).toMatchObject([
      { scope: 'day', limit_usd: null, limit_from: 'person' },
      { scope: 'workflow', name: 'demo', limit_usd: null },
    ]);
    const unknown = await command('spending', 'set-limit', '1', '-w', 'dem', '-r', 'x');
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toMatch(/^invalid_request: \/name: must be the name of a workflow: /);
  });

  test('where no limit here stopped a job, there is none to raise', async () => {
    const id = await stopped(NO_PRICE);
    const raised = await command('replay', id, '--raise-limit', '9', '-r', 'x');
    expect(raised).toMatchObject({ code: 1, stdout: '' });
    expect(raised.stderr).toBe(`It was no limit here that stopped ${id}: see what it says with show.\n`);
    await command('replay', id, '-r', 'priced now');
    const again = await command('replay', id, '--raise-limit', '9', '-r', 'x');
    expect(again.stderr).toBe(`${id} did not stop at a spending limit; replay it without --raise-limit.\n`);
  });

  test('calls in doubt are listed, and settled once', async () => {
    const id = await stopped(LIMIT_RULES.job, '--spending-limit', '1');
    const listed = await command('resolve', id);
    expect(listed.stdout).toMatch(
      /^CALL +ATTEMPT +MODEL +STARTED +HELD\b.*\n2 +1 +openai\/gpt-5 +\S+Z +\$0\.10$/m,
    );
    expect(listed.stderr).toBe(
      `Settle one with: claimcheck resolve ${id} --call N --cost USD --reason "..."\n`,
    );
    const { calls } = JSON.parse((await command('resolve', id, '--json')).stdout) as {
      calls: { n: number }[];
    };
    expect(calls.map(({ n }) => n)).toEqual([2]);
    for (const wrong of [
      ['--call', '2'],
      ['--cost', '1'],
      ['--call', '2', '--cost', '1'],
    ]) {
      expect((await command('resolve', id, ...wrong)).code).toBe(2);
    }
    const settle = ['resolve', id, '--call', '2', '--cost', '0.03', '--reason', 'the invoice'];
    expect((await command(...settle)).stdout).toBe(
      `Call 2 of ${id} cost $0.03; what was held for it is let go.\n`,
    );
    expect((await recordOf(id)).spending).toEqual({ limit_usd: 1, spent_usd: 0.05, reserved_usd: 0 });
    const twice = await command(...settle);
    expect(twice).toMatchObject({ code: 1, stdout: '' });
    expect(twice.stderr).toMatch(/^call_not_unknown: /);
    expect((await command('resolve', id)).stderr).toBe(`No call of ${id} is in doubt.\n`);
    expect((await command('show', id)).stdout).toMatch(/\$0\.03 \(settled\)/);
  });

  test('a replay from evidence says so in the history', async () => {
    const id = await stopped(LIMIT_RULES.job, '--spending-limit', '1');
    await command('replay', id, '--from-evidence', '-r', 'the parser was mended');
    expect((await recordOf(id)).events.at(-1)).toMatchObject({
      type: 'queued',
      detail: { from_evidence: true },
    });
  });
});
