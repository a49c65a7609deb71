/**
 * Hears what concerns workers on any machine, on a connection of its own: LISTEN lasts as long as a session does. It comes back
 * by itself after every break, and then gives one hint for all that it may have missed. Behind a pooler that lends sessions
 * by the transaction nothing can be heard, and polling has to do.
 *
 * What is told is `ready`, or `revoked` and a session: a few dozen bytes of the 8,000 that PostgreSQL carries.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { QueryConfig } from 'pg';
import { clientConfig, destroy, isBehindPooler } from './connection.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;
/** Nothing is heard over a connection that died without a word either, so now and then it is asked. */
const PROBE_EVERY_MS = 10_000;
const PROBE_ANSWER_MS = 3000;

/** What was told. */
export type Hint =
  /** Jobs became claimable, or soon will be. */
  | { type: 'queued' }
  /** Attempts of this session were taken away. */
  | { type: 'revoked'; session: string };

export interface Listener {
  close(): Promise<void>;
}

interface ListenParams {
  url: string;
  channel: string;
  onHint: (hint: Hint) => void;
}

export function listen(params: ListenParams): Listener {
  const closing = new AbortController();
  const running = keepListening(params, closing.signal);
  return {
    async close() {
      closing.abort();
      await running;
    },
  };
}

async function keepListening(params: ListenParams, closing: AbortSignal): Promise<void> {
  let failures = 0;
  while (!closing.aborted) {
    try {
      if ((await listenOnce(params, closing)) === 'deaf') return;
      failures = 0;
    } catch {
      failures += 1;
    }
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures, 10));
    await sleep(pauseMs * (0.5 + Math.random() / 2), undefined, { signal: closing, ref: false }).catch(
      () => {},
    );
  }
}

/** Listens until the connection breaks. */
async function listenOnce(
  { url, channel, onHint }: ListenParams,
  closing: AbortSignal,
): Promise<'deaf' | 'broken'> {
  const client = new Client(clientConfig(url));
  client.on('error', () => {}); // the end that follows is what counts
  client.on('notification', ({ payload }) => onHint(hintOf(payload)));
  const ended = new Promise<void>((resolve) => void client.once('end', () => resolve()));
  const cut = () => destroy(client);
  closing.addEventListener('abort', cut, { once: true });
  let probing: NodeJS.Timeout | undefined;
  try {
    await client.connect();
    if (await isBehindPooler(client)) return 'deaf';
    await client.query(`LISTEN "${channel}"`);
    onHint({ type: 'queued' });
    probing = setInterval(() => void probe(client), PROBE_EVERY_MS).unref();
    await ended;
    return 'broken';
  } finally {
    clearInterval(probing);
    closing.removeEventListener('abort', cut);
    destroy(client);
  }
}

async function probe(client: Client): Promise<void> {
  const query: QueryConfig & { query_timeout: number } = { text: 'SELECT 1', query_timeout: PROBE_ANSWER_MS };
  await client.query(query).catch(() => destroy(client));
}

function hintOf(payload = ''): Hint {
  const [what, session] = payload.split(' ', 2);
  return what === 'revoked' && session !== undefined ? { type: 'revoked', session } : { type: 'queued' };
}
