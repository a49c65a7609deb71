/**
 * The six cases that every workflow meets sooner or later, run against one of a user's own on a real queue: success, a
 * model that is too slow, one that answers nonsense, a worker that dies, a client that polls, and a provider that stays away.
 *
 * Each case opens a queue of its own in a temporary directory, with a fake model in the place of a real one, and holds
 * the job's record against what the queue promises. Where a case fails, the record is in the error.
 */
import { deepStrictEqual, ok } from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { RequestedLimits } from '../domain/policy.ts';
import type { RecordJson, StatusJson } from '../domain/view.ts';
import type { EngineSettings } from '../engine/settings.ts';
import type { WorkflowDefinition } from '../engine/workflow.ts';
import type { LanguageModel } from '../ports/models.ts';
import { fakeModel } from './fake-model.ts';
import type { FakeModel, FakeReply } from './fake-model.ts';

export interface SixCasesOptions<
  InputSchema extends StandardSchemaV1 = StandardSchemaV1,
  OutputSchema extends StandardSchemaV1 = StandardSchemaV1,
> {
  workflow: WorkflowDefinition<InputSchema, OutputSchema>;
  /** An input that the workflow takes. */
  input?: StandardSchemaV1.InferInput<InputSchema>;
  /** The file that a workflow with `inputFile` reads. */
  file?: { body: Uint8Array; mediaType: string };
  /** What a model would answer at its best: the fake model's text at every call that succeeds. */
  validText: string;
  /** What the model answers where it is malformed; text that is no JSON by default. */
  malformedText?: string;
}

export interface Case {
  name: string;
  /** Resolves where the case is as promised. @throws AssertionError with the record otherwise */
  run: () => Promise<void>;
}

/** As much of an opened queue as the cases use. */
interface CaseQueue {
  enqueue(
    workflow: string,
    input: unknown,
    options: { limits: RequestedLimits; inputRef?: string },
  ): Promise<{ job_id: string }>;
  upload(body: Uint8Array, mediaType: string): Promise<{ input_ref: string }>;
  status(jobId: string): Promise<StatusJson>;
  wait(jobId: string, options: { waitMs: number }): Promise<StatusJson>;
  record(jobId: string): Promise<RecordJson>;
  worker(): { start(): void; kill(): void };
  close(): Promise<void>;
}

/** Opens a queue of the workflow in `dataDir`. */
export type OpenQueue = (options: {
  dataDir: string;
  workflows: readonly WorkflowDefinition[];
  model: LanguageModel;
  settings: Partial<EngineSettings>;
}) => Promise<CaseQueue>;

/** Quick enough for a test, and no attempt lives for ever. */
const SETTINGS: Partial<EngineSettings> = {
  leaseMs: 400,
  graceMs: 200,
  shutdownMs: 200,
  backoff: { baseMs: 1, capMs: 5 },
};
const LIMITS = { timeoutMs: 30_000, deadlineMs: 120_000 };
const WAIT_MS = 10_000;

/** Cases for a test runner: `for (const one of cases) test(one.name, one.run)`. Each takes about a second or less. */
export function sixCasesOn(open: OpenQueue, options: SixCasesOptions): Case[] {
  const { validText: text, malformedText } = options;
  const malformed: FakeReply =
    malformedText === undefined ? { mode: 'malformed' } : { mode: 'malformed', text: malformedText };
  const cases: [name: string, reply: FakeReply, play: (stage: Stage) => Promise<void>][] = [
    ['success', { mode: 'success', text }, success],
    ['slow', { mode: 'slow', ms: 60_000, text }, slow],
    ['malformed', malformed, malformedOutput],
    ['restart', { mode: 'success', text }, restart],
    ['polling', { mode: 'success', text }, polling],
    ['retry-exhaustion', { mode: 'always_fail' }, retryExhaustion],
  ];
  return cases.map(([name, reply, play]) => ({ name, run: () => onStage(open, options, reply, play) }));
}

interface Stage {
  queue: CaseQueue;
  model: GatedModel;
  enqueue: (limits: RequestedLimits) => Promise<string>;
  /** The record once the job has ended, or as it is where it does not end. */
  ended: (jobId: string) => Promise<RecordJson>;
}

async function onStage(
  open: OpenQueue,
  options: SixCasesOptions,
  reply: FakeReply,
  play: (stage: Stage) => Promise<void>,
): Promise<void> {
  const { workflow, input, file } = options;
  const dataDir = await mkdtemp(join(tmpdir(), 'claimcheck-case-'));
  const model = gated(fakeModel(reply));
  // the cases are about the function, which runs here whatever it asks for
  const workflows = [{ ...workflow, isolation: 'none' as const }];
  const queue = await open({ dataDir, workflows, model, settings: SETTINGS });
  try {
    await play({
      queue,
      model,
      async enqueue(limits) {
        const uploaded = file && (await queue.upload(file.body, file.mediaType));
        const more = uploaded === undefined ? {} : { inputRef: uploaded.input_ref };
        return (await queue.enqueue(workflow.name, input, { limits: { ...LIMITS, ...limits }, ...more }))
          .job_id;
      },
      async ended(jobId) {
        await queue.wait(jobId, { waitMs: WAIT_MS });
        return queue.record(jobId);
      },
    });
  } finally {
    model.openGate();
    await queue.close();
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function success({ queue, enqueue, ended }: Stage): Promise<void> {
  const jobId = await enqueue({ maxAttempts: 1 });
  queue.worker().start();
  const record = await ended(jobId);
  expectRecord(record, {
    status: 'completed',
    attempt: 1,
    errors: [],
    events: ['queued', 'running', 'completed'],
  });
  ok(record.artifact !== null, `a completed job has an artifact\n${shown(record)}`);
}

async function slow({ queue, enqueue, ended }: Stage): Promise<void> {
  const jobId = await enqueue({ maxAttempts: 2, timeoutMs: 50 });
  queue.worker().start();
  expectRecord(await ended(jobId), {
    status: 'dead_letter',
    attempt: 2,
    errors: ['timeout', 'timeout'],
    events: ['queued', 'running', 'queued', 'running', 'dead_letter'],
  });
}

async function malformedOutput({ queue, enqueue, ended, model }: Stage): Promise<void> {
  const jobId = await enqueue({ maxAttempts: 3 });
  queue.worker().start();
  const record = await ended(jobId);
  expectRecord(record, {
    status: 'dead_letter',
    attempt: 1,
    errors: ['malformed_output'],
    events: ['queued', 'running', 'dead_letter'],
  });
  ok(
    record.errors[0]?.evidence?.some(({ kind }) => kind === 'raw_output'),
    `the raw output is kept\n${shown(record)}`,
  );
  ok(model.calls() >= 1, 'the workflow asks the model that it is given');
}

async function restart(stage: Stage): Promise<void> {
  const { queue, enqueue, ended, model } = stage;
  const jobId = await enqueue({ maxAttempts: 2 });
  model.closeGate();
  const doomed = queue.worker();
  doomed.start();
  await asking(stage, jobId);
  doomed.kill();
  model.openGate();
  queue.worker().start();
  expectRecord(await ended(jobId), {
    status: 'completed',
    attempt: 2,
    errors: ['worker_lost'],
    events: ['queued', 'running', 'requeued_after_restart', 'running', 'completed'],
  });
}

async function polling(stage: Stage): Promise<void> {
  const { queue, enqueue, ended, model } = stage;
  const jobId = await enqueue({ maxAttempts: 1 });
  const states = [(await queue.status(jobId)).status];
  model.closeGate();
  queue.worker().start();
  await asking(stage, jobId);
  states.push((await queue.status(jobId)).status);
  model.openGate();
  states.push((await ended(jobId)).status);
  deepStrictEqual(states, ['queued', 'running', 'completed']);
}

async function retryExhaustion({ queue, enqueue, ended }: Stage): Promise<void> {
  const jobId = await enqueue({ maxAttempts: 3 });
  queue.worker().start();
  const record = await ended(jobId);
  expectRecord(record, {
    status: 'dead_letter',
    attempt: 3,
    errors: ['upstream_unavailable', 'upstream_unavailable', 'upstream_unavailable'],
    events: ['queued', 'running', 'queued', 'running', 'queued', 'running', 'dead_letter'],
  });
  ok(record.decision?.open === true, `a dead letter asks for a decision\n${shown(record)}`);
}

/** Waits until the attempt is in the middle of a call of its model. */
async function asking({ model, ended }: Stage, jobId: string): Promise<void> {
  const record = await Promise.race([model.called(), ended(jobId)]);
  ok(record === undefined, `the workflow asks the model that it is given\n${shown(record as RecordJson)}`);
}

interface Promised {
  status: string;
  attempt: number;
  errors: string[];
  events: string[];
}

function expectRecord(record: RecordJson, promised: Promised): void {
  const { status, attempt } = record;
  const errors = record.errors.map((error) => error.code);
  const events = record.events.map((event) => event.type);
  try {
    deepStrictEqual({ status, attempt, errors, events }, promised);
  } catch (error) {
    if (error instanceof Error) error.message += `\nThe whole record:\n${shown(record)}`;
    throw error;
  }
}

function shown(record: RecordJson): string {
  return JSON.stringify(record, null, 2);
}

interface GatedModel extends LanguageModel {
  calls(): number;
  /** Calls made from now on wait until the gate opens. */
  closeGate(): void;
  openGate(): void;
  /** Resolves when a call waits at the gate. */
  called(): Promise<void>;
}

/** A model that can be held in the middle of a call, so that a case looks at a job that is surely running. */
function gated(model: FakeModel): GatedModel {
  let gate = Promise.resolve();
  let openGate = () => {};
  let arrive = () => {};
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  async function pass(): Promise<void> {
    arrive();
    await gate;
  }
  const { specificationVersion, provider, modelId, supportedUrls } = model;
  return {
    specificationVersion,
    provider,
    modelId,
    supportedUrls,
    calls: () => model.requests.length,
    called: () => arrived,
    closeGate() {
      gate = new Promise((resolve) => {
        openGate = resolve;
      });
    },
    openGate: () => openGate(),
    doGenerate: (request) => pass().then(() => model.doGenerate(request)),
    doStream: (request) => pass().then(() => model.doStream(request)),
  };
}
