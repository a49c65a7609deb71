/** Intake: a request is checked as a whole, and only then becomes durable. */
import { hash } from 'node:crypto';
import type { NewJob, NewRequest } from '../domain/accept.ts';
import { nanoOf } from '../domain/dollars.ts';
import { canonicalJson, jsonCopy, jsonIssue, pointer } from '../domain/json.ts';
import type { JsonValue } from '../domain/json.ts';
import type { NanoUsd } from '../domain/money.ts';
import type { ValidationIssue } from '../domain/record.ts';
import type { Enqueued, JobStore } from '../ports/job-store.ts';
import type { Upload, UploadStore } from '../ports/upload-store.ts';
import type { Announce } from './announce.ts';
import { raiseRefusal, spendingIssues } from './spending.ts';
import type { Caller, EngineApi, JobRequest, Refused, Result, Ticket } from './api.ts';
import type { KnownWorkflow, WorkflowTable } from './define.ts';
import { groupCommit } from './group-commit.ts';
import { invalid, ok, refused } from './refusals.ts';
import { validate } from './schema.ts';
import type { Validated } from './schema.ts';
import type { EngineSettings } from './settings.ts';

type Accepted = Extract<Enqueued, { outcome: 'accepted' }>;

interface IntakeDeps {
  store: JobStore;
  uploads: UploadStore;
  workflows: WorkflowTable;
  settings: EngineSettings;
  announce: Announce;
  /** A time-ordered id. */
  newId: () => string;
}

/** What a job takes in memory besides its input, roughly. */
const JOB_BYTES = 1000;
const COMMIT_BYTES = 2 * 1024 ** 2;
/** While a server syncs one, it can work on the next. */
const COMMITS = 2;
/** A server works beside us: of many callers that come at once it has the first before the last of them are checked. */
const ENOUGH_JOBS = 250;
/** Some seconds of what a store takes; more than that is refused, to be asked for again later. */
const WAITING_BYTES = 64 * 1024 ** 2;
const MAX_LABELS = 32;
const LABEL_KEY = /^[A-Za-z0-9._-]{1,64}$/;
const LABEL_VALUE_LIMIT = 256;
const NO_LIMITS = {};
const NO_LABELS = {};

export function createIntake(deps: IntakeDeps): Pick<EngineApi, 'enqueue' | 'enqueueBatch'> {
  const commit = groupCommit((requests: NewRequest[]) => deps.store.enqueue(requests), {
    maxWeight: COMMIT_BYTES,
    maxWaiting: WAITING_BYTES,
    inFlight: COMMITS,
    // A store without transactions to share is in this process: it would only sync twice.
    enough: deps.store.enqueueWithin === undefined ? Infinity : ENOUGH_JOBS,
    weigh: ({ jobs }) => jobs.reduce((bytes, { inputJson }) => bytes + JOB_BYTES + inputJson.length, 0),
  });

  function write(request: NewRequest, tx?: unknown): Promise<Enqueued> {
    return tx === undefined ? commit(request) : writeWithin(deps.store, tx, request);
  }

  function tell(written: Accepted, tx?: unknown): void {
    if (tx === undefined) deps.announce(written.moved); // what its caller may still undo is not told of
  }

  return {
    async enqueue(caller, request, { idempotencyKey, tx } = {}) {
      const checked = check(deps, caller, request, '');
      const job = 'then' in checked ? await checked : checked;
      if (!job.ok) return job;
      const written = await write({ jobs: [job.value], idempotency: keyOf(idempotencyKey, request) }, tx);
      if (written.outcome !== 'accepted') return refusedByStore(written, () => '');
      tell(written, tx);
      return ok(ticket(written.jobIds[0] as string));
    },

    async enqueueBatch(caller, requests, options = {}) {
      const at = (index: number) => `/jobs/${index}`;
      const checks = await Promise.all(
        requests.map(async (request, index) => check(deps, caller, request, at(index))),
      );
      const wrong = checks.filter((result) => !result.ok);
      if (wrong.length > 0) return mergeRefusals(wrong);
      const jobs = checks.flatMap((result) => (result.ok ? result.value : []));
      const written = await write({ jobs, idempotency: keyOf(options.idempotencyKey, requests) });
      if (written.outcome !== 'accepted') return refusedByStore(written, at);
      tell(written);
      return ok(written.jobIds.map(ticket));
    },
  };
}

function ticket(jobId: string): Ticket {
  return { jobId, status: 'queued' };
}

function writeWithin(store: JobStore, tx: unknown, request: NewRequest): Promise<Enqueued> {
  if (store.enqueueWithin === undefined) {
    throw new TypeError('`tx` needs a store in PostgreSQL: the embedded store has no transactions to share');
  }
  return store.enqueueWithin(tx, request);
}

function mergeRefusals(refusals: Refused[]): Refused {
  const first = refusals[0] as Refused;
  return { ...first, errors: refusals.flatMap((refusal) => refusal.errors).slice(0, 50) };
}

function refusedByStore(written: Exclude<Enqueued, Accepted>, at: (index: number) => string): Refused {
  if (written.outcome === 'idempotency_key_reused') {
    const detail = 'This Idempotency-Key was used for another request; use a new key for a new request.';
    return refused('idempotency_key_reused', detail);
  }
  return invalid(
    written.issues.map(({ path, message }) => ({ path: `${at(written.index)}${path}`, message })),
  );
}

/** A key stands for its request as a whole, a batch included. */
function keyOf(key: string | undefined, request: JobRequest | JobRequest[]): NewRequest['idempotency'] {
  if (key === undefined) return null;
  const value = JSON.parse(JSON.stringify(request)) as JsonValue;
  return { key, requestSha256: sha256(canonicalJson(value)) };
}

/** A request whose workflow is known. */
interface Asked {
  caller: Caller;
  request: JobRequest;
  workflow: KnownWorkflow;
  /** Where the request stands in what was sent, as a JSON Pointer. */
  root: string;
}

interface ValidInput {
  text: string;
  sha256: string;
}

/** Resolves at once, without a promise, where there is no file to look for and the workflow's schema does. */
function check(
  deps: IntakeDeps,
  caller: Caller,
  request: JobRequest,
  root: string,
): Result<NewJob> | Promise<Result<NewJob>> {
  const workflow = deps.workflows.find(request.workflow, request.version);
  if (workflow === null) return unknownWorkflow(deps.workflows, request, root);
  const asked = { caller, request, workflow, root };
  const issues = issuesOf(asked, deps.settings);
  if (issues.length > 0) return invalid(issues);
  const tooMuch = tooMuchFor(asked, deps.settings.jobSpendingCap);
  if (tooMuch !== null) return tooMuch;
  const input = checkInput(asked, deps.settings.maxInputBytes);
  if (request.inputRef !== undefined || 'then' in input) return checkRest(deps, asked, input);
  return input.ok ? ok(newJob(deps, asked, input.value, null)) : input;
}

async function checkRest(
  deps: IntakeDeps,
  asked: Asked,
  checked: Result<ValidInput> | Promise<Result<ValidInput>>,
): Promise<Result<NewJob>> {
  const input = await checked;
  if (!input.ok) return input;
  const { inputRef: ref } = asked.request;
  const upload = ref === undefined ? null : await deps.uploads.find({ tenant: asked.caller.tenant, ref });
  if (ref !== undefined && upload === null) return unknownInputRef(asked.root);
  return ok(newJob(deps, asked, input.value, upload));
}

function newJob(
  { newId }: IntakeDeps,
  { caller, request, workflow: { lane, definition } }: Asked,
  input: ValidInput,
  upload: Upload | null,
): NewJob {
  return {
    jobId: `job_${newId()}`,
    tenant: caller.tenant,
    workflow: lane.workflow,
    workflowVersion: lane.version,
    outputSchemaSha256: lane.outputSchemaSha256,
    inputJson: input.text,
    inputRef: request.inputRef ?? null,
    // A job that is given a file alone is known by the file's.
    inputSha256: request.input === undefined && upload !== null ? upload.sha256 : input.sha256,
    requestedLimits: request.limits ?? NO_LIMITS,
    workflowLimits: definition.limits ?? NO_LIMITS,
    spendingLimit: request.spendingLimit ?? ownSpendingLimit(definition),
    runAt: request.runAt ?? null,
    priority: request.priority ?? 0,
    labels: request.labels ?? NO_LABELS,
  };
}

function ownSpendingLimit({ spending }: KnownWorkflow['definition']): NanoUsd | null {
  return nanoOf(spending?.perJobUsd);
}

function tooMuchFor({ caller, request, workflow, root }: Asked, cap: NanoUsd | null): Refused | null {
  if (request.spendingLimit === undefined) return null;
  const present = ownSpendingLimit(workflow.definition);
  return raiseRefusal(caller, request.spendingLimit, { present, cap, root });
}

function issuesOf({ workflow, request, root }: Asked, { jobSpendingCap }: EngineSettings): ValidationIssue[] {
  return fileIssues(workflow, request, root).concat(
    labelIssues(request.labels ?? NO_LABELS, root),
    priorityIssues(request.priority ?? 0, root),
    spendingIssues(request.spendingLimit, jobSpendingCap, root),
  );
}

function unknownWorkflow(workflows: WorkflowTable, { workflow, version }: JobRequest, root: string): Refused {
  const asked = (version === undefined ? workflow : `${workflow} version ${version}`).slice(0, 120);
  const versions = workflows.versions(workflow);
  const [field, known] = versions.length === 0 ? ['workflow', workflows.names()] : ['version', versions];
  const what = field === 'version' ? `its known versions are` : 'known are';
  const list = known.length === 0 ? 'none is registered' : `${what} ${known.join(', ')}`;
  return refused('unknown_workflow', `No workflow ${asked} is registered; ${list}.`, [
    { path: `${root}/${field}`, message: `no workflow ${asked} is registered` },
  ]);
}

function unknownInputRef(root: string): Refused {
  const message = 'no uploaded file has this reference';
  return refused(
    'unknown_input_ref',
    'Upload the file first (POST /uploads) and use the input_ref it answers with.',
    [{ path: `${root}/input_ref`, message }],
  );
}

function fileIssues({ definition }: KnownWorkflow, request: JobRequest, root: string): ValidationIssue[] {
  const path = `${root}/input_ref`;
  const takes = definition.inputFile ?? 'none';
  if (takes === 'required' && request.inputRef === undefined) {
    return [{ path, message: `${definition.name} needs a file: upload it and name it here` }];
  }
  if (takes === 'none' && request.inputRef !== undefined) {
    return [{ path, message: `${definition.name} takes no file` }];
  }
  return [];
}

/** Of what JSON makes of it, which is what will be read again: a property without a value is not in it. */
function checkInput(
  { workflow, request, root }: Asked,
  maxBytes: number,
): Result<ValidInput> | Promise<Result<ValidInput>> {
  const path = `${root}/input`;
  const issue = request.input === undefined ? null : jsonIssue(request.input);
  if (issue !== null) return invalid([{ path: `${path}${issue.path}`, message: issue.message }]);
  // the schema sees what is stored, whatever a getter of the caller's says the next time
  const json = jsonCopy((request.input ?? null) as JsonValue);
  const text = JSON.stringify(json);
  const canonical = canonicalJson(json, text);
  if (Buffer.byteLength(canonical) > maxBytes) {
    const message = `is larger than ${maxBytes} bytes; upload it as a file instead`;
    return refused('too_large', `The input ${message}.`, [{ path, message }]);
  }
  const validated = validate(workflow.definition.input, request.input === undefined ? undefined : json, path);
  const read = ({ issues }: Validated) =>
    issues === null ? ok({ text, sha256: sha256(canonical) }) : invalid(issues);
  return 'then' in validated ? validated.then(read) : read(validated);
}

function labelIssues(labels: Record<string, string>, root: string): ValidationIssue[] {
  const entries = Object.entries(labels);
  if (entries.length > MAX_LABELS)
    return [{ path: `${root}/labels`, message: `more than ${MAX_LABELS} labels` }];
  return entries.flatMap(([key, value]) => {
    const path = pointer(`${root}/labels`, key);
    if (!LABEL_KEY.test(key)) {
      return [{ path, message: 'a label’s name is 1 to 64 letters, digits, ".", "_" or "-"' }];
    }
    return isPlainText(value, LABEL_VALUE_LIMIT)
      ? []
      : [
          {
            path,
            message: `a label’s value is text of at most ${LABEL_VALUE_LIMIT} characters, none of them a control character`,
          },
        ];
  });
}

/** Text that every store keeps and every terminal shows as it is. */
function isPlainText(value: unknown, limit: number): value is string {
  return typeof value === 'string' && value.length <= limit && value.isWellFormed() && !/\p{Cc}/u.test(value);
}

function priorityIssues(priority: number, root: string): ValidationIssue[] {
  if (Number.isInteger(priority) && priority >= -100 && priority <= 100) return [];
  return [{ path: `${root}/priority`, message: 'must be a whole number from -100 to 100' }];
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}
