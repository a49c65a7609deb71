import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { EXIT, Problem } from '../cli/problem.ts';
import { DEFAULT_SETTINGS } from '../engine/settings.ts';
import { GROUPS, SETTINGS, allowedOf, flagOf, variableOf } from './setting-table.ts';
import type { Setting } from './setting-table.ts';
import {
  engineSettings,
  isolatedEnvironment,
  readSettings,
  unknownSettings,
  workerEnvironment,
} from './settings.ts';

function problemOf(act: () => unknown): Problem {
  try {
    act();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

test('without any setting, the defaults are those that the engine and the contract have', () => {
  const settings = readSettings({}, { PATH: '/bin' });
  expect(settings).toMatchObject({
    host: '127.0.0.1',
    port: 8484,
    dataDir: '.claimcheck',
    bootstrapKey: null,
    workflows: null,
    leaseMs: 10_000,
    concurrency: 100,
    maxBodyBytes: 1024 * 1024,
  });
  expect(engineSettings(settings)).toEqual(DEFAULT_SETTINGS);
});

test('a flag outweighs a variable, and a variable the default', () => {
  const env = { CLAIMCHECK_PORT: '9000', CLAIMCHECK_LEASE_MS: '2000' };
  expect(readSettings({ port: '9001' }, env)).toMatchObject({ port: 9001, leaseMs: 2000 });
});

test('amounts are written in dollars, and prices in a file', () => {
  const dir = mkdtempSync(join(tmpdir(), 'claimcheck-prices-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, 'prices.json');
  const price = { model: 'openai/gpt-5', from: '2026-01-01', usd_per_million: { input: 1.25, output: 10 } };
  writeFileSync(file, JSON.stringify({ prices: [price] }));
  const env = {
    CLAIMCHECK_PRICES: file,
    CLAIMCHECK_DAY_LIMIT_USD: '50',
    CLAIMCHECK_JOB_SPENDING_CAP_USD: '0.25',
  };
  expect(engineSettings(readSettings({}, env))).toMatchObject({
    prices: [{ model: 'openai/gpt-5', input: 1_250_000_000, output: 10_000_000_000 }],
    dayLimit: 50_000_000_000,
    jobSpendingCap: 250_000_000,
  });
  writeFileSync(
    file,
    JSON.stringify({
      prices: [
        { ...price, model: 'gpt-5' },
        { ...price, form: 1 },
      ],
    }),
  );
  expect(problemOf(() => engineSettings(readSettings({}, env)))).toMatchObject({
    message: `CLAIMCHECK_PRICES: ${file} /prices/0/model must be a provider and a model, as "openai/gpt-5" (and 1 more).`,
    exitCode: EXIT.usage,
  });
  const gone = { CLAIMCHECK_PRICES: join(dir, 'none.json') };
  expect(problemOf(() => engineSettings(readSettings({}, gone))).message).toBe(
    `CLAIMCHECK_PRICES names ${gone.CLAIMCHECK_PRICES}: there is no such file.`,
  );
});

test.each(['-1', '1e3', '$5', '0.0000000001', '2000000'])('%s is no amount of dollars', (text) => {
  expect(problemOf(() => readSettings({}, { CLAIMCHECK_DAY_LIMIT_USD: text })).message).toBe(
    `CLAIMCHECK_DAY_LIMIT_USD is "${text}"; it takes a number of dollars from 0 to 1000000, with at most 9 decimals.`,
  );
});

test('an empty variable counts as unset', () => {
  expect(readSettings({}, { CLAIMCHECK_PORT: '', CLAIMCHECK_DATABASE_URL: '' }).port).toBe(8484);
});

test('a variable that is no setting is told, with the one that was meant, and is no reason to stop', () => {
  const env = { CLAIMCHECK_LEASE_M: '1', CLAIMCHECK_QQQQQQQQQ: '1', PATH: '/bin', CLAIMCHECK_PORT: '1' };
  expect(unknownSettings(env)).toEqual([
    'CLAIMCHECK_LEASE_M is no setting of Claimcheck; did you mean CLAIMCHECK_LEASE_MS?',
    'CLAIMCHECK_QQQQQQQQQ is no setting of Claimcheck',
  ]);
});

test.each([
  [
    { CLAIMCHECK_LEASE_MS: '10s' },
    'CLAIMCHECK_LEASE_MS is "10s"; it takes a whole number from 100 to 3600000 (milliseconds).',
  ],
  [{ CLAIMCHECK_PORT: '65536' }, 'CLAIMCHECK_PORT is "65536"; it takes a whole number from 0 to 65535.'],
  [{ CLAIMCHECK_PORT: '-1' }, 'CLAIMCHECK_PORT is "-1"; it takes a whole number from 0 to 65535.'],
  [
    { CLAIMCHECK_PORT: 'tcp://10.0.0.1:8484' },
    'CLAIMCHECK_PORT is "tcp://10.0.0.1:8484"; it takes a whole number from 0 to 65535. (Kubernetes sets it for a service of this name: set enableServiceLinks: false.)',
  ],
  [
    { CLAIMCHECK_LOG_LEVEL: 'loud' },
    'CLAIMCHECK_LOG_LEVEL is "loud"; it takes one of debug, info, warn, error, silent.',
  ],
  [
    { CLAIMCHECK_URL: 'localhost:8484' },
    'CLAIMCHECK_URL is "localhost:8484"; it takes an http:// or https:// address without a user, a query or a fragment.',
  ],
  [
    { CLAIMCHECK_DATABASE_URL: 'mysql://me:secret@db' },
    'CLAIMCHECK_DATABASE_URL is wrong; it takes a postgres:// address.',
  ],
  [
    { CLAIMCHECK_CRASH_POINT: 'settle.comitted' },
    'CLAIMCHECK_CRASH_POINT is "settle.comitted"; it takes the name of a crash point, and `:3` behind it for the third time.',
  ],
  [
    { CLAIMCHECK_CRASH_POINT: 'settle.committed:0' },
    'CLAIMCHECK_CRASH_POINT is "settle.committed:0"; it takes the name of a crash point, and `:3` behind it for the third time.',
  ],
  [
    { CLAIMCHECK_BLOBS_URL: 's3://bucket' },
    'CLAIMCHECK_BLOBS_URL is set, but this version has only local files; unset it.',
  ],
])('%o is refused in one sentence', (env, sentence) => {
  const problem = problemOf(() => readSettings({}, env));
  expect(problem.message).toBe(sentence);
  expect(problem.exitCode).toBe(EXIT.usage);
});

const FAULTS = {
  CLAIMCHECK_CRASH_POINT: 'settle.committed:3',
  CLAIMCHECK_ATTEMPT_LOG: 'attempts.jsonl',
};

test.each(Object.entries(FAULTS))('%s is for tests, and refused in production', (name, value) => {
  expect(Object.values(readSettings({}, { [name]: value }))).toContain(value);
  const problem = problemOf(() => readSettings({}, { [name]: value, NODE_ENV: 'production' }));
  expect(problem.message).toBe(
    `${name} is for tests of faults and is refused where NODE_ENV is production; unset it.`,
  );
  expect(problem.exitCode).toBe(EXIT.usage);
  expect(readSettings({}, { [name]: '', NODE_ENV: 'production' })).toMatchObject({ crashPoint: null });
});

test('a wrong flag is named as the flag it is', () => {
  const problem = problemOf(() => readSettings({ leaseMs: '5' }, {}));
  expect(problem.message).toMatch(/^--lease-ms is "5"; it takes/);
});

const KEY_OF_32 = '0123456789abcdefghijklmnopqrstuv';

test.each([
  { CLAIMCHECK_BOOTSTRAP_KEY: KEY_OF_32.slice(1) },
  { CLAIMCHECK_BOOTSTRAP_KEY: ` ${KEY_OF_32}` },
  { CLAIMCHECK_BOOTSTRAP_KEY: `${KEY_OF_32}\n` },
  { CLAIMCHECK_BOOTSTRAP_KEY: `${KEY_OF_32}\u00e9` },
])('a bootstrap key that no client could send as it is is refused without being shown: %j', (env) => {
  const { message, exitCode } = problemOf(() => readSettings({}, env));
  expect(message).toBe(
    'CLAIMCHECK_BOOTSTRAP_KEY is wrong; it takes 32 or more printable ASCII characters, none of them a blank at either end.',
  );
  expect(exitCode).toBe(EXIT.usage);
});

test('an API key that spans lines, and an address with a password, are refused without being shown', () => {
  const { message } = problemOf(() => readSettings({}, { CLAIMCHECK_API_KEY: 'ck_sesame\nck_open' }));
  expect(message).toBe(
    'CLAIMCHECK_API_KEY is wrong; it takes printable ASCII characters, none of them a blank at either end.',
  );
  for (const url of [
    'http://user:sesame@127.0.0.1:8484',
    'http://sesame@127.0.0.1',
    'http://user:sesame@127.0.0.1:99999',
    'ftp://user:sesame@127.0.0.1',
    'http://127.0.0.1/?key=sesame',
    'http://127.0.0.1/#sesame',
  ]) {
    expect(problemOf(() => readSettings({ url }, {})).message).toBe(
      '--url is wrong; it takes an http:// or https:// address without a user, a query or a fragment.',
    );
  }
});

test('a key and an address as they are meant pass unchanged', () => {
  const flags = { bootstrapKey: `${KEY_OF_32} ~`, apiKey: 'k', url: 'https://queue.example/base/' };
  expect(readSettings(flags, {})).toMatchObject(flags);
});

test("a worker's process inherits everything but the keys", () => {
  const env = { PATH: '/bin', CLAIMCHECK_PORT: '1', CLAIMCHECK_BOOTSTRAP_KEY: 'a', CLAIMCHECK_API_KEY: 'b' };
  expect(workerEnvironment(env)).toEqual({ PATH: '/bin', CLAIMCHECK_PORT: '1' });
});

test('an isolated process inherits neither the keys nor the way to the database', () => {
  const env = {
    PATH: '/bin',
    CLAIMCHECK_API_KEY: 'b',
    CLAIMCHECK_DATABASE_URL: 'postgres://user:secret@host/db',
  };
  expect(isolatedEnvironment(env)).toEqual({ PATH: '/bin' });
});

const DOCUMENT = readFileSync(new URL('../../docs/settings.md', import.meta.url), 'utf8');

test.each(Object.entries<Setting>(SETTINGS))(
  'docs/settings.md has %s as the table has it',
  (key, setting) => {
    expect(DOCUMENT).toContain(documentRow(key, setting));
  },
);

test('docs/settings.md has no setting that there is not, and every group', () => {
  const named = new Set(DOCUMENT.match(/CLAIMCHECK_[A-Z_]+/g));
  expect([...named].toSorted()).toEqual(Object.keys(SETTINGS).map(variableOf).toSorted());
  for (const { title } of Object.values(GROUPS)) expect(DOCUMENT).toContain(`## ${title}\n`);
});

function documentRow(key: string, setting: Setting): string {
  const standard = setting.default === null ? 'unset' : `\`${setting.default}\``;
  return `| \`${variableOf(key)}\` | \`${flagOf(key)}\` | ${allowedOf(setting)} | ${standard} | ${setting.doc} |`;
}
