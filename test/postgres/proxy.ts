/** A TCP proxy in front of PostgreSQL: it can make connections look as if a pooler lent them, and hold back what passes. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

export interface Proxy {
  url: string;
  /** From now on nothing passes any more, though connections stay open. */
  hold(): void;
  close(): void;
  /** All that clients have sent. */
  sent(): string;
}

const BACKEND_KEY_DATA = 'K'.charCodeAt(0);

/** @param options `pooler`: clients are told another process id than their backend has, as a pooler does */
export async function startProxy(target: string, options: { pooler?: boolean } = {}): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let held = false;
  let sent = '';
  const server = createServer((client) => {
    const backend = connect(Number(port), hostname);
    for (const [from, to] of [
      [client, backend],
      [backend, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
      from.on('data', (chunk) => {
        if (held) return;
        if (from === client) sent += chunk.toString('latin1');
        if (options.pooler === true && from === backend) disguise(chunk);
        to.write(chunk);
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(target);
  url.port = `${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    hold: () => {
      held = true;
    },
    sent: () => sent,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Changes the process id in the message that opens a connection: 'K', its length of 12, the process id, a secret. */
function disguise(chunk: Buffer): void {
  for (let at = chunk.indexOf(BACKEND_KEY_DATA); at !== -1; at = chunk.indexOf(BACKEND_KEY_DATA, at + 1)) {
    if (at + 9 > chunk.length || chunk.readInt32BE(at + 1) !== 12) continue;
    chunk.writeInt32BE(1, at + 5);
    return;
  }
}
