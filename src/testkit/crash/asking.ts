/** One request of an API that may be killed while it answers, and the live stream of a job read across kills. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Told } from '../checker/history.ts';

export interface Api {
  /** The address of the process that is up, or of the next one that will be. */
  address: () => Promise<string>;
  key: string;
}

export interface Reply {
  told: Told;
  json: unknown;
}

const REQUEST_MS = 10_000;

/** `nothing` where no whole answer came, or one that blames the server: the request may have done its work. */
export async function ask(
  api: Api,
  method: string,
  path: string,
  body?: unknown,
  idempotencyKey?: string,
): Promise<Reply> {
  const url = `${await api.address()}${path}`;
  try {
    const response = await fetch(url, {
      method,
      headers: {
        authorization: `Bearer ${api.key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_MS),
    });
    const json: unknown = await response.json();
    return { told: response.ok ? 'accepted' : response.status < 500 ? 'refused' : 'nothing', json };
  } catch {
    return { told: 'nothing', json: null };
  }
}

export interface StreamedEvent {
  seq: number;
  type: string;
}

/** Reads a job's live stream to its end, going on after its last event wherever the API is killed. */
export async function follow(api: Api, jobId: string, events: StreamedEvent[]): Promise<void> {
  while (!['completed', 'dead_letter'].includes(events.at(-1)?.type ?? '')) {
    const url = `${await api.address()}/ai-jobs/${jobId}/events`;
    const last = events.at(-1)?.seq;
    const headers = {
      authorization: `Bearer ${api.key}`,
      accept: 'text/event-stream',
      ...(last === undefined ? {} : { 'last-event-id': String(last) }),
    };
    await fetch(url, { headers })
      .then((response) => readStream(response, events))
      // the API was killed: ask the next one
      .catch(() => sleep(20));
  }
}

async function readStream(response: Response, events: StreamedEvent[]): Promise<void> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const seq = /^id: ?(\d+)$/m.exec(block)?.[1];
      const type = /^event: ?(\w+)$/m.exec(block)?.[1];
      if (seq !== undefined && type !== undefined) events.push({ seq: Number(seq), type });
    }
  }
}
