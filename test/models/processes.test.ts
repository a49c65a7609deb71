/** Calls to models across real processes, of the built package: one that is killed, and one of an isolated workflow. */
import { fileURLToPath } from 'node:url';
import { expect, test, vi } from 'vitest';
import type { RecordJson } from '../../src/index.ts';
import { startFakeProvider } from '../../src/testing.ts';
import { serve, tempDir } from '../cli/run.ts';
import { eventsOf } from './event-stream.ts';
import type { StreamedEvent } from './event-stream.ts';

// Processes that start and load take their time on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

const WORKFLOWS = fileURLToPath(new URL('workflows.ts', import.meta.url));

interface RecordWithCalls extends RecordJson {
  calls: { attempt: number; reused_from: number | null; billing: string }[];
}

test('kill -9 after an answer costs no second one; clients see its text live, and a reset', async () => {
  const provider = await startFakeProvider({ script: [{ reply: 'ok', text: 'Once upon a time.' }] });
  const dir = tempDir();
  const server = await serve(['--workflows', WORKFLOWS, '--data-dir', dir], { cwd: dir });
  const asked = await server.ask('/ai-jobs', { workflow: 'tell', input: { url: provider.url } });
  const path = `/ai-jobs/${String(asked.json['job_id'])}`;
  const headers = { authorization: `Bearer ${server.key}`, accept: 'text/event-stream' };
  const seen: StreamedEvent[] = [];
  const streamed = (async () => {
    for await (const event of eventsOf(await fetch(`${server.url}${path}/events`, { headers }))) seen.push(event);
  })();

  process.kill(await pidOf(async () => (await server.ask(`${path}/record`)).json), 'SIGKILL');
  await streamed;
  const record = (await server.ask(`${path}/record`)).json as unknown as RecordWithCalls;
  expect(record.status).toBe('completed');
  expect(record.events.map(({ type }) => type)).toContain('requeued_after_restart');
  expect(provider.calls).toHaveLength(1);
  expect(record.calls.map((call) => [call.attempt, call.reused_from, call.billing])).toEqual([
    [1, null, 'unknown'],
    [2, 1, 'none'],
  ]);
  const told = seen.filter(({ id }) => id === undefined).map(({ event, data }) => [event, data]);
  const of = (attempt: number) =>
    told.filter(([event, data]) => event === 'partial' && (data as { attempt: number }).attempt === attempt);
  const textOf = (attempt: number) => of(attempt).map(([, data]) => (data as { text: string }).text).join('');
  expect([textOf(1), textOf(2)]).toEqual(['Once upon a time.', 'Once upon a time.']);
  expect(told.filter(([event]) => event === 'reset')).toEqual([['reset', { attempt: 2 }]]);

  // a process of its own is no other case
  const apart = await server.ask('/ai-jobs', { workflow: 'ask_apart', input: { url: provider.url } });
  const apartPath = `/ai-jobs/${String(apart.json['job_id'])}`;
  await server.ask(`${apartPath}?wait=20`);
  const isolated = (await server.ask(`${apartPath}/record`)).json as unknown as RecordWithCalls;
  expect(isolated).toMatchObject({ status: 'completed', calls: [{ attempt: 1, reused_from: null }] });
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
