/** What a user writes: an ordinary function with a name, a version, two schemas and limits. */
import type { Readable } from 'node:stream';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { SpendingPolicy } from '../domain/money.ts';
import type { LimitPolicy } from '../domain/policy.ts';
import type { RecordedModels } from '../ports/models.ts';
import type { Log } from '../ports/telemetry.ts';

/** The file that a job refers to by `input_ref`. */
export interface InputFile {
  ref: string;
  mediaType: string;
  /** The name its uploader gave it, or null; never a path. */
  fileName: string | null;
  sha256: string;
  bytes: number;
  stream(): Readable;
  /** The whole file in memory. */
  read(): Promise<Uint8Array>;
  text(): Promise<string>;
}

export interface RunContext<Input> {
  /** Validated (and where the schema transforms, transformed). */
  input: Input;
  /** Null where the job has no `input_ref`. */
  file: InputFile | null;
  /**
   * A language model of the AI SDK, recorded: `generateText({ model: model(openai('gpt-5')), prompt })`. Without an argument it is the
   * process's own. Each call is priced and limited before it is made, and kept with its response.
   */
  model: RecordedModels;
  /** Fires at the attempt's timeout, the job's deadline, a cancel, or when the lease is lost. Pass it on to whatever you call. */
  signal: AbortSignal;
  /** Writes lines that carry the job's id and the attempt. */
  log: Log;
  /** Says how far the attempt is, from 0 to 1; the newest wins, and no call waits for the store. */
  progress: (fraction: number, note?: string) => void;
  /**
   * Keeps a named artifact of the workflow's own (a PDF, an image). It belongs to the job once the attempt
   * completes. Names: letters, digits, `.`, `_`, `-`, at most 100, not starting with a dot.
   */
  saveArtifact: (
    name: string,
    body: Uint8Array | string | AsyncIterable<Uint8Array>,
    mediaType: string,
  ) => Promise<void>;
  jobId: string;
  attempt: number;
  labels: Readonly<Record<string, string>>;
}

export interface WorkflowDefinition<
  InputSchema extends StandardSchemaV1 = StandardSchemaV1,
  OutputSchema extends StandardSchemaV1 = StandardSchemaV1,
> {
  /** Letters, digits, `.`, `_`, `-`; at most 100. */
  name: string;
  /** A job runs only on the version it was accepted for. Change it when the meaning of input or output changes. */
  version: string;
  input: InputSchema;
  output: OutputSchema;
  /** Whether a job names a file by `input_ref`; `none` by default. */
  inputFile?: 'none' | 'optional' | 'required';
  limits?: Partial<LimitPolicy>;
  /** What its calls to language models may cost, in dollars; no limit of its own by default. */
  spending?: SpendingPolicy;
  /**
   * Asks the model that answered last once more, with its answer and the validator's issues, where an attempt would end as
   * `malformed_output`: one more call, recorded and paid like every other. Never by default.
   */
  repair?: { max: 1 };
  /**
   * `process`: `run` and the schemas are run in a process of their own, and are ended by force where they do not heed the signal, or take
   * more memory than the operator allows; `none` by default.
   */
  isolation?: 'none' | 'process';
  run(
    context: RunContext<StandardSchemaV1.InferOutput<InputSchema>>,
  ): Promise<StandardSchemaV1.InferInput<OutputSchema>> | StandardSchemaV1.InferInput<OutputSchema>;
}
