import { Command } from 'commander';
import type { NanoUsd } from '../../domain/money.ts';
import type { JobRequest } from '../../engine/api.ts';
import { deskCommand } from '../command.ts';
import type { Context } from '../command.ts';
import type { Desk } from '../desk.ts';
import type { Io } from '../host.ts';
import {
  amount,
  instant,
  limitsOf,
  openUpload,
  pair,
  positiveNumber,
  readInput,
  wholeNumber,
} from '../options.ts';
import type { LimitOptions } from '../options.ts';
import { EXIT, Problem } from '../problem.ts';
import { jsonText, plain } from '../text.ts';
import { watchToEnd } from '../watching.ts';

interface EnqueueOptions extends LimitOptions {
  input?: string;
  file?: string;
  inputRef?: string;
  workflowVersion?: string;
  label?: Record<string, string>;
  runAt?: number;
  priority?: number;
  spendingLimit?: NanoUsd;
  idempotencyKey?: string;
  wait?: true;
  demo?: true;
  json?: true;
}

export function enqueueCommand(context: Context): Command {
  const { io } = context.host;
  const command = new Command('enqueue')
    .description('Hand in a job and print its id.')
    .argument('<workflow>', 'name of the workflow')
    .option('-i, --input <json>', 'the input: JSON, @file, or - for stdin')
    .option('-f, --file <path>', 'upload this file and name it as the input_ref')
    .option('--input-ref <ref>', 'a file that was uploaded before')
    .option('--workflow-version <version>', 'version of the workflow; the newest by default')
    .option('-l, --label <key=value>', 'a label to find it by; may be repeated', pair)
    .option('--timeout-ms <ms>', 'limit of one attempt', positiveNumber)
    .option('--max-attempts <n>', 'attempts at most', positiveNumber)
    .option('--deadline-ms <ms>', 'when the answer stops being useful, from now', positiveNumber)
    .option('--spending-limit <usd>', 'dollars that all its calls to models may cost together', amount)
    .option('--run-at <instant>', 'not before this date and time', instant)
    .option('--priority <n>', '-100 to 100, higher first', wholeNumber)
    .option('--idempotency-key <key>', 'the same key and request give the same job')
    .option('--wait', 'wait for the end; exit code 1 where the job died')
    .option('--demo', 'know the built-in examples besides CLAIMCHECK_WORKFLOWS')
    .option('--json', 'print JSON');
  return deskCommand<EnqueueOptions>(
    command,
    context,
    async (desk, options, [workflow = '']) => {
      const request = await requestOf(desk, workflow, options, io);
      const ticket = await desk.enqueue(request, options.idempotencyKey);
      if (options.wait === true) return waitFor(desk, ticket.job_id, options.json === true, io);
      io.out(options.json === true ? `${jsonText(ticket, 0)}\n` : `${plain(ticket.job_id)}\n`);
      if (io.isTerminal && options.json !== true) {
        io.err(
          `It is ${ticket.status}. Follow it with: ${context.host.command} watch ${plain(ticket.job_id)}\n`,
        );
      }
      return EXIT.ok;
    },
    (options) => ({ makesStore: true, needsWorkflows: true, demo: options.demo === true }),
  );
}

async function requestOf(desk: Desk, workflow: string, options: EnqueueOptions, io: Io): Promise<JobRequest> {
  if (options.file !== undefined && options.inputRef !== undefined) {
    throw new Problem('Give --file or --input-ref, not both.', EXIT.usage);
  }
  // The input is read first: a mistake in it should not leave an upload behind.
  const input = options.input === undefined ? undefined : await readInput(options.input, io);
  const inputRef =
    options.file === undefined
      ? options.inputRef
      : (await desk.upload(await openUpload(options.file))).input_ref;
  return {
    workflow,
    version: options.workflowVersion,
    input,
    inputRef,
    limits: limitsOf(options),
    spendingLimit: options.spendingLimit,
    runAt: options.runAt,
    priority: options.priority,
    labels: options.label,
  };
}

async function waitFor(desk: Desk, jobId: string, isJson: boolean, io: Io): Promise<number> {
  if (!isJson) io.out(`${plain(jobId)}\n`);
  const status = await watchToEnd(desk, jobId, { io, print: isJson ? 'nothing' : 'text' });
  if (isJson) io.out(`${jsonText(await desk.status(jobId), 0)}\n`);
  return status === 'completed' ? EXIT.ok : EXIT.failed;
}
