/** Sends what was planned, and stops as soon as there is nobody to send it to. */
import type { ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type { OpenCall } from './calls.ts';
import type { Plan, Sending } from './sending.ts';

/** Where calls wait until a test lets them go on. */
export class Gate {
  readonly #waiting = new Set<() => void>();

  /** Resolves at the next `open()`; rejects when the signal fires before it. */
  wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.add(resolve);
      signal.addEventListener('abort', () => {
        this.#waiting.delete(resolve);
        reject(new Error('The client has gone.'));
      });
    });
  }

  open(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

/** Resolves when the answer is out, or its client is gone. All that waits for nothing is sent before this returns. */
export async function deliver(
  plan: Plan,
  response: ServerResponse,
  call: OpenCall,
  gate: Gate,
): Promise<void> {
  if (plan.kind === 'reset') {
    call.closedBy = 'server';
    response.socket?.resetAndDestroy();
    return;
  }
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  try {
    await send(plan, response, call, { gate, gone: gone.signal });
  } catch (error) {
    // a wait that the client has not waited out
    if (!gone.signal.aborted) throw error;
  }
}

interface Waits {
  gate: Gate;
  gone: AbortSignal;
}

async function send(
  plan: Sending,
  response: ServerResponse,
  call: OpenCall,
  { gate, gone }: Waits,
): Promise<void> {
  if (plan.holdBefore === -1) await gate.wait(gone);
  response.writeHead(plan.status, plan.headers);
  response.flushHeaders();
  const { pieces } = plan;
  for (const [index, piece] of pieces.entries()) {
    if (index === plan.holdBefore) await gate.wait(gone);
    response.write(piece);
    call.bytesOut += Buffer.byteLength(piece);
    if (plan.pauseMs > 0 && index < pieces.length - 1) {
      await setTimeout(plan.pauseMs, undefined, { signal: gone });
    }
  }
  if (plan.holdBefore === pieces.length) await gate.wait(gone);
  finish(plan, response, call);
}

function finish({ end }: Sending, response: ServerResponse, call: OpenCall): void {
  if (end === 'whole') {
    response.end();
    call.finished = true;
    return;
  }
  call.closedBy = 'server';
  // what was written leaves first, or the client would see none of it
  response.write('', () => response.destroy());
}
