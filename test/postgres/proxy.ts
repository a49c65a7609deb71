/**
 * A TCP proxy in front of PostgreSQL. It can make connections look as if a pooler lent them, cut one after the server has
 * answered and before its client hears it, and let them die without a word, as when a machine goes.
 */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { boundStatement, endsExchange, farewell, isError, isReady, messages } from './wire.ts';

export interface Proxy {
  url: string;
  /**
   * The next time that a client runs this prepared statement, the server does it and its answer is swallowed: the client's
   * connection is cut instead. Resolves then. @throws Error where the server did not do it
   */
  cutAfter(statement: string): Promise<void>;
  /** The next connection is ended at the very moment in which it is ready, as by a server that is told to stop. */
  endNext(): void;
  /** From now on the answers to this share of all statements are lost in the same way. @param random uniform in [0, 1) */
  cutSome(share: number, random: () => number): void;
  /** Connections made so far stay open, and nothing passes over them any more; new ones work. */
  forget(): void;
  close(): void;
  /** All that clients have sent. */
  sent(): string;
}

/** A statement to be cut, and what to do then. */
interface Trap {
  statement: string;
  sprung: () => void;
  failed: (error: Error) => void;
}

const NOBODY_WAITS = { sprung: () => {}, failed: () => {} };

interface Shared {
  traps: Trap[];
  /** Springs a trap of its own at every statement that it says. */
  chance: () => boolean;
  sockets: Set<Socket>;
  /** Ends the next connection. */
  endsNext: boolean;
  /** Links made before are dead. */
  generation: number;
  sent: string;
  pooler: boolean;
}

const BACKEND_KEY_DATA = 'K';

/** @param options `pooler`: clients are told another process id than their backend has, as a pooler does */
export async function startProxy(target: string, options: { pooler?: boolean } = {}): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const pooler = options.pooler === true;
  const shared: Shared = {
    traps: [],
    chance: () => false,
    sockets: new Set(),
    endsNext: false,
    generation: 0,
    sent: '',
    pooler,
  };
  const server = createServer((client) => link(client, connect(Number(port), hostname), shared));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(target);
  url.port = `${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    cutAfter: (statement) =>
      new Promise((sprung, failed) => void shared.traps.push({ statement, sprung, failed })),
    endNext: () => {
      shared.endsNext = true;
    },
    cutSome: (share, random) => {
      shared.chance = () => random() < share;
    },
    forget: () => {
      shared.generation += 1;
    },
    sent: () => shared.sent,
    close() {
      server.close();
      for (const socket of shared.sockets) socket.destroy();
    },
  };
}

/** One client and its backend. */
function link(client: Socket, backend: Socket, shared: Shared): void {
  const { generation } = shared;
  const isDead = () => shared.generation !== generation;
  const [fromClient, fromBackend] = [messages(true), messages(false)];
  let asked = 0;
  let answered = 0;
  /** The trap that was met, and which answer it swallows. */
  let caught: { trap: Trap; exchange: number; error: Error | null } | null = null;
  for (const [from, to] of [
    [client, backend],
    [backend, client],
  ] as const) {
    shared.sockets.add(from);
    from.setNoDelay(true); // messages are passed on one by one
    from.on('error', () => to.destroy());
    from.on('close', () => isDead() || to.destroy());
  }

  client.on('data', (chunk) => {
    if (isDead()) return;
    shared.sent += chunk.toString('latin1');
    for (const message of fromClient(chunk)) {
      const trap = caught === null ? trapFor(boundStatement(message), shared) : null;
      if (trap !== null) caught = { trap, exchange: asked + 1, error: null };
      if (endsExchange(message)) asked += 1;
      backend.write(message.bytes);
    }
  });

  backend.on('data', (chunk) => {
    if (isDead()) return;
    for (const message of fromBackend(chunk)) {
      if (shared.endsNext && answered === 0 && isReady(message)) {
        shared.endsNext = false;
        client.end(Buffer.concat([message.bytes, farewell()])); // in one piece
        return;
      }
      if (caught?.exchange !== answered + 1) {
        if (shared.pooler && message.type === BACKEND_KEY_DATA) message.bytes.writeInt32BE(1, 5);
        client.write(message.bytes);
      } else if (isError(message)) {
        caught.error = new Error(`${caught.trap.statement} failed: ${message.bytes.toString('utf8', 5)}`);
      }
      if (!isReady(message)) continue;
      answered += 1;
      if (caught === null || answered < caught.exchange) continue;
      client.destroy();
      if (caught.error === null) caught.trap.sprung();
      else caught.trap.failed(caught.error);
      return;
    }
  });
}

function trapFor(statement: string | null, { traps, chance }: Shared): Trap | null {
  if (statement === null) return null;
  const index = traps.findIndex((one) => one.statement === statement);
  if (index !== -1) return traps.splice(index, 1)[0] ?? null;
  return chance() ? { statement, ...NOBODY_WAITS } : null;
}
