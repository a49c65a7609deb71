/**
 * Clients of an API that may be killed at any moment. Each writes down what it asks for before it asks, and then what it
 * was told: a request without a reply may or may not have done its work.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { canonicalJson } from '../../domain/json.ts';
import type { JsonValue } from '../../domain/json.ts';
import type { ClientLog, CreateLine, Told } from '../checker/history.ts';
import { ask, follow } from './asking.ts';
import type { Api, Reply, StreamedEvent } from './asking.ts';

interface JobBody {
  workflow: 'demo';
  input: JsonValue;
  limits: { max_attempts: number; timeout_ms: number };
}

const LIMITS = { max_attempts: 3, timeout_ms: 30_000 };
const LONG_TEXT = 'x'.repeat(20_000);
/** Of so many acknowledged jobs, one is followed by its stream. */
const FOLLOWED = 10;

/** So many of the last jobs are cancelled and replayed: older ones have ended long ago. */
const RECENT = 200;

export class Clients {
  readonly log: Required<ClientLog> = { creates: [], cancels: [], replays: [], streams: [] };
  readonly #api: Api;
  readonly #random: () => number;
  readonly #acknowledged = new Set<string>();
  #recent: string[] = [];
  readonly #following: Promise<void>[] = [];
  #asked = 0;

  /** @param random uniform in [0, 1) */
  constructor(api: Api, random: () => number) {
    this.#api = api;
    this.#random = random;
  }

  /** One client: asks for one thing or another until `signal` fires. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#deed();
      await sleep(this.#random() * 20);
    }
  }

  acknowledged(): number {
    return this.#acknowledged.size;
  }

  /** Hands in a job that takes seconds, and resolves when it is seen running. */
  async runLong(): Promise<void> {
    const body: JobBody = { workflow: 'demo', input: { mode: 'slow', ms: 3000 }, limits: LIMITS };
    const line = this.#note(body.input);
    const reply = await ask(this.#api, 'POST', '/ai-jobs', body);
    const jobId = (reply.json as { job_id?: string } | null)?.job_id;
    this.#heard(line, reply, jobId);
    for (let status = ''; status !== 'running'; await sleep(20)) {
      const { json } = await ask(this.#api, 'GET', `/ai-jobs/${jobId}`);
      status = (json as { status?: string } | null)?.status ?? '';
      if (status === 'completed' || status === 'dead_letter')
        throw new Error(`the long job was ${status} at once`);
    }
  }

  /** Resolves when every stream that was opened has seen its job's end. */
  async followed(): Promise<void> {
    await Promise.all(this.#following);
  }

  #deed(): Promise<void> {
    const chance = this.#random();
    if (chance < 0.6) return this.#create();
    if (chance < 0.7) return this.#createBatch();
    if (chance < 0.8) return this.#createWrongly();
    const jobId = this.#recent[Math.floor(this.#random() * this.#recent.length)];
    if (jobId === undefined) return Promise.resolve();
    return chance < 0.9 ? this.#cancel(jobId) : this.#replay(jobId);
  }

  async #create(): Promise<void> {
    const body = this.#job();
    const idempotencyKey = this.#random() < 0.4 ? `key-${this.#asked}` : undefined;
    // with a key it is safe to ask again, after no reply and after a good one
    const times = idempotencyKey === undefined ? 1 : 2 + Math.floor(this.#random() * 3);
    for (let time = 0; time < times; time += 1) {
      const line = this.#note(body.input, idempotencyKey);
      const reply = await ask(this.#api, 'POST', '/ai-jobs', body, idempotencyKey);
      this.#heard(line, reply, (reply.json as { job_id?: string } | null)?.job_id);
    }
  }

  async #createBatch(): Promise<void> {
    const jobs = [this.#job(), this.#job(), this.#job()];
    const lines = jobs.map(({ input }) => this.#note(input));
    const reply = await ask(this.#api, 'POST', '/ai-jobs/batch', { jobs });
    const ids = (reply.json as { jobs?: { job_id: string }[] } | null)?.jobs ?? [];
    for (const [index, line] of lines.entries()) this.#heard(line, reply, ids[index]?.job_id);
  }

  /** A request that must be refused and leave nothing. */
  async #createWrongly(): Promise<void> {
    const body = { ...this.#job(), tenant: 'other' };
    const line = this.#note(body.input);
    this.#heard(line, await ask(this.#api, 'POST', '/ai-jobs', body), undefined);
  }

  async #cancel(jobId: string): Promise<void> {
    const line = { jobId, told: 'nothing' as Told };
    this.log.cancels.push(line);
    line.told = (
      await ask(this.#api, 'POST', `/ai-jobs/${jobId}/cancel`, { reason: 'no longer needed' })
    ).told;
  }

  /** Two at once, as two people would: one wins at most. */
  async #replay(jobId: string): Promise<void> {
    const { json } = await ask(this.#api, 'GET', `/ai-jobs/${jobId}/record`);
    const decision = (json as { decision?: { decision_id: string } | null } | null)?.decision;
    if (!decision) return;
    const body = { reason: 'again', decision_id: decision.decision_id };
    const replays = [0, 1].map(async () => {
      const line = { jobId, decisionId: decision.decision_id, told: 'nothing' as Told };
      this.log.replays.push(line);
      line.told = (await ask(this.#api, 'POST', `/ai-jobs/${jobId}/replay`, body)).told;
    });
    await Promise.all(replays);
  }

  #note(input: JsonValue, idempotencyKey?: string): CreateLine {
    const inputSha256 = createHash('sha256').update(canonicalJson(input)).digest('hex');
    const keyed = idempotencyKey === undefined ? {} : { idempotencyKey };
    const line: CreateLine = { tenant: 'default', told: 'nothing', inputSha256, ...keyed };
    this.log.creates.push(line);
    return line;
  }

  #heard(line: CreateLine, { told }: Reply, jobId: string | undefined): void {
    line.told = told;
    if (told !== 'accepted' || jobId === undefined) return;
    line.jobId = jobId;
    if (this.#acknowledged.has(jobId)) return;
    this.#acknowledged.add(jobId);
    this.#recent = [...this.#recent, jobId].slice(-RECENT);
    if (this.#acknowledged.size % FOLLOWED !== 0) return;
    const events: StreamedEvent[] = [];
    this.log.streams.push({ jobId, events });
    // it ends early only where the API ended by itself, which is told elsewhere
    this.#following.push(follow(this.#api, jobId, events).catch(() => {}));
  }

  /** A job of one fate or another, most with an input that no other has. */
  #job(): JobBody {
    this.#asked += 1;
    const number = this.#asked;
    const inputs: JsonValue[] = [
      { mode: 'echo', value: number },
      { mode: 'echo', value: number },
      { mode: 'echo', value: `${number} ${LONG_TEXT}` },
      { mode: 'slow', ms: 300 + ((number * 97) % 1200) },
      { mode: 'slow', ms: 1000 + ((number * 97) % 3000) },
      { mode: 'flaky', fail_times: 1 },
      { mode: 'throw', message: `${number}` },
      { mode: 'malformed' },
      { mode: 'always_fail' },
    ];
    const input = inputs[Math.floor(this.#random() * inputs.length)] ?? null;
    return { workflow: 'demo', input, limits: LIMITS };
  }
}
