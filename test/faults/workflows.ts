/** Workflows of the fault tests, for workers in the test's process (imported) and in others (`--workflows`). */
import { existsSync, writeFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { AttemptEndedError, defineWorkflow } from 'claimcheck';
import type { RunContext } from 'claimcheck';
import { z } from 'zod';

const output = z.strictObject({ attempt: z.int(), text: z.string() });

/** Tells the witness, and goes on when the witness answers. */
async function tell(
  { jobId, attempt }: RunContext<unknown>,
  witness: string,
  what: string,
  signal?: AbortSignal,
) {
  const body = JSON.stringify({ jobId, attempt, what });
  await fetch(witness, { method: 'POST', body, ...(signal === undefined ? {} : { signal }) });
}

/** Until another attempt has written the file, or the test has. */
function blockUntil(file: string): void {
  const last = performance.now() + 20_000;
  while (!existsSync(file) && performance.now() < last);
}

/** Why it was told to end, in a word. */
function endingOf(reason: unknown): string {
  return reason instanceof AttemptEndedError ? reason.ending : String(reason);
}

/**
 * Starts, waits for the witness, and does all that an attempt can do, whatever its signal says. Where `block` names a file, the
 * first attempt blocks its event loop before that, until the next attempt begins.
 */
export const stalling = defineWorkflow({
  name: 'stalling',
  version: '1',
  input: z.strictObject({ witness: z.url(), block: z.string().nullable(), bytes: z.int().min(1) }),
  output,
  async run(context) {
    const { input, attempt, signal, progress, saveArtifact } = context;
    const { witness, block, bytes } = input;
    if (block !== null && attempt > 1) writeFileSync(block, '');
    signal.addEventListener('abort', () => void tell(context, witness, `told ${endingOf(signal.reason)}`));
    await tell(context, witness, 'started');
    if (block !== null && attempt === 1) blockUntil(block);
    progress(0.9, `said by attempt ${attempt}`);
    const text = `${attempt}`.repeat(bytes);
    await saveArtifact('page.txt', text, 'text/plain').catch(() => {});
    return { attempt, text };
  },
});

/** Waits for the witness, or for its signal, and then does its deed, which the witness counts. */
export const deed = defineWorkflow({
  name: 'deed',
  version: '1',
  input: z.strictObject({ witness: z.url() }),
  output,
  async run(context) {
    const { input, attempt, signal } = context;
    await tell(context, input.witness, 'started', signal);
    signal.throwIfAborted();
    await tell(context, input.witness, 'done');
    return { attempt, text: '' };
  },
});

/** Fills the heap of its process until that is no more. */
export const glutton = defineWorkflow({
  name: 'glutton',
  version: '1',
  input: z.null(),
  output,
  async run() {
    let hoard = Array.from({ length: 1000 }, (_, index) => index);
    for (;;) {
      hoard = [...hoard, ...hoard];
      await turn();
    }
  },
});
