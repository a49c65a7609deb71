/** Calls a user's function once: its context is made, it runs, and its output is checked. Never rejects. */
import type { Readable } from 'node:stream';
import { jsonIssue } from '../domain/json.ts';
import { NONE_STORED } from '../domain/money-rules.ts';
import type { NamedArtifact } from '../domain/record.ts';
import { InvalidInputError, MalformedOutputError, OutputTooLargeError, classify } from '../domain/thrown.ts';
import type { Thrown } from '../domain/thrown.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { ClaimedJob } from '../ports/job-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { ModelSession, RecordedModels } from '../ports/models.ts';
import type { Log } from '../ports/telemetry.ts';
import type { UploadStore } from '../ports/upload-store.ts';
import type { KnownWorkflow } from './define.ts';
import type { Keeper } from './durable.ts';
import { patiently } from './faults.ts';
import { createNamedArtifacts } from './named-artifacts.ts';
import type { NamedArtifacts } from './named-artifacts.ts';
import { validate } from './schema.ts';
import type { Validated } from './schema.ts';
import { workflowLog } from './workflow-log.ts';
import type { InputFile, RunContext, WorkflowDefinition } from './workflow.ts';

export interface RunDeps {
  uploads: Pick<UploadStore, 'find'>;
  blobs: Pick<BlobStore, 'open'>;
  /** Opens the attempt's models; asked at most once, where the function asks for one. */
  openModels: () => ModelSession;
  log: Log;
  clock: Clock;
  signal: AbortSignal;
  keeper: Pick<Keeper, 'keep'>;
  maxOutputBytes: number;
  progress: (fraction: number, note: string | null) => void;
}

/** The output as the bytes of its artifact, or what was thrown. */
export type Ran =
  | { output: Uint8Array; artifacts: NamedArtifact[]; thrown?: never }
  | { output?: never; thrown: Thrown };

export const NOTE_LIMIT = 200;

export function runWorkflow(workflow: KnownWorkflow, job: ClaimedJob, deps: RunDeps): Promise<Ran> {
  return runOnce(workflow, job, { deps, models: null, artifacts: null, mended: false });
}

/** What one attempt has, however often its function runs. */
interface Kept {
  deps: RunDeps;
  /** Null until the function asks for a model. */
  models: ModelSession | null;
  /** Null until it keeps an artifact. */
  artifacts: NamedArtifacts | null;
  /** Its answer was mended: that is done once. */
  mended: boolean;
}

/** A stream that failed counts, whatever the function made of it; a malformed output may be mended, where the workflow says so. */
async function afterCalls(workflow: KnownWorkflow, job: ClaimedJob, kept: Kept, first: Ran): Promise<Ran> {
  const models = kept.models as ModelSession;
  const failure = models.failure();
  const ran: Ran = failure === null ? first : { thrown: { ...failure, text: first.thrown?.text ?? '' } };
  const isMendable = ran.thrown?.code === 'malformed_output' && !kept.mended;
  if (!isMendable || workflow.definition.repair === undefined) return ran;
  kept.mended = true;
  try {
    if (!(await models.repair(ran.thrown?.issues ?? []))) return ran;
  } catch (error) {
    const thrown = classify(error);
    // a replay from evidence asks nobody: what it knows is that the stored answer is malformed
    return thrown.rule === NONE_STORED ? ran : { thrown };
  }
  kept.artifacts?.forget();
  return runOnce(workflow, job, kept);
}

async function runOnce(workflow: KnownWorkflow, job: ClaimedJob, kept: Kept): Promise<Ran> {
  let ran: Ran;
  try {
    const context = contextOf(workflow, job, kept);
    const returned = await workflow.definition.run(context instanceof Promise ? await context : context);
    const result = resultOf(workflow, returned, kept);
    ran = result instanceof Promise ? await result : result;
  } catch (error) {
    const thrown = classify(error);
    // a stack of our own explains nothing that the issues do not
    ran = { thrown: error instanceof RefusedOutputError ? { ...thrown, text: '' } : thrown };
  }
  return kept.models === null ? ran : afterCalls(workflow, job, kept, ran);
}

/** What the function gets; at once where nothing has to be waited for. @throws InvalidInputError */
function contextOf(
  { definition }: KnownWorkflow,
  job: ClaimedJob,
  kept: Kept,
): AnyContext | Promise<AnyContext> {
  const input = checkedInput(definition, job);
  return input instanceof Promise || job.inputRef !== null
    ? contextWithFile(input, job, kept)
    : (new Context(input, null, job, kept) as AnyContext);
}

async function contextWithFile(input: unknown, job: ClaimedJob, kept: Kept): Promise<AnyContext> {
  const checked: unknown = await input;
  const file = job.inputRef === null ? null : await openFile(kept.deps, job.tenant, job.inputRef);
  return new Context(checked, file, job, kept) as AnyContext;
}

/** What the function returned, checked, with all that it kept. @throws RefusedOutputError, OutputTooLargeError */
function resultOf({ definition }: KnownWorkflow, returned: unknown, kept: Kept): Ran | Promise<Ran> {
  refuseUnlessJson(returned, returned);
  const validated = validate(definition.output, returned);
  if (validated instanceof Promise || kept.artifacts !== null) return lateResult(validated, returned, kept);
  return { output: encodeOutput(validated, returned, kept.deps.maxOutputBytes), artifacts: [] };
}

async function lateResult(
  validated: Validated | Promise<Validated>,
  returned: unknown,
  kept: Kept,
): Promise<Ran> {
  const output = encodeOutput(await validated, returned, kept.deps.maxOutputBytes);
  return { output, artifacts: kept.artifacts === null ? [] : await kept.artifacts.all() };
}

const KEPT = Symbol('kept');

type AnyContext = Context & RunContext<unknown>;

/**
 * What few functions use and is dear to make is made when it is read. All are properties of the context's own, so that a copy
 * has them too; their getters are shared by all contexts: closures of each one's own would give every context a hidden class of its own.
 */
class Context implements Omit<RunContext<unknown>, 'signal' | 'log' | 'model'> {
  readonly input: unknown;
  readonly file: InputFile | null;
  readonly jobId: string;
  readonly attempt: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly progress: RunContext<unknown>['progress'];
  readonly saveArtifact: RunContext<unknown>['saveArtifact'];
  readonly [KEPT]: Kept;

  constructor(input: unknown, file: InputFile | null, job: ClaimedJob, kept: Kept) {
    const { deps } = kept;
    this.input = input;
    this.file = file;
    this.jobId = job.jobId;
    this.attempt = job.attempt;
    this.labels = job.labels;
    this.progress = (fraction, note) =>
      deps.progress(clamp(fraction), typeof note === 'string' ? note.slice(0, NOTE_LIMIT) : null);
    this.saveArtifact = (name, body, mediaType) => {
      kept.artifacts ??= createNamedArtifacts(deps.keeper, deps);
      return kept.artifacts.save(name, body, mediaType);
    };
    this[KEPT] = kept;
    Object.defineProperty(this, 'signal', SIGNAL);
    Object.defineProperty(this, 'log', LOG);
    Object.defineProperty(this, 'model', MODEL);
  }
}

const SIGNAL = {
  enumerable: true,
  get(this: { [KEPT]: Kept }): AbortSignal {
    return this[KEPT].deps.signal;
  },
};

const MODEL = {
  enumerable: true,
  get(this: { [KEPT]: Kept }): RecordedModels {
    const kept = this[KEPT];
    kept.models ??= kept.deps.openModels();
    return kept.models.model;
  },
};

const LOG = {
  enumerable: true,
  get(this: { [KEPT]: Kept }): Log {
    return workflowLog(this[KEPT].deps.log);
  },
};

/** The function returned, and what it returned is not what its schema says. */
class RefusedOutputError extends MalformedOutputError {}

/** At once, without a promise, where the schema answers so. @throws InvalidInputError */
function checkedInput({ input: schema }: WorkflowDefinition, { input }: ClaimedJob): unknown {
  // an absent input is stored as null: a schema may mean either
  const validated = validate(schema, input ?? undefined);
  if (input === null) return inputOrNull(schema, validated);
  return validated instanceof Promise ? validated.then(validInput) : validInput(validated);
}

async function inputOrNull(
  schema: WorkflowDefinition['input'],
  undefinedIs: Validated | Promise<Validated>,
): Promise<unknown> {
  const validated = await undefinedIs;
  return validInput(validated.issues === null ? validated : await validate(schema, null));
}

function validInput(validated: Validated): unknown {
  if (validated.issues === null) return validated.value;
  throw new InvalidInputError("The input no longer matches the workflow's schema.");
}

async function openFile(deps: RunDeps, tenant: string, ref: string): Promise<InputFile> {
  const { uploads, blobs } = deps;
  const upload = await patiently(deps, () => uploads.find({ tenant, ref }));
  const blob = upload === null ? null : await blobs.open({ uri: ref });
  if (upload === null || blob === null)
    throw new InvalidInputError('The file that the job names is no longer kept.');
  const { mediaType, fileName, sha256, bytes } = upload;
  const read = () => collect(blob.stream());
  const text = async () => new TextDecoder().decode(await read());
  return { ref, mediaType, fileName, sha256, bytes, stream: blob.stream, read, text };
}

async function collect(stream: Readable): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks);
}

/** The output as JSON text, exactly what the schema let pass. @throws MalformedOutputError, OutputTooLargeError */
function encodeOutput(validated: Validated, raw: unknown, maxBytes: number): Uint8Array {
  if (validated.issues !== null) {
    const { issues } = validated;
    throw new RefusedOutputError("The output does not match the workflow's schema.", { raw, issues });
  }
  // what was returned is known to be JSON, but a schema may have put other things into it
  if (validated.value !== raw || typeof raw === 'object') refuseUnlessJson(validated.value, raw);
  return encodeJson(validated.value, maxBytes);
}

function refuseUnlessJson(value: unknown, raw: unknown): void {
  const issue =
    value === undefined ? { path: '', message: 'the function returned nothing' } : jsonIssue(value);
  if (issue !== null) throw new RefusedOutputError('The output is not JSON.', { raw, issues: [issue] });
}

function encodeJson(value: unknown, maxBytes: number): Uint8Array {
  let text: string;
  try {
    text = JSON.stringify(value, null, 2);
  } catch (cause) {
    throw new OutputTooLargeError('The output is too large to be written as JSON.', { cause });
  }
  const bytes = Buffer.from(`${text}\n`);
  if (bytes.byteLength > maxBytes)
    throw new OutputTooLargeError(`The output is larger than ${maxBytes} bytes.`);
  return bytes;
}

export function clamp(fraction: number): number {
  return Number.isFinite(fraction) ? Math.min(1, Math.max(0, fraction)) : 0;
}
