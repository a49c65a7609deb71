/** Clients that leave while their requests are under way. */
import { createConnection } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import type { Ctx, FullReply } from '../../src/http/endpoint.ts';
import { listen } from '../../src/http/listen.ts';
import { KEY, deferred, openApi } from './harness.ts';

describe('a client that leaves', () => {
  it('while its key is looked up keeps nobody waiting for its body', async () => {
    const asked = deferred();
    const found = deferred();
    const api = await openApi({
      limits: { bodyMs: 30_000 },
      wrap: (engine) => ({
        ...engine,
        authenticate: async (token) => {
          asked.resolve();
          await found.promise;
          return engine.authenticate(token);
        },
      }),
    });
    const { port } = await api.listen();
    const socket = createConnection(port, '127.0.0.1');
    const head = `Host: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json\r\n`;
    socket.write(`POST /ai-jobs HTTP/1.1\r\n${head}Content-Length: 100\r\n\r\n{`);
    await asked.promise;
    socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 50));
    found.resolve();
    await vi.waitFor(() =>
      expect(api.log.at(-1)).toMatchObject({ fields: { route: '/ai-jobs', status: 400 } }),
    );
    await api.close();
  });

  it('ends all answers of its connection, also those that wait for their turn, so that a server stops at once', async () => {
    const left: string[] = [];
    const begun = deferred();
    const app = {
      answer({ path, signal }: Ctx) {
        signal.addEventListener('abort', () => left.push(path));
        if (path === '/third') begun.resolve();
        return new Promise<FullReply>(() => {});
      },
    };
    const listening = await listen({ app, host: '127.0.0.1', port: 0, sockets: { closeTimeoutMs: 3_000 } });
    const socket = createConnection(listening.port, '127.0.0.1');
    socket.write(
      ['/first', '/second', '/third'].map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''),
    );
    await begun.promise;
    socket.destroy();
    await vi.waitFor(() => expect(left.toSorted()).toEqual(['/first', '/second', '/third']));
    const from = performance.now();
    await listening.close();
    expect(performance.now() - from).toBeLessThan(1_500);
  });

  it('gives back the streams that it had asked for behind another request', async () => {
    const api = await openApi({ streams: { perKey: 1 } });
    const id = await api.enqueue({ workflow: 'echo', input: 1 });
    const { port } = await api.listen();
    const socket = createConnection(port, '127.0.0.1');
    const ask = (path: string, accept: string) =>
      `GET /ai-jobs/${id}${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nAccept: ${accept}\r\n\r\n`;
    socket.write(ask('?wait=20', '*/*') + ask('/events', 'text/event-stream'));
    const open = () => api.ask(`/ai-jobs/${id}/events`, { headers: { accept: 'text/event-stream' } });
    await vi.waitFor(() =>
      expect(api.log.at(-1)).toMatchObject({ fields: { route: '/ai-jobs/:id/events', status: 200 } }),
    );
    expect((await open()).status).toBe(429);
    socket.destroy();
    await vi.waitFor(async () => {
      const answer = await open();
      expect(answer.status).toBe(200);
      await answer.body?.cancel();
    });
    await api.close();
  });
});
