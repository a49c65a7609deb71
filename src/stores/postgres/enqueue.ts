/**
 * Accepts jobs: one look at the clock and at the idempotency keys, then one statement that writes all of them. A caller whose
 * jobs are refused is left out, so there is nothing to undo. Where another process writes one of the keys in between,
 * the whole statement is undone, and the second look finds that key taken.
 *
 * Most jobs have no key and name no instant, so that they are accepted alike at any time. They need no look: they are accepted as
 * of 0, and the statement that writes them adds its own time.
 */
import { accept } from '../../domain/accept.ts';
import type { Accepted, NewJob } from '../../domain/accept.ts';
import type { Enqueued, JobStore } from '../../ports/job-store.ts';
import { acceptedMove, repeated } from '../shared/accepting.ts';
import type { KeyEntry } from '../shared/accepting.ts';
import { quoted, toLines } from '../shared/rows.ts';
import { names, numbers, texts } from './columns.ts';
import type { Executor } from './connection.ts';
import type { StoreContext } from './context.ts';
import { isTaken } from './errors.ts';
import { prepared } from './statements.ts';

/** A statement holds all of its parameters at once, on both sides; more than this makes several of them. */
const STATEMENT_CHARACTERS = 8 * 1024 ** 2;
const KEY_TRIES = 5;

interface Checked {
  job: NewJob;
  accepted: Accepted;
}

interface LookRow extends KeyEntry {
  now: number;
  tenant: string | null;
  name: string;
}

interface Look {
  /** Null where the jobs are alike at any time, and nobody looked. */
  now: number | null;
  found: Map<string, KeyEntry>;
}

/** One caller's jobs, before they are written. */
type Answer = { refused: Enqueued } | { checked: Checked[] };

export class Intake {
  readonly #context: StoreContext;
  readonly #sql;

  constructor(context: StoreContext) {
    this.#context = context;
    this.#sql = prepared<{ look: LookRow; add: { now: number; base: number } }>(
      context.connection,
      'enqueue',
    );
  }

  async enqueue(requests: NewJob[][]): Promise<Enqueued[]> {
    const answers: Enqueued[] = [];
    for (const part of parts(requests)) answers.push(...(await untilFree(() => this.#take(part))));
    return answers;
  }

  /** Within the transaction that `client` is in, which goes on whatever we meet there. */
  async enqueueWithin(client: Executor, jobs: NewJob[]): Promise<Enqueued> {
    const [answer] = await untilFree(async () => {
      await client.query({ text: 'SAVEPOINT claimcheck_enqueue' });
      try {
        return await this.#take([jobs], client);
      } catch (error) {
        await client.query({ text: 'ROLLBACK TO SAVEPOINT claimcheck_enqueue' });
        throw error;
      } finally {
        await client.query({ text: 'RELEASE SAVEPOINT claimcheck_enqueue' });
      }
    });
    if (answer === undefined) throw new Error('an enqueue went without an answer');
    return answer;
  }

  async #take(requests: NewJob[][], on?: Executor): Promise<Enqueued[]> {
    const jobs = requests.flat();
    const look = jobs.every(isAlikeAnyTime) ? { now: null, found: new Map() } : await this.#look(jobs, on);
    const answers = requests.map((own) => this.#check(own, look));
    const taken = answers.flatMap((answer) => ('checked' in answer ? answer.checked : []));
    const base = taken.length === 0 ? 0 : await this.#write(taken, look.now, on);
    return answers.map((answer) => ('checked' in answer ? accepted(answer.checked, base) : answer.refused));
  }

  async #look(jobs: NewJob[], on?: Executor): Promise<Look> {
    const keyed = jobs.filter((job) => job.idempotency !== null);
    const rows = await this.#sql.look.all(
      {
        tenants: names(keyed.map((job) => job.tenant)),
        names: texts(keyed.map((job) => quoted(job.idempotency?.key ?? ''))),
      },
      on,
    );
    const known = rows.filter((row) => row.tenant !== null);
    const found = new Map(known.map((row) => [`${row.tenant} ${row.name}`, row]));
    const [any] = rows;
    if (any === undefined) throw new Error('the database told no time');
    return { now: any.now, found };
  }

  /** Takes all of one caller's jobs, or none. */
  #check(jobs: NewJob[], { now, found }: Look): Answer {
    const known = repeated(jobs, ({ tenant, name }) => found.get(`${tenant} ${name}`));
    if (known !== null) return { refused: known };
    const checked: Checked[] = [];
    for (const [index, job] of jobs.entries()) {
      const { accepted: terms, issues } = accept(job, this.#context.rules.caps, now ?? 0);
      if (terms === null) return { refused: { outcome: 'invalid', index, issues } };
      checked.push({ job, accepted: terms });
    }
    for (const { tenant, idempotency, jobId } of jobs) {
      if (idempotency === null) continue;
      const entry = { job_id: jobId, request_sha256: idempotency.requestSha256 };
      found.set(`${tenant} ${quoted(idempotency.key)}`, entry);
    }
    return { checked };
  }

  /** @returns what is to be added to the instants of the jobs */
  async #write(taken: Checked[], now: number | null, on?: Executor): Promise<number> {
    const jobs = taken.map(({ job }) => job);
    const limits = taken.map(({ accepted: terms }) => terms.limits);
    const lanes: number[] = [];
    for (const job of jobs) lanes.push((await this.#laneOf(job)).lane);
    const [added] = await this.#sql.add.all(
      {
        now,
        channel: this.#context.connection.channel,
        lanes: numbers(lanes),
        ids: names(jobs.map((job) => job.jobId)),
        priorities: numbers(jobs.map((job) => job.priority)),
        timeouts: numbers(limits.map((one) => one.timeoutMs)),
        max_attempts: numbers(limits.map((one) => one.maxAttempts)),
        deadlines_at: numbers(limits.map((one) => one.deadlineAt)),
        deadlines: numbers(limits.map((one) => one.deadlineMs)),
        runs_at: numbers(taken.map(({ accepted: terms }) => terms.runAt)),
        keyed: `{${jobs.map((job) => job.idempotency !== null).join(',')}}`,
        inputs: texts(jobs.map((job) => job.inputJson)),
        input_refs: names(jobs.map((job) => job.inputRef ?? '')),
        inputs_sha256: names(jobs.map((job) => job.inputSha256)),
        events: texts(taken.map(({ accepted: terms }) => toLines([terms.event]))),
        ...keyColumns(jobs),
        ...labelColumns(jobs),
      },
      on,
    );
    if (added === undefined) throw new Error('the database told no time');
    const places = taken.map(({ job, accepted: terms }, index) => ({
      lane: lanes[index] ?? 0,
      rank: -job.priority,
      place: terms.runAt + added.base,
      job: Number.MAX_SAFE_INTEGER, // its number is not known here: the last of its place
    }));
    this.#context.marks.cameIn(places);
    return added.base;
  }

  #laneOf({ tenant, workflow, workflowVersion: version, outputSchemaSha256: output_schema_sha256 }: NewJob) {
    return this.#context.lanes.named({ tenant, workflow, version, output_schema_sha256, suspicion: 0 });
  }
}

export function enqueueVerb(intake: Intake): JobStore['enqueue'] {
  return (requests) => intake.enqueue(requests);
}

/** Again where somebody else has written one of the keys in between: the next look finds it. */
async function untilFree<T>(take: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await take();
    } catch (error) {
      if (!isTaken(error, 'idempotency_key') || tries === KEY_TRIES) throw error;
    }
  }
}

function isAlikeAnyTime({ idempotency, runAt, requestedLimits }: NewJob): boolean {
  return idempotency === null && runAt === null && requestedLimits.deadlineAt === undefined;
}

function accepted(checked: Checked[], base: number): Enqueued {
  return {
    outcome: 'accepted',
    jobIds: checked.map(({ job }) => job.jobId),
    repeated: false,
    moved: checked.map(({ job, accepted: { runAt } }) => acceptedMove(job, runAt + base)),
  };
}

/** `key_jobs` says which of the jobs, from 1. */
function keyColumns(jobs: NewJob[]) {
  const keys = jobs.flatMap((job, index) =>
    job.idempotency === null ? [] : [{ ...job.idempotency, ...job, nth: index + 1 }],
  );
  return {
    key_tenants: names(keys.map(({ tenant }) => tenant)),
    key_names: texts(keys.map(({ key }) => quoted(key))),
    key_requests: names(keys.map(({ requestSha256 }) => requestSha256)),
    key_jobs: numbers(keys.map(({ nth }) => nth)),
    key_ids: names(keys.map(({ jobId }) => jobId)),
  };
}

/** `label_jobs` says which of the jobs, from 1. */
function labelColumns(jobs: NewJob[]) {
  const labels = jobs.flatMap(({ tenant, labels: own }, index) =>
    Object.entries(own).map(([name, value]) => ({ tenant, name, value, nth: index + 1 })),
  );
  const own = jobs.map((job) => (Object.keys(job.labels).length === 0 ? null : JSON.stringify(job.labels)));
  return {
    labels: texts(own),
    label_tenants: names(labels.map(({ tenant }) => tenant)),
    label_names: texts(labels.map(({ name }) => quoted(name))),
    label_values: texts(labels.map(({ value }) => quoted(value))),
    label_jobs: numbers(labels.map(({ nth }) => nth)),
  };
}

/** Callers in groups that one statement can carry; a caller stays whole. */
function parts(requests: NewJob[][]): NewJob[][][] {
  const groups: NewJob[][][] = [];
  let characters = Number.POSITIVE_INFINITY;
  for (const jobs of requests) {
    const own = jobs.reduce((sum, { inputJson }) => sum + inputJson.length, 0); // what else it brings is small
    characters += own;
    if (characters > STATEMENT_CHARACTERS) {
      groups.push([]);
      characters = own;
    }
    groups.at(-1)?.push(jobs);
  }
  return groups;
}
