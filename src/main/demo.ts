/**
 * `demo`: the six cases, for a person to see. Each runs the `demo` workflow on a real store in a temporary directory and
 * is judged by what the job's record says; the restart case kills a real worker process.
 */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { RequestedLimits } from '../domain/policy.ts';
import type { RecordJson } from '../domain/view.ts';
import { demoWorkflow } from '../examples/index.ts';
import type { ToWorker } from './channel.ts';
import { openClaimcheck } from './claimcheck.ts';
import type { Claimcheck } from './claimcheck.ts';

/** Short, so that the demo need not wait long for the killed worker's job; processes start well within it. */
const LEASE_MS = 600;
const SETTINGS = { leaseMs: LEASE_MS, backoff: { baseMs: 50, capMs: 200 } };
const WAIT_MS = 30_000;

interface Stage {
  queue: Claimcheck;
  dataDir: string;
}

interface DemoCase {
  name: string;
  /** What the line has to say: `<...>` stands for any word, `<n>` for a number. */
  promised: string;
  play: (stage: Stage) => Promise<string>;
}

const CASES: readonly DemoCase[] = [
  {
    name: 'success',
    promised: 'status=completed attempts=1 artifact=artifacts/<...>.json',
    play: async ({ queue }) => {
      const record = await played(queue, { mode: 'success' });
      return `${outcome(record)} artifact=${record.artifact?.uri ?? 'none'}`;
    },
  },
  {
    name: 'slow',
    promised: 'status=dead_letter attempts=2 errors=timeout,timeout elapsed_ms=<n>',
    play: async ({ queue }) => {
      const record = await played(queue, { mode: 'slow', ms: 5000 }, { timeoutMs: 50, maxAttempts: 2 });
      const elapsedMs = Date.parse(record.finished_at ?? '') - Date.parse(record.created_at);
      return `${outcome(record)} errors=${errors(record)} elapsed_ms=${elapsedMs}`;
    },
  },
  {
    name: 'malformed',
    promised: 'status=dead_letter attempts=1 error=malformed_output',
    play: async ({ queue }) => {
      const record = await played(queue, { mode: 'malformed' });
      return `${outcome(record)} error=${errors(record)}`;
    },
  },
  {
    name: 'restart',
    promised: 'recovered=1 status=completed events=queued,running,requeued_after_restart,running,completed',
    play: restart,
  },
  { name: 'polling', promised: 'states=queued>running>completed', play: polling },
  {
    name: 'retry-exhaustion',
    promised:
      'status=dead_letter attempts=3 errors=upstream_unavailable,upstream_unavailable,upstream_unavailable',
    play: async ({ queue }) => {
      const record = await played(queue, { mode: 'always_fail' }, { maxAttempts: 3 });
      return `${outcome(record)} errors=${errors(record)}`;
    },
  },
];

/** Plays the cases one by one and writes a line for each. */
export async function runDemo({ write }: { write: (line: string) => void }): Promise<{ passed: boolean }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'claimcheck-demo-'));
  try {
    const queue = await openClaimcheck({ dataDir, workflows: [demoWorkflow], settings: SETTINGS });
    try {
      return await playAll({ queue, dataDir }, write);
    } finally {
      await queue.close();
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function playAll(stage: Stage, write: (line: string) => void): Promise<{ passed: boolean }> {
  let passed = true;
  for (const { name, promised, play } of CASES) {
    const came = await play(stage).catch((error: unknown) => `the error: ${String(error)}`);
    const verdict = judge(name, promised, came);
    passed &&= verdict.passed;
    write(verdict.line);
  }
  return { passed };
}

/** The line of a case, and whether what came is what was promised. */
export function judge(name: string, promised: string, came: string): { passed: boolean; line: string } {
  const pattern = promised.replaceAll('.', '\\.').replaceAll('<\\.\\.\\.>', '\\S+').replaceAll('<n>', '\\d+');
  const passed = new RegExp(`^${pattern}$`).test(came);
  return {
    passed,
    line: passed ? `PASS ${name} ${came}` : `FAIL ${name} expected: ${promised}; came: ${came}`,
  };
}

/** The record of a job that a worker in this process has ended. */
async function played(queue: Claimcheck, input: object, limits: RequestedLimits = {}): Promise<RecordJson> {
  const { job_id: jobId } = await queue.enqueue('demo', input, { limits });
  const worker = queue.worker();
  worker.start();
  await queue.wait(jobId, { waitMs: WAIT_MS });
  await worker.stop();
  return queue.record(jobId);
}

/** What a client sees that asks for the status again and again, from before a worker is there. */
async function polling({ queue }: Stage): Promise<string> {
  const { job_id: jobId } = await queue.enqueue('demo', { mode: 'slow', ms: 300 });
  const worker = queue.worker();
  const states: string[] = [];
  const end = performance.now() + WAIT_MS;
  for (
    let last = '';
    last !== 'completed' && last !== 'dead_letter' && performance.now() < end;
    await sleep(10)
  ) {
    const { status } = await queue.status(jobId);
    if (status !== last) states.push(status);
    if (last === '') worker.start();
    last = status;
  }
  await worker.stop();
  return `states=${states.join('>')}`;
}

/** A worker process takes the job and is killed with it; the next one ends it. */
async function restart({ queue, dataDir }: Stage): Promise<string> {
  const { job_id: jobId } = await queue.enqueue(
    'demo',
    { mode: 'slow', ms: 500 },
    { limits: { maxAttempts: 2 } },
  );
  const doomed = startProcess(dataDir);
  await running(queue, jobId, doomed);
  await killed(doomed);
  const heir = startProcess(dataDir);
  await Promise.race([queue.wait(jobId, { waitMs: WAIT_MS }), once(heir, 'exit')]);
  await killed(heir);
  const record = await queue.record(jobId);
  const events = record.events.map((event) => event.type);
  const recovered = events.filter((type) => type === 'requeued_after_restart').length;
  return `recovered=${recovered} status=${record.status} events=${events.join(',')}`;
}

function startProcess(dataDir: string): ChildProcess {
  const ending = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const entry = fileURLToPath(new URL(`worker-process.${ending}`, import.meta.url));
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('CLAIMCHECK_'));
  const child = fork(entry, [], {
    env: Object.fromEntries(own),
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const flags = { dataDir, leaseMs: String(LEASE_MS), logLevel: 'silent' };
  child.send({
    type: 'start',
    start: { flags, demo: true },
    beatMs: 1000,
    nonce: 'demo',
  } satisfies ToWorker);
  return child;
}

/** @throws Error where the process ends first, or the job is not started in time */
async function running(queue: Claimcheck, jobId: string, child: ChildProcess): Promise<void> {
  const end = performance.now() + WAIT_MS;
  while ((await queue.status(jobId)).status !== 'running') {
    if (child.exitCode !== null) throw new Error(`the worker process ended with exit code ${child.exitCode}`);
    if (performance.now() > end) throw new Error(`the worker process did not start the job in ${WAIT_MS} ms`);
    await sleep(10);
  }
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

function outcome({ status, attempt }: RecordJson): string {
  return `status=${status} attempts=${attempt}`;
}

function errors(record: RecordJson): string {
  return record.errors.map((error) => error.code).join(',');
}
