/**
 * Lends one PostgreSQL server to all tests of a run. It is started when the first test asks, so that a run without such tests
 * does without. `TEST_DATABASE_URL` names another, which has to let us create schemas.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import { startServer } from './server.ts';
import type { Server } from './server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Whoever connects here is told the URL of a database. */
    databaseDesk: number;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const own = process.env['TEST_DATABASE_URL'] ?? '';
  let server: Promise<Server> | null = null;
  const url = async () => (own === '' ? (await (server ??= startServer())).url : own);
  const desk = createServer((socket) => {
    socket.on('error', () => {});
    url().then(
      (text) => socket.end(text),
      (error: unknown) => socket.end(`error: ${String(error)}`),
    );
  });
  desk.listen(0, '127.0.0.1');
  await once(desk, 'listening');
  project.provide('databaseDesk', (desk.address() as AddressInfo).port);
  return async () => {
    desk.close();
    const started = await server?.catch(() => null); // whoever asked for it was told why there is none
    await started?.stop();
  };
}
