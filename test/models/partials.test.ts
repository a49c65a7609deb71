/** What a model says while it says it: live on the job's event stream, and nowhere else. */
import { streamText } from 'ai';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { fakeModel } from '../../src/testing.ts';
import { defineWorkflow } from '../../src/index.ts';
import { gate, openTemp } from '../support/claimcheck.ts';
import { eventsOf } from './event-stream.ts';
import type { StreamedEvent } from './event-stream.ts';

const KEY = 'k'.repeat(40);

it('a stream tells its text with the attempt; a retry tells a reset; a client that comes late gets all there is', async () => {
  const first = gate();
  const second = gate();
  const model = fakeModel({ mode: 'success', text: 'one two' });
  const tell = defineWorkflow({
    name: 'tell',
    version: '1',
    input: z.unknown(),
    output: z.string(),
    async run(context) {
      const result = streamText({ model: context.model(), prompt: `attempt ${context.attempt}` });
      const text = await result.text;
      await (context.attempt === 1 ? first : second).opened;
      if (context.attempt === 1) throw Object.assign(new Error('reset'), { code: 'ECONNRESET' });
      return text;
    },
  });
  const queue = await openTemp([tell], { model, bootstrapKey: KEY });
  const headers = { authorization: `Bearer ${KEY}`, accept: 'text/event-stream' };
  const { job_id: jobId } = await queue.enqueue(tell, null);
  const open = async () =>
    eventsOf(await queue.fetch(new Request(`http://queue/ai-jobs/${jobId}/events`, { headers })));
  const events = await open();
  queue.worker().start();

  const seen: StreamedEvent[] = [];
  for await (const event of events) {
    seen.push(event);
    if (event.event !== 'partial') continue;
    const { attempt } = event.data as { attempt: number };
    if (attempt === 2) {
      // one that comes now gets what was said so far, and what follows
      const late: string[] = [];
      for await (const one of await open()) {
        if (one.event === 'partial') late.push(JSON.stringify(one.data));
        if (late.length > 0) second.open();
      }
      expect(late).toEqual([JSON.stringify({ attempt: 2, text: 'one two' })]);
    } else first.open();
  }
  const told = seen.map(({ event, data, id }) => (id === undefined ? [event, data] : event));
  expect(told).toEqual([
    'queued',
    'running',
    ['partial', { attempt: 1, text: 'one two' }],
    'queued',
    'running',
    ['reset', { attempt: 2 }],
    ['partial', { attempt: 2, text: 'one two' }],
    'completed',
  ]);
});
