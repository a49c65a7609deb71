/** A real queue, the real SDK, and a provider on loopback: what a call leaves on both sides of the wire. */
import { createOpenAI } from '@ai-sdk/openai';
import type { Price } from '../../src/domain/money.ts';
import type { Job } from '../../src/domain/record.ts';
import { DEFAULT_TENANT } from '../../src/engine/engine.ts';
import type { EngineSettings } from '../../src/engine/settings.ts';
import type { Worker } from '../../src/engine/worker.ts';
import type { WorkflowDefinition } from '../../src/index.ts';
import { openParts } from '../../src/main/open.ts';
import type { Parts } from '../../src/main/open.ts';
import { createTelemetry } from '../../src/main/telemetry.ts';
import type { StoredResponse } from '../../src/ports/models.ts';
import { startFakeProvider } from '../../src/testing.ts';
import type { FakeProvider, ProviderReply } from '../../src/testing.ts';
import { onTestFinished } from 'vitest';
import { tempDir } from '../support/claimcheck.ts';

/** A dollar a million tokens in, ten out: a token is 1,000 and 10,000 nano-dollars. */
const PRICES: readonly Price[] = [
  { model: 'openai/m-1', from: '2026-01-01', input: 1e9, output: 10e9, maxOutputTokens: 1_000 },
];
export const caller = { tenant: DEFAULT_TENANT, actor: 'local:test' };

export interface Scene {
  provider: FakeProvider;
  parts: Parts;
  dataDir: string;
  worker(): Worker;
  enqueue(workflow: string, input?: unknown, limits?: object): Promise<string>;
  job(jobId: string): Promise<Job>;
  /** The record once the job has ended. */
  ended(jobId: string): Promise<Job>;
  replay(jobId: string, request?: object): Promise<void>;
  response(uri: string): Promise<StoredResponse>;
}

/** A model of the provider's, over OpenAI's Chat Completions. */
export function modelAt(url: string, name = 'm-1') {
  return createOpenAI({ baseURL: `${url}/v1`, apiKey: 'sk-very-secret' }).chat(name);
}

export async function openScene(
  workflowsOf: (provider: FakeProvider) => WorkflowDefinition[],
  options: { script?: ProviderReply[]; settings?: Partial<EngineSettings> } = {},
): Promise<Scene> {
  const provider = await startFakeProvider({ script: options.script ?? [{ reply: 'ok', text: 'hello' }] });
  const dataDir = await tempDir();
  const parts = await openParts({
    dataDir,
    workflows: workflowsOf(provider),
    model: null,
    telemetry: createTelemetry({ level: 'silent', process: 'test' }),
    settings: {
      leaseMs: 600,
      graceMs: 200,
      shutdownMs: 100,
      backoff: { baseMs: 1, capMs: 5 },
      prices: PRICES,
      ...options.settings,
    },
  });
  parts.sweeper.start();
  const workers: Worker[] = [];
  onTestFinished(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    await parts.close();
    await provider.close();
  });
  const { engine, store } = parts;

  async function job(jobId: string): Promise<Job> {
    const found = await store.jobs.job({ tenant: DEFAULT_TENANT, jobId });
    if (found === null) throw new Error('no such job');
    return found;
  }

  return {
    provider,
    parts,
    dataDir,
    job,
    worker() {
      const worker = parts.createWorker();
      workers.push(worker);
      worker.start();
      return worker;
    },
    async enqueue(workflow, input, limits) {
      const accepted = await engine.enqueue(caller, { workflow, input, limits });
      if (!accepted.ok) throw new Error(accepted.detail);
      return accepted.value.jobId;
    },
    async ended(jobId) {
      const signal = AbortSignal.timeout(20_000);
      for (;;) {
        const view = await engine.waitForChange(caller, jobId, { waitMs: 20_000, signal });
        if (!view.ok) throw new Error(view.detail);
        if (['completed', 'dead_letter'].includes(view.value.status)) return job(jobId);
        if (signal.aborted) throw new Error(`${jobId} did not end: ${JSON.stringify(await job(jobId))}`);
      }
    },
    async replay(jobId, request = {}) {
      const acted = await store.jobs.act({
        tenant: DEFAULT_TENANT,
        jobId,
        command: { type: 'replay', actor: 'local:test', reason: 'mended', ...request },
      });
      if (acted.outcome !== 'moved') throw new Error(acted.outcome);
      parts.announce([acted.moved]);
    },
    async response(uri) {
      const inline = await store.jobs.inlineBlob({ uri });
      if (inline === null) throw new Error(`nothing is under ${uri}`);
      return JSON.parse(Buffer.from(inline.bytes).toString()) as StoredResponse;
    },
  };
}
