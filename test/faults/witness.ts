/** The outside world of a fault test: a server that functions talk to, which counts their calls and may let them wait. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

export interface Call {
  jobId: string;
  attempt: number;
  what: string;
}

export interface Witness {
  url: string;
  /** In the order in which they came. */
  calls: Call[];
  /** Resolves when this was said by this attempt. */
  heard(jobId: string, attempt: number, what: string): Promise<void>;
}

/** @param answer when a call is answered: at once, or when the promise resolves */
export async function startWitness(
  answer: (call: Call) => Promise<void> | void = () => {},
): Promise<Witness> {
  const calls: Call[] = [];
  const server = createServer((request, response) => {
    void text(request).then(async (body) => {
      const call = JSON.parse(body) as Call;
      calls.push(call);
      server.emit('heard');
      await answer(call);
      response.end();
    });
  }).listen(0, '127.0.0.1');
  server.setMaxListeners(0);
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    async heard(jobId, attempt, what) {
      const isIt = (call: Call) => call.jobId === jobId && call.attempt === attempt && call.what === what;
      while (!calls.some(isIt)) await once(server, 'heard');
    },
  };
}
