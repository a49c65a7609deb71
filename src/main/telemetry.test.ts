import { expect, test } from 'vitest';
import type { Moved } from '../ports/job-store.ts';
import type { Log } from '../ports/telemetry.ts';
import { createTelemetry } from './telemetry.ts';

function recording(level = 'info') {
  const lines: string[] = [];
  const telemetry = createTelemetry({ level, process: 'api', write: (line) => lines.push(line) });
  const read = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { telemetry, log: telemetry.log, lines, read };
}

const MOVED: Moved = {
  jobId: 'job_1',
  tenant: 'default',
  workflow: 'demo',
  event: 'dead_letter',
  status: 'dead_letter',
  attempt: 2,
  code: 'timeout',
  worker: 'box-1',
  revokedSession: null,
  due: null,
};

test('a transition is one line with job, attempt, worker and code', () => {
  const { telemetry, lines, read } = recording();
  telemetry.moved(MOVED);
  expect(lines).toHaveLength(1);
  expect(read()[0]).toMatchObject({
    level: 'info',
    process: 'api',
    msg: 'dead_letter',
    job_id: 'job_1',
    attempt: 2,
    worker: 'box-1',
    code: 'timeout',
  });
});

test('fields that are not listed never reach a line, whoever passes them along', () => {
  const { log, lines } = recording();
  log.child({ prompt: 'sesame' }).error(
    {
      job_id: 'job_1',
      authorization: 'Bearer sesame',
      input: { text: 'sesame' },
      worker: { name: 'sesame' },
    },
    'the provider failed',
  );
  expect(lines[0]).toContain('job_1');
  expect(lines[0]).not.toContain('sesame');
});

test('a number or a boolean may have any name, so that a workflow can log what it counts', () => {
  const { log, read } = recording();
  log.info({ page: 3, cached: true, text: 'sesame' }, 'read');
  expect(read()[0]).toMatchObject({ page: 3, cached: true });
  expect(read()[0]).not.toHaveProperty('text');
});

test('of an error, its kind, its code and its place are logged, and not what it says', () => {
  const { log, lines, read } = recording();
  const error = Object.assign(new TypeError('the key is sesame'), { code: 'E_KEY' });
  log.error({ error }, 'it failed');
  expect(lines[0]).not.toContain('sesame');
  expect(read()[0]).toMatchObject({ error_name: 'TypeError', error_code: 'E_KEY' });
  expect(read()[0]?.['stack']).toContain('telemetry.test');
});

test('a line of what an error says is not taken for its place', () => {
  const { log, lines, read } = recording();
  log.error({ error: new Error('a provider said:\n    at sesame') }, 'it failed');
  expect(lines[0]).not.toContain('sesame');
  expect(read()[0]?.['stack']).toContain('telemetry.test');
});

test('line breaks and terminal escapes in a value stay inside one escaped line', () => {
  const { log, lines, read } = recording();
  const nasty = 'a\nb\u001b[31m\u007f\u009b2J\u2028\u202e\u061c\u200e\u200f\ufeff\u{e0041}c';
  log.warn({ worker: nasty }, nasty);
  expect(lines).toHaveLength(1);
  expect(lines[0]?.trimEnd()).toMatch(/^[\x20-\x7e]*$/);
  expect(read()[0]).toMatchObject({ worker: nasty, msg: nasty });
});

test('a long text is cut', () => {
  const { log, lines } = recording();
  log.info({ worker: 'x'.repeat(100_000) }, 'y'.repeat(100_000));
  expect(lines[0]?.length).toBeLessThan(2_000);
});

test('a workflow in plain JavaScript may call it with anything, and a text alone is the message', () => {
  const { log, read, lines } = recording();
  const loose = log as unknown as Record<'info' | 'child', (...given: unknown[]) => Log>;
  const hostile = new Proxy(
    {},
    {
      ownKeys: () => {
        throw new Error('no');
      },
    },
  );
  const odd = Object.assign(new Error('sesame'), { name: { toString: () => 'sesame' }, stack: hostile });
  loose.info('just text', { page: 1 });
  loose.info(undefined, 'no fields');
  for (const fields of [null, 5, 10n, Symbol('s'), hostile, () => 1, [1], Buffer.alloc(9), { error: odd }])
    loose.info(fields, hostile);
  loose.info({ big: 10n, job_id: ['a', hostile, 'b'] });
  loose.info({
    get page() {
      throw new Error('no');
    },
  });
  loose.info();
  loose.child('x').info({}, 'child');
  expect(read().map(({ msg }) => msg)).toEqual(['just text', 'no fields', ...Array(12).fill(''), 'child']);
  expect(read()[11]).toMatchObject({ job_id: 'a | b' });
  expect(lines.join('')).not.toContain('sesame');
});

test('many fields, and fields of long names, are cut', () => {
  const { log, lines } = recording();
  log.info(Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`n${index}`, index])), 'many');
  log.info({ ['n'.repeat(100_000)]: 1, job_id: Array(100_000).fill('x'.repeat(1_000)) }, 'long');
  for (const line of lines) expect(line.length).toBeLessThan(2_000);
});

test('lines below the level are not written', () => {
  const { telemetry, log, lines } = recording('warn');
  telemetry.moved(MOVED);
  log.info({}, 'quiet');
  expect(lines).toEqual([]);
});
