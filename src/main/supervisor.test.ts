/** The supervisor with real child processes; each child is a few lines of JavaScript. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { EventEmitter, once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { createWakeups } from '../engine/wakeups.ts';
import type { Log } from '../ports/telemetry.ts';
import { createSupervisor } from './supervisor.ts';
import type { SupervisorOptions } from './supervisor.ts';

const dir = mkdtempSync(join(tmpdir(), 'claimcheck-supervisor-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Says its session, with its process id, and then does as the test wants. */
const PROLOGUE = `
  let nonce;
  process.on('message', (message) => { if (message.type === 'start') nonce = message.nonce; });
  const say = (message) => process.send({ ...message, nonce });
  const session = () => say({ type: 'session', session: 'ses_' + String(process.pid).padStart(26, '0') });
  process.on('disconnect', () => process.exit(9));
`;

interface Happened {
  line: string;
  fields: Record<string, unknown>;
}

function supervise(childSource: string, options: Partial<SupervisorOptions> = {}) {
  const entry = join(dir, `${Math.random().toString(36).slice(2)}.mjs`);
  writeFileSync(entry, PROLOGUE + childSource);
  const events = new EventEmitter();
  const happened: Happened[] = [];
  const said: string[] = [];
  const reaped: string[] = [];
  const note = (fields: object, line: string) => {
    happened.push({ line, fields: { ...fields } });
    events.emit('happened');
  };
  const log: Log = { debug: note, info: note, warn: note, error: note, child: () => log };
  const wakeups = createWakeups();
  const supervisor = createSupervisor({
    entry,
    env: {},
    start: { flags: {}, demo: false },
    silenceMs: 60_000,
    startupMs: 60_000,
    stopMs: 60_000,
    wakeups,
    log,
    reap: async (session) => {
      reaped.push(session);
      events.emit('happened');
    },
    say: (line) => {
      said.push(line);
      events.emit('happened');
    },
    ...options,
  });
  onTestFinished(() => supervisor.kill());

  /** Resolves when `condition` holds; it is looked at whenever something happened. */
  async function until(condition: () => boolean): Promise<void> {
    while (!condition()) await once(events, 'happened');
  }
  wakeups.on(() => events.emit('happened'));
  const ends = () => happened.filter(({ line }) => line === 'the worker process ended');
  return { supervisor, wakeups, happened, said, reaped, until, ends };
}

test('a worker that exits is started again, and the jobs of its session are recovered at once', async () => {
  const { supervisor, reaped, until } = supervise(`
    process.on('message', ({ type }) => { if (type === 'start') { session(); process.exit(3); } });
  `);
  supervisor.start();
  await until(() => reaped.length === 2);
  expect(new Set(reaped).size).toBe(2);
});

test('a crash loop is said plainly', async () => {
  const { supervisor, said, until } = supervise('process.exit(3);');
  supervisor.start();
  await until(() => said.length === 1);
  expect(said).toEqual([
    'The worker has ended 5 times in a minute, last with exit code 3; trying again in 1.6 s, then at intervals of up to 10 s. The log says more.',
  ]);
});

test('a worker whose event loop is silent for too long is killed, and another takes its place', async () => {
  const { supervisor, ends, reaped, until } = supervise(
    `process.on('message', ({ type }) => {
      if (type !== 'start') return;
      session();
      setTimeout(() => { for (;;); }, 5);
    });`,
    { silenceMs: 200 },
  );
  supervisor.start();
  await until(() => reaped.length === 1);
  expect(ends()[0]?.fields).toMatchObject({ signal: 'SIGKILL' });
});

test('a worker that beats is left alone, however short the limit', async () => {
  const beats: number[] = [];
  const { supervisor, wakeups, ends, until } = supervise(
    `process.on('message', ({ type, beatMs }) => {
      if (type !== 'start') return;
      session();
      setInterval(() => say({ type: 'beat' }), beatMs);
      let count = 0;
      setInterval(() => say({ type: 'wakeups', wakeups: [{ type: 'moved', jobId: String(++count) }] }), 100);
    });`,
    { silenceMs: 1_000 },
  );
  wakeups.on(() => beats.push(1));
  supervisor.start();
  await until(() => beats.length === 14);
  expect(ends()).toEqual([]);
});

test('exit code 75 starts another at once, without a wait', async () => {
  const { supervisor, happened, reaped, until } = supervise(`
    process.on('message', ({ type }) => { if (type === 'start') { session(); process.exit(75); } });
  `);
  supervisor.start();
  await until(() => reaped.length === 3);
  expect(happened.map(({ line }) => line)).not.toContain('the worker process will be started again');
});

test('stop lets the worker end by itself and starts no other', async () => {
  const { supervisor, ends, reaped, until } = supervise(`
    process.on('message', ({ type }) => {
      if (type === 'start') session();
      if (type === 'stop') process.exit(0);
    });
    setInterval(() => {}, 1000);
  `);
  supervisor.start();
  await supervisor.stop();
  await until(() => reaped.length === 1);
  expect(ends()).toHaveLength(1);
  expect(ends()[0]?.fields).toMatchObject({ exit_code: 0, signal: null });
});

test('a worker that does not stop is killed when its time is over', async () => {
  const { supervisor, wakeups, ends } = supervise(
    `process.on('SIGTERM', () => {});
    process.on('message', ({ type }) => {
      if (type === 'start') say({ type: 'wakeups', wakeups: [{ type: 'moved', jobId: 'up' }] });
    });
    setInterval(() => {}, 1000);`,
    { stopMs: 100 },
  );
  const up = new Promise((resolve) => void wakeups.on(resolve));
  supervisor.start();
  await up;
  await supervisor.stop();
  expect(ends()[0]?.fields).toMatchObject({ signal: 'SIGKILL' });
});

test('wake-ups cross both ways', async () => {
  const heard: unknown[] = [];
  const { supervisor, wakeups, until } = supervise(`
    process.on('message', (message) => {
      if (message.type === 'start') say({ type: 'wakeups', wakeups: [{ type: 'moved', jobId: 'up' }] });
      if (message.type === 'wakeups') say({ type: 'wakeups', wakeups: [{ type: 'moved', jobId: JSON.stringify(message.wakeups) }] });
    });
  `);
  wakeups.on((wakeup) => heard.push(wakeup));
  supervisor.start();
  await until(() => heard.length === 1);
  wakeups.emit({ type: 'queued' });
  await until(() => heard.length === 3);
  expect(heard[2]).toEqual({ type: 'moved', jobId: '[{"type":"queued"}]' });
});

test('what others in the worker process say over the channel changes nothing, and is told of once', async () => {
  const { supervisor, happened, reaped, until } = supervise(`
    process.on('message', ({ type }) => {
      if (type !== 'start') return;
      session();
      const forged = 'ses_' + '9'.repeat(26);
      for (const message of [null, 'x', 5, [], {}, { type: 'session', session: forged }]) process.send(message);
      for (const strange of ['garbage', null, { toString: 1 }]) say({ type: 'session', session: strange });
      for (const strange of [null, 'queued', [{ type: 'evil' }], [null], [{ type: 'moved', jobId: 5 }]])
        say({ type: 'wakeups', wakeups: strange });
      say({ type: 'wakeups', wakeups: Array(100_000).fill({ type: 'queued' }) });
      process.exit(3);
    });
  `);
  supervisor.start();
  await until(() => reaped.length === 1);
  expect(reaped[0]).toMatch(/^ses_0+\d+$/);
  const told = happened.filter(({ line }) => line.includes('speaks over its channel'));
  expect(told).toHaveLength(1);
});

test('where the store cannot take the recovery, the supervisor goes on and says so', async () => {
  const { supervisor, happened, until } = supervise(
    `process.on('message', ({ type }) => { if (type === 'start') { session(); process.exit(1); } });`,
    { reap: () => Promise.reject(new Error('the disk is away')) },
  );
  supervisor.start();
  await until(
    () => happened.filter(({ line }) => line === "the ended worker's jobs wait for their lease").length === 2,
  );
});
