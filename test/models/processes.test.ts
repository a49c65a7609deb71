/** Calls to models across real processes, of the built package: one that is killed, and one of an isolated workflow. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test, vi } from 'vitest';
import { DEFAULT_BACKOFF, DEFAULT_CAPS } from '../../src/domain/policy.ts';
import type { Job } from '../../src/domain/record.ts';
import { DEFAULT_TENANT } from '../../src/engine/engine.ts';
import type { RecordJson } from '../../src/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/store.ts';
import { startFakeProvider } from '../../src/testing.ts';
import { endOf, serve, tempDir } from '../cli/run.ts';
import { eventsOf } from './event-stream.ts';
import type { StreamedEvent } from './event-stream.ts';

// Processes that start and load take their time on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

const WORKFLOWS = fileURLToPath(new URL('workflows.ts', import.meta.url));

/** The job as it is in the store of this directory. */
async function jobIn(dir: string, jobId: string): Promise<Job> {
  const rules = { backoff: DEFAULT_BACKOFF, caps: DEFAULT_CAPS };
  const store = await openSqliteStore({ path: join(dir, 'claimcheck.db'), rules });
  const job = await store.jobs.job({ tenant: DEFAULT_TENANT, jobId });
  await store.close();
  return job as Job;
}

test('kill -9 after an answer costs no second one; clients see its text live, and a reset', async () => {
  const provider = await startFakeProvider({ script: [{ reply: 'ok', text: 'Once upon a time.' }] });
  const dir = tempDir();
  const server = await serve(['--workflows', WORKFLOWS, '--data-dir', dir], { cwd: dir });
  const asked = await server.ask('/ai-jobs', { workflow: 'tell', input: { url: provider.url } });
  const jobId = String(asked.json['job_id']);
  const path = `/ai-jobs/${jobId}`;
  const headers = { authorization: `Bearer ${server.key}`, accept: 'text/event-stream' };
  const seen: StreamedEvent[] = [];
  const streamed = (async () => {
    for await (const event of eventsOf(await fetch(`${server.url}${path}/events`, { headers })))
      seen.push(event);
  })();

  process.kill(await pidOf(async () => (await server.ask(`${path}/record`)).json), 'SIGKILL');
  await streamed;
  const job = await jobIn(dir, jobId);
  expect(job.status).toBe('completed');
  expect(job.events.map(({ type }) => type)).toContain('requeued_after_restart');
  expect(provider.calls).toHaveLength(1);
  expect(job.calls.map((call) => [call.attempt, call.reusedFrom, call.billing])).toEqual([
    [1, null, 'unknown'],
    [2, 1, 'none'],
  ]);
  const told = seen.filter(({ id }) => id === undefined).map(({ event, data }) => [event, data]);
  const partials = told.flatMap(([event, data]) =>
    event === 'partial' ? [data as { attempt: number; text: string }] : [],
  );
  const text = partials.filter(({ attempt }) => attempt === 1).map((partial) => partial.text);
  expect(text.join('')).toBe('Once upon a time.');
  expect(told.filter(([event]) => event === 'reset')).toEqual([['reset', { attempt: 2 }]]);

  // a process of its own is no other case
  const apart = await server.ask('/ai-jobs', { workflow: 'ask_apart', input: { url: provider.url } });
  const apartId = String(apart.json['job_id']);
  await endOf(server, apartId);
  const isolated = await jobIn(dir, apartId);
  expect(isolated).toMatchObject({
    status: 'completed',
    calls: [{ attempt: 1, end: { servedModel: 'm-1' } }],
  });
  expect(provider.calls).toHaveLength(2);
  await provider.close();
});

/** The process that a running attempt says it is in. */
async function pidOf(record: () => Promise<Record<string, unknown>>): Promise<number> {
  for (;;) {
    const { progress } = (await record()) as Partial<RecordJson>;
    const pid = /^pid (\d+)$/.exec(progress?.note ?? '')?.[1];
    if (pid !== undefined) return Number(pid);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
