/**
 * The HTTP API inside an app of one's own, below /queue, beside the app's routes:
 *
 *   CLAIMCHECK_KEY=$(openssl rand -hex 24) npx jiti examples/mount-in-hono.ts
 *   curl -H "Authorization: Bearer $CLAIMCHECK_KEY" localhost:3000/queue/ai-jobs
 *
 * `queue.fetch` is a standard fetch handler, so every framework that takes one can mount it.
 */
import { serve } from '@hono/node-server';
import { openClaimcheck } from 'claimcheck';
import type { Claimcheck } from 'claimcheck';
import { Hono } from 'hono';
import { keywordModel } from './keyword-model.ts';
import { triage, wordCount } from './workflows.ts';

export async function openQueue(dataDir: string, bootstrapKey: string): Promise<Claimcheck> {
  const workflows = [triage, wordCount];
  return await openClaimcheck({ dataDir, workflows, model: keywordModel, basePath: '/queue', bootstrapKey });
}

export function createApp(queue: Claimcheck): Hono {
  const app = new Hono();
  app.post('/messages', async (c) => {
    const message = await c.req.text();
    const { job_id, status_url } = await queue.enqueue(triage, { message });
    return c.json({ job_id }, 202, { location: status_url });
  });
  app.all('/queue/*', (c) => queue.fetch(c.req.raw));
  return app;
}

if (import.meta.filename === process.argv[1]) {
  const queue = await openQueue('.claimcheck/example', process.env['CLAIMCHECK_KEY'] ?? '');
  queue.worker().start();
  const server = serve({ fetch: createApp(queue).fetch, port: 3000 });
  process.once('SIGTERM', () => {
    server.close();
    void queue.close();
  });
}
