/**
 * Ours: the package as it is published, through `openClaimcheck`, with its defaults but for one setting: `concurrency`
 * (docs/settings.md), since functions that end at once keep a hundred slots no longer than a claim takes.
 */
import { z } from 'zod';

/** @import { OpenOptions, Run, System } from '../types.ts' */

const { defineWorkflow, openClaimcheck } = /** @type {typeof import('../../src/index.ts')} */ (
  await import(new URL('../../dist/index.js', import.meta.url).href)
);

const IN_FLIGHT = 1000;
const SHORTEST_LEASE_MS = 500;
const KEY = 'the-key-of-one-run-of-the-bench-only';

/** @param {OpenOptions} options @returns {Promise<System>} */
export async function open({ url, directory, inFlight = IN_FLIGHT, recovery = 'default' }) {
  /** @type {Run} */
  let run = () => null;
  const workflow = defineWorkflow({
    name: 'bench',
    version: '1',
    input: z.object({ text: z.string(), sentMs: z.number().optional() }),
    output: z.object({ summary: z.string() }).nullable(),
    run: async ({ input: { text, sentMs } }) =>
      /** @type {{ summary: string } | null} */ (
        await run(sentMs === undefined ? { text } : { text, sentMs })
      ),
  });
  const claimcheck = await openClaimcheck({
    dataDir: directory,
    ...(url === null ? {} : { databaseUrl: url }),
    workflows: [workflow],
    bootstrapKey: KEY,
    settings: {
      concurrency: inFlight,
      ...(recovery === 'shortest' ? { leaseMs: SHORTEST_LEASE_MS } : {}),
    },
  });

  /** @param {string} status */
  async function has(status) {
    const request = new Request(`http://bench/ai-jobs?status=${status}&limit=1`, {
      headers: { authorization: `Bearer ${KEY}` },
    });
    const { jobs } = /** @type {{ jobs: unknown[] }} */ (await (await claimcheck.fetch(request)).json());
    return jobs.length > 0;
  }

  return {
    enqueue: (input) => claimcheck.enqueue(workflow, input),
    // Callers of the same moment share a commit.
    enqueueMany: (inputs) => Promise.all(inputs.map((input) => claimcheck.enqueue(workflow, input))),
    async work(given) {
      run = given;
      claimcheck.worker().start();
    },
    isDrained: async () => !(await has('running')) && !(await has('queued')),
    close: () => claimcheck.close(),
  };
}
