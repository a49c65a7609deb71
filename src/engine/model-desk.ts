/**
 * The record's side of one attempt's calls to models. A call begins with its estimate reserved, or does not begin; it ends with
 * its response durable and its cost settled. What the function is told of an answer, it is told after that.
 *
 * It is made when the function asks for its first model: an attempt that asks for none pays nothing.
 */
import { hash } from 'node:crypto';
import type { CallEnd, CallOpening, ResponseRef } from '../domain/model-call.ts';
import { callsBefore } from '../domain/model-outcome.ts';
import type { Judgement } from '../domain/model-outcome.ts';
import { NONE_STORED } from '../domain/money-rules.ts';
import type { NanoUsd } from '../domain/money.ts';
import type { Evidence } from '../domain/record.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { ClaimedJob, InlineBlob, JobStore } from '../ports/job-store.ts';
import type { CallBegun, Ledger } from '../ports/ledger.ts';
import type { CallDesk, CallPermit, CallSize, StoredResponse } from '../ports/models.ts';
import type { Log } from '../ports/telemetry.ts';
import { AttemptEndedError } from './ending.ts';
import { CallHistory } from './call-history.ts';
import type { AnsweredCall } from './call-history.ts';
import { CallMoney } from './call-money.ts';
import { isPassing, patiently } from './faults.ts';
import type { Partials } from './partials.ts';
import type { EngineSettings } from './settings.ts';
import { storedBytes } from './stored-bytes.ts';
import type { WorkflowDefinition } from './workflow.ts';

export interface ModelDesk extends CallDesk {
  /** Whether calls are under way. */
  isBusy(): boolean;
  /** Resolves when no call is under way but streams, which somebody would have to read. */
  answersCame(): Promise<void>;
  /** The responses that its calls left, for the entry of an attempt that failed. */
  evidence(): Evidence[];
  /** What is to be shown of a refusal of ours, by its rule. */
  messageOf(rule: string | undefined): string | undefined;
  /** How long the job is to wait, where its attempt ended for a provider's pause; null where it ended otherwise. */
  pausedMs(rule: string | undefined): number | null;
  /** Notes that jobs of the workflow wait for the pause. */
  hold(): Promise<void>;
}

export interface ModelDeskDeps {
  ledger: Ledger;
  jobs: Pick<JobStore, 'job' | 'inlineBlob'>;
  blobs: BlobStore;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
  settings: Pick<EngineSettings, 'prices' | 'dayLimit' | 'inlineBytes' | 'maxOutputBytes'>;
  partials: Partials;
}

/** Longer pauses are asked for again: what a provider says once is not to stand for days. */
const MAX_PAUSE_MS = 3_600_000;
const PAUSING = [429, 503, 529];
const PAUSED = 'backpressure/paused';
const RESPONSE_TYPE = 'application/json';

/** A call under way. */
interface Open {
  opening: CallOpening;
}

export function createModelDesk(
  definition: WorkflowDefinition,
  job: ClaimedJob,
  deps: ModelDeskDeps,
): ModelDesk {
  return new Desk(definition, job, deps);
}

class Desk implements ModelDesk {
  readonly #job: ClaimedJob;
  readonly #deps: ModelDeskDeps;
  readonly #money: CallMoney;
  readonly #open = new Map<number, Open>();
  readonly #evidence: Evidence[] = [];
  readonly #messages = new Map<string, string>();
  readonly #rules: (string | null)[] = [];
  readonly #ending = new Set<number>();
  #onAnswers: (() => void) | null = null;
  #places = 0;
  #history: Promise<CallHistory | null> | null = null;
  #paused: { opening: CallOpening; untilMs: number } | null = null;

  constructor({ spending }: WorkflowDefinition, job: ClaimedJob, deps: ModelDeskDeps) {
    this.#job = job;
    this.#deps = deps;
    this.#money = new CallMoney(spending ?? {}, deps.settings, () => deps.clock.now());
  }

  async begin(opening: CallOpening, size: CallSize): Promise<CallPermit> {
    this.#places += 1;
    return this.#begin(this.#places, opening, size);
  }

  isBusy(): boolean {
    return this.#open.size > 0;
  }

  answersCame(): Promise<void> {
    if (!this.#isAwaited()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onAnswers = resolve;
    });
  }

  async end(
    n: number,
    end: CallEnd,
    response: StoredResponse | null,
    retryAfterMs: number | null,
  ): Promise<void> {
    const open = this.#open.get(n);
    if (open === undefined || this.#ending.has(n)) throw new Error('no call of this number is under way');
    this.#ending.add(n);
    try {
      await this.#end(open, n, { end, response, retryAfterMs });
    } finally {
      this.#open.delete(n);
      this.#ending.delete(n);
      if (!this.#isAwaited()) this.#onAnswers?.();
    }
  }

  async #end(
    { opening }: Open,
    n: number,
    {
      end,
      response,
      retryAfterMs,
    }: { end: CallEnd; response: StoredResponse | null; retryAfterMs: number | null },
  ): Promise<void> {
    this.#rules.push(end.rule);
    const { jobId, token } = this.#job;
    const { ref, blob } = await this.#keep(n, response);
    const cost = this.#money.costOf(opening, end);
    const isKept = await patiently(this.#deps, () =>
      this.#deps.ledger.end({ jobId, token, n, end, cost, response: ref, blob }),
    );
    // what is not in the record is not for the function either
    if (!isKept) throw new AttemptEndedError('lease_lost');
    if (ref !== null) this.#evidence.push({ kind: 'model_response', ...ref });
    if (retryAfterMs !== null && PAUSING.includes(end.httpStatus ?? 0))
      await this.#pause(opening, retryAfterMs);
  }

  partial(text: string): void {
    this.#deps.partials.add(this.#job, text);
  }

  evidence(): Evidence[] {
    return this.#evidence;
  }

  messageOf(rule: string | undefined): string | undefined {
    return rule === undefined ? undefined : this.#messages.get(rule);
  }

  pausedMs(rule: string | undefined): number | null {
    if (rule !== PAUSED || this.#paused === null) return null;
    return Math.max(0, this.#paused.untilMs - this.#deps.clock.monotonicMs());
  }

  async hold(): Promise<void> {
    if (this.#paused === null) return;
    await this.#deps.ledger.holdWorkflow(upstreamOf(this.#paused.opening), this.#job.workflow);
  }

  async #begin(place: number, opening: CallOpening, size: CallSize): Promise<CallPermit> {
    const history = await this.#earlier();
    const answered = history?.answerTo(opening) ?? null;
    if (answered !== null) {
      const reused = await this.#reuse(place, opening, answered);
      if (reused !== null) return reused;
    }
    if (history?.fromEvidence === true) {
      const message =
        'The replay is from evidence, and no stored response answers one of its calls to a model.';
      return this.#refuse({ code: 'spending_limit', rule: NONE_STORED }, message);
    }
    const estimate = this.#money.estimateOf(opening, size);
    if (typeof estimate !== 'number') return this.#refuse(estimate.judgement, estimate.message);
    const begun = await this.#write(place, opening, estimate, null);
    if (begun.outcome === 'begun') {
      const { n } = begun;
      this.#open.set(n, { opening });
      const brokenJson = (history?.before.brokenJson ?? false) || callsBefore(this.#rules).brokenJson;
      return { type: 'call', n, known: { brokenJson } };
    }
    return this.#notBegun(opening, estimate, begun);
  }

  #notBegun(
    opening: CallOpening,
    estimate: NanoUsd,
    begun: Exclude<CallBegun, { outcome: 'begun' }>,
  ): CallPermit {
    switch (begun.outcome) {
      case 'lease_lost':
        throw new AttemptEndedError('lease_lost');
      case 'paused': {
        const { forMs } = begun;
        this.#paused = { opening, untilMs: this.#deps.clock.monotonicMs() + forMs };
        return refused({ code: 'upstream_unavailable', rule: PAUSED, retryAfterMs: forMs });
      }
      case 'over_limit': {
        const { judgement, message } = this.#money.overLimit(begun.line, estimate);
        return this.#refuse(judgement, message);
      }
    }
  }

  /** Null where the response is no longer there. */
  async #reuse(place: number, opening: CallOpening, answered: AnsweredCall): Promise<CallPermit | null> {
    const { jobId, token } = this.#job;
    const { response: ref, end } = answered;
    const response = await this.#read(ref);
    if (response === null) return null;
    const begun = await this.#write(place, opening, 0, answered.n);
    if (begun.outcome !== 'begun') return this.#notBegun(opening, 0, begun);
    const { n } = begun;
    const again: CallEnd = { ...end, latencyMs: 0 };
    const isKept = await patiently(this.#deps, () =>
      this.#deps.ledger.end({ jobId, token, n, end: again, cost: 'none', response: ref, blob: null }),
    );
    if (!isKept) throw new AttemptEndedError('lease_lost');
    this.#evidence.push({ kind: 'model_response', ...ref });
    return { type: 'reuse', n, response };
  }

  #write(
    place: number,
    opening: CallOpening,
    estimate: NanoUsd,
    reusedFrom: number | null,
  ): Promise<CallBegun> {
    const { jobId, token, attempt, workflow } = this.#job;
    const { limits } = this.#money;
    const begin = { jobId, token, attempt, place, workflow, opening, estimate, limits, reusedFrom };
    // one whose answer was lost may be written: the same place, begun again, is the same call
    return patiently(this.#deps, () => this.#deps.ledger.begin(begin));
  }

  /** A stream is read by its function; once that is over, nothing more of it will come. */
  #isAwaited(): boolean {
    return [...this.#open.values()].some(({ opening }) => !opening.streamed);
  }

  /** Null in a job's first attempt. */
  #earlier(): Promise<CallHistory | null> {
    if (this.#job.attempt === 1) return NO_HISTORY;
    this.#history ??= this.#readHistory().catch((error: unknown) => {
      this.#history = null; // it may be asked for again
      throw error;
    });
    return this.#history;
  }

  async #readHistory(): Promise<CallHistory | null> {
    const { tenant, jobId, attempt } = this.#job;
    const job = await patiently(this.#deps, () => this.#deps.jobs.job({ tenant, jobId }));
    return job === null ? null : new CallHistory(job, attempt);
  }

  async #read({ uri, sha256 }: ResponseRef): Promise<StoredResponse | null> {
    const bytes = await storedBytes(this.#deps, uri);
    if (bytes !== null && hash('sha256', bytes, 'hex') === sha256)
      return JSON.parse(Buffer.from(bytes).toString()) as StoredResponse;
    this.#deps.log.warn({}, 'a stored response of a model is no longer as it was; it is not used');
    return null;
  }

  /** Small ones are written with the end of their call, larger ones are durable before it. */
  async #keep(
    n: number,
    response: StoredResponse | null,
  ): Promise<{ ref: ResponseRef | null; blob: InlineBlob | null }> {
    const bytes = response === null ? null : this.#bytesOf(response);
    if (bytes === null) return { ref: null, blob: null };
    const { jobId, token } = this.#job;
    const uri = `evidence/${jobId}/${token}/call-${n}.json`;
    const { inlineBytes, maxOutputBytes: maxBytes } = this.#deps.settings;
    if (bytes.byteLength <= inlineBytes) {
      const ref = { uri, sha256: hash('sha256', bytes, 'hex'), bytes: bytes.byteLength };
      return { ref, blob: { uri, bytes, mediaType: RESPONSE_TYPE } };
    }
    const stored = await patiently(this.#deps, () => this.#deps.blobs.put({ uri, body: bytes, maxBytes }));
    return { ref: { uri, ...stored }, blob: null };
  }

  /** Where the whole is too large to be kept, what the SDK made of it; where that is too, nothing. */
  #bytesOf(response: StoredResponse): Uint8Array | null {
    for (const kept of [response, { ...response, raw: null }]) {
      const bytes = Buffer.from(JSON.stringify(kept));
      if (bytes.byteLength <= this.#deps.settings.maxOutputBytes) return bytes;
    }
    this.#deps.log.warn({}, 'the response of a model is too large to be kept');
    return null;
  }

  async #pause(opening: CallOpening, retryAfterMs: number): Promise<void> {
    try {
      await this.#deps.ledger.pause(upstreamOf(opening), Math.min(retryAfterMs, MAX_PAUSE_MS));
    } catch (error) {
      if (!isPassing(error)) throw error; // each call finds out for itself
    }
  }

  #refuse(judgement: Judgement, message: string): CallPermit {
    this.#messages.set(judgement.rule, message);
    return refused(judgement);
  }
}

const NO_HISTORY: Promise<CallHistory | null> = Promise.resolve(null);

function refused(judgement: Judgement): CallPermit {
  return { type: 'refused', judgement };
}

function upstreamOf({ provider, account, requestedModel }: CallOpening) {
  return { provider, account, model: requestedModel };
}
