/**
 * The least that a Hono server can do for the same requests: reads the JSON, answers from memory, keeps the streams open. What ours is
 * divided by.
 */
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';

const app = new Hono();
let last = 0;

app.post('/ai-jobs', async (c) => {
  await c.req.json();
  last += 1;
  const id = `job_${last}`;
  return c.json({ job_id: id, status: 'queued', status_url: `/ai-jobs/${id}` }, 202);
});

app.get('/ai-jobs/:id', (c) =>
  c.json({
    job_id: c.req.param('id'),
    status: 'queued',
    attempt: 0,
    artifact: null,
    error: null,
    updated_at: '2026-01-01T00:00:00.000Z',
  }),
);

app.get('/ai-jobs/:id/events', (c) =>
  streamSSE(c, async (stream) => {
    await stream.writeSSE({ id: '1', event: 'queued', data: '{"seq":1}' });
    await new Promise((resolve) => stream.onAbort(() => resolve(undefined)));
  }),
);

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) =>
  console.log(`listens on http://127.0.0.1:${port}`),
);
