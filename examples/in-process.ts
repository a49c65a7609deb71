/**
 * The queue and a worker inside one process, without HTTP:
 *
 *   npx jiti examples/in-process.ts
 */
import { json } from 'node:stream/consumers';
import { openClaimcheck } from 'claimcheck';
import { keywordModel } from './keyword-model.ts';
import { triage } from './workflows.ts';

/** Prints what became of one job. */
export async function main(dataDir: string, print: (line: string) => void): Promise<void> {
  const queue = await openClaimcheck({ dataDir, workflows: [triage], model: keywordModel });
  try {
    queue.worker().start();
    // The input is typed by the workflow's schema. The same key gives the same job, however often this runs.
    const ticket = await queue.enqueue(
      triage,
      { message: 'I paid twice, please refund me today!' },
      { idempotencyKey: 'message-4711', labels: { customer: '17' } },
    );
    print(`accepted: ${ticket.status}`);

    const { status, error } = await queue.wait(ticket.job_id, { waitMs: 30_000 });
    print(`ended: ${status} ${error?.message ?? ''}`.trim());

    if (status === 'completed') {
      const artifact = await queue.artifact(ticket.job_id);
      print(`artifact: ${JSON.stringify(await json(artifact.stream()))}`);
    }
    print(`answer: ${(await queue.record(ticket.job_id)).answers.tried}`);
  } finally {
    await queue.close();
  }
}

if (import.meta.filename === process.argv[1]) await main('.claimcheck/example', console.log);
