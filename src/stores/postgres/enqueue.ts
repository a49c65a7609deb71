/**
 * Accepts jobs: one look at the clock and at the idempotency keys, then one statement that writes all of them. A caller whose
 * jobs are refused is left out, so there is nothing to undo. Where another process writes one of the keys in between,
 * the whole statement is undone, and the second look finds that key taken.
 *
 * Most jobs have no key and name no instant, so that they are accepted alike at any time. They need no look: they are accepted as
 * of 0, and the statement that writes them adds its own time. Where they also have all terms in common, that is a smaller statement:
 * setting up the large one costs as much as some jobs do.
 */
import { accept } from '../../domain/accept.ts';
import type { NewJob, NewRequest } from '../../domain/accept.ts';
import type { Enqueued, JobStore } from '../../ports/job-store.ts';
import { acceptedMove, repeated } from '../shared/accepting.ts';
import type { KeyEntry } from '../shared/accepting.ts';
import { quoted } from '../shared/rows.ts';
import { names, numbers, texts } from './columns.ts';
import type { Executor } from './connection.ts';
import type { StoreContext } from './context.ts';
import { isTaken } from './errors.ts';
import type { Place } from './marks.ts';
import { prepared } from './statements.ts';
import { termColumns, termsOf, termValues } from './terms.ts';
import type { Checked, Terms } from './terms.ts';

/** A statement holds all of its parameters at once, on both sides; more than this makes several of them. */
const STATEMENT_CHARACTERS = 8 * 1024 ** 2;
const KEY_TRIES = 5;

interface LookRow {
  now: number;
  /** Null where none of the keys is known. */
  tenant: string | null;
  name: string;
  request_sha256: string;
  job_ids: string[];
}

interface AddedRow {
  base: number;
}

interface Look {
  /** Null where the jobs are alike at any time, and nobody looked. */
  now: number | null;
  /** By `keyOf`. */
  found: Map<string, KeyEntry>;
}

/** One caller's jobs that are taken. */
interface Taken {
  request: NewRequest;
  checked: Checked[];
}

/** One caller's request, before it is written. */
type Answer = { refused: Enqueued } | Taken;

export class Intake {
  readonly #context: StoreContext;
  readonly #sql;

  constructor(context: StoreContext) {
    this.#context = context;
    this.#sql = prepared<{ look: LookRow; add: AddedRow; addAlike: AddedRow }>(context.connection, 'enqueue');
  }

  async enqueue(requests: readonly NewRequest[]): Promise<Enqueued[]> {
    const answers: Enqueued[] = [];
    for (const part of parts(requests)) answers.push(...(await untilFree(() => this.#take(part))));
    return answers;
  }

  /** Within the transaction that `client` is in, which goes on whatever we meet there. */
  async enqueueWithin(client: Executor, request: NewRequest): Promise<Enqueued> {
    const [answer] = await untilFree(async () => {
      await client.query({ text: 'SAVEPOINT claimcheck_enqueue' });
      try {
        return await this.#take([request], client);
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

  async #take(requests: readonly NewRequest[], on?: Executor): Promise<Enqueued[]> {
    const look = requests.every(isAlikeAnyTime)
      ? { now: null, found: new Map<string, KeyEntry>() }
      : await this.#look(requests, on);
    const answers = requests.map((request) => this.#check(request, look));
    const taken = answers.filter((answer) => 'checked' in answer);
    const base = taken.length === 0 ? 0 : await this.#write(taken, look.now, on);
    return answers.map((answer) => ('checked' in answer ? accepted(answer.checked, base) : answer.refused));
  }

  async #look(requests: readonly NewRequest[], on?: Executor): Promise<Look> {
    const keys = requests.flatMap((request) => keyOf(request) ?? []);
    const rows = await this.#sql.look.all(
      { tenants: names(keys.map(({ tenant }) => tenant)), names: texts(keys.map(({ name }) => name)) },
      on,
    );
    const known = rows.filter((row) => row.tenant !== null);
    const found = new Map(
      known.map((row) => [
        `${row.tenant} ${row.name}`,
        { request_sha256: row.request_sha256, jobIds: row.job_ids },
      ]),
    );
    const [any] = rows;
    if (any === undefined) throw new Error('the database told no time');
    return { now: any.now, found };
  }

  /** Takes all of one caller's jobs, or none. */
  #check(request: NewRequest, { now, found }: Look): Answer {
    const { jobs } = request;
    const key = keyOf(request);
    const known = key === null ? undefined : found.get(key.id);
    if (known !== undefined) return { refused: repeated(request, known) };
    const checked: Checked[] = [];
    for (const [index, job] of jobs.entries()) {
      const { accepted: terms, issues } = accept(job, this.#context.rules.caps, now ?? 0);
      if (terms === null) return { refused: { outcome: 'invalid', index, issues } };
      checked.push({ job, accepted: terms });
    }
    if (key !== null)
      found.set(key.id, { request_sha256: key.requestSha256, jobIds: jobs.map((job) => job.jobId) });
    return { request, checked };
  }

  /** @returns what is to be added to the instants of the jobs */
  async #write(requests: Taken[], now: number | null, on?: Executor): Promise<number> {
    const taken = requests.flatMap(({ checked }) => checked);
    const jobs = taken.map(({ job }) => job);
    const { terms, places } = termsOf(taken);
    const lanes: number[] = [];
    for (const { job } of terms) lanes.push((await this.#laneOf(job)).lane);
    const [first] = terms;
    const told_later = on !== undefined;
    const oneForAll = now === null && terms.length === 1 && first?.labels === null;
    const added = oneForAll
      ? await this.#sql.addAlike.all(
          { ...this.#jobColumns(jobs), told_later, lane: lanes[0] ?? 0, ...termValues(first) },
          on,
        )
      : await this.#sql.add.all(
          {
            ...this.#jobColumns(jobs),
            told_later,
            now,
            terms: numbers(places),
            lanes: numbers(lanes),
            ...termColumns(terms),
            ...keyColumns(requests.map(({ request }) => request)),
            ...labelColumns(jobs),
          },
          on,
        );
    if (added[0] === undefined) throw new Error('the database told no time');
    const { base } = added[0];
    this.#context.marks.cameIn(terms.map((term, index) => placeOf(term, lanes[index] ?? 0, base)));
    return base;
  }

  #jobColumns(jobs: readonly NewJob[]) {
    return {
      channel: this.#context.connection.channel,
      ids: names(jobs.map((job) => job.jobId)),
      inputs: texts(jobs.map((job) => job.inputJson)),
      inputs_sha256: names(jobs.map((job) => job.inputSha256)),
    };
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

function isAlikeAnyTime({ jobs, idempotency }: NewRequest): boolean {
  const named = ({ runAt, requestedLimits }: NewJob) =>
    runAt !== null || requestedLimits.deadlineAt !== undefined;
  return idempotency === null && !jobs.some(named);
}

/** A request's idempotency key as the table has it; `id` is unlike that of any other. */
function keyOf({ jobs, idempotency }: NewRequest) {
  const tenant = jobs[0]?.tenant;
  if (idempotency === null || tenant === undefined) return null;
  const name = quoted(idempotency.key);
  return { tenant, name, requestSha256: idempotency.requestSha256, id: `${tenant} ${name}` };
}

/** Where the jobs of these terms came in: the last of its place, since their numbers are not known here. */
function placeOf({ job, accepted: { runAt } }: Terms, lane: number, base: number): Place {
  return { lane, rank: -job.priority, place: runAt + base, job: Number.MAX_SAFE_INTEGER };
}

function accepted(checked: Checked[], base: number): Enqueued {
  return {
    outcome: 'accepted',
    jobIds: checked.map(({ job }) => job.jobId),
    repeated: false,
    moved: checked.map(({ job, accepted: { runAt } }) => acceptedMove(job, runAt + base)),
  };
}

/** `key_firsts` and `key_lasts` say which of the jobs, from 1. */
function keyColumns(requests: NewRequest[]) {
  let last = 0;
  const keys = requests.flatMap((request) => {
    const first = last + 1;
    last += request.jobs.length;
    const key = keyOf(request);
    return key === null ? [] : [{ ...key, first, last }];
  });
  return {
    key_tenants: names(keys.map(({ tenant }) => tenant)),
    key_names: texts(keys.map(({ name }) => name)),
    key_requests: names(keys.map(({ requestSha256 }) => requestSha256)),
    key_firsts: numbers(keys.map((key) => key.first)),
    key_lasts: numbers(keys.map((key) => key.last)),
  };
}

/** `label_jobs` says which of the jobs, from 1. */
function labelColumns(jobs: NewJob[]) {
  const labels = jobs.flatMap(({ tenant, labels: own }, index) =>
    Object.entries(own).map(([name, value]) => ({ tenant, name, value, nth: index + 1 })),
  );
  return {
    label_tenants: names(labels.map(({ tenant }) => tenant)),
    label_names: texts(labels.map(({ name }) => quoted(name))),
    label_values: texts(labels.map(({ value }) => quoted(value))),
    label_jobs: numbers(labels.map(({ nth }) => nth)),
  };
}

/** Callers in groups that one statement can carry; a caller stays whole. */
function parts(requests: readonly NewRequest[]): NewRequest[][] {
  const groups: NewRequest[][] = [];
  let characters = Number.POSITIVE_INFINITY;
  for (const request of requests) {
    const own = request.jobs.reduce((sum, { inputJson }) => sum + inputJson.length, 0); // what else it brings is small
    characters += own;
    if (characters > STATEMENT_CHARACTERS) {
      groups.push([]);
      characters = own;
    }
    groups.at(-1)?.push(request);
  }
  return groups;
}
