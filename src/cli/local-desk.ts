/** The desk in this process: a store that was opened here, without any server. */
import { accountJson } from '../domain/accounts.ts';
import { callJson } from '../domain/call-view.ts';
import { briefJson, eventsJson, recordJson, statusJson } from '../domain/view.ts';
import type { EventJson } from '../domain/view.ts';
import type { Job, StatusView } from '../domain/record.ts';
import type { Caller, EngineApi, KeyView, Result, Ticket } from '../engine/api.ts';
import { Refusal, isTerminal } from './desk.ts';
import type { Desk, KeyJson, TicketJson } from './desk.ts';

const WAIT_MS = 20_000;

export function createLocalDesk(params: {
  engine: EngineApi;
  caller: Caller;
  close: () => Promise<void>;
}): Desk {
  const { engine, caller, close } = params;
  const job = async (jobId: string): Promise<Job> => granted(await engine.job(caller, jobId));

  async function* follow(jobId: string, { signal }: { signal: AbortSignal }): AsyncGenerator<EventJson> {
    let seen = 0;
    while (!signal.aborted) {
      const current = await job(jobId);
      yield* eventsJson(current.events).slice(seen);
      seen = current.events.length;
      if (isTerminal(current.status)) return;
      granted(await engine.waitForChange(caller, jobId, { seq: seen, waitMs: WAIT_MS, signal }));
    }
  }

  return {
    enqueue: async (request, idempotencyKey) =>
      ticketJson(granted(await engine.enqueue(caller, request, { idempotencyKey }))),
    async upload(file) {
      const { inputRef, mediaType, ...stored } = granted(await engine.upload(caller, file));
      return { input_ref: inputRef, ...stored, media_type: mediaType };
    },
    status: async (jobId) => statusJson(granted(await engine.status(caller, jobId))),
    record: async (jobId) => recordJson(await job(jobId)),
    brief: async (jobId) => briefJson(await job(jobId)),
    async list(filter) {
      const { jobs, next } = granted(await engine.list(caller, filter));
      const listed = (view: StatusView) => ({ ...statusJson(view), workflow: view.workflow });
      return { jobs: jobs.map(listed), next };
    },
    follow,
    cancel: async (jobId, reason) => ticketJson(granted(await engine.cancel(caller, jobId, reason))),
    replay: async (jobId, request) => ticketJson(granted(await engine.replay(caller, jobId, request))),
    artifact: async (jobId, name) => granted(await engine.openArtifact(caller, jobId, name)).stream(),
    evidence: async (jobId, uri) => granted(await engine.openEvidence(caller, jobId, uri)).stream(),
    inputFile: async (jobId) => granted(await engine.openInputFile(caller, jobId)).stream(),
    spending: async () => (await engine.spending(caller)).map(accountJson),
    setSpendingLimit: async (request) => accountJson(granted(await engine.setSpendingLimit(caller, request))),
    settleCall: async (jobId, n, said) => callJson(granted(await engine.settleCall(caller, jobId, n, said))),
    async createKey(name, scopes) {
      const { key, view } = await engine.createKey(caller, name, scopes);
      return { key, ...keyJson(view) };
    },
    listKeys: async () => (await engine.listKeys(caller)).map(keyJson),
    async revokeKey(id) {
      if (await engine.revokeKey(caller, id)) return;
      throw new Refusal({ code: 'not_found', detail: 'There is no such key, or it was revoked before.' });
    },
    close,
  };
}

function granted<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw new Refusal(result);
}

function keyJson({ id, name, scopes, createdAt, revokedAt }: KeyView): KeyJson {
  return {
    id,
    name,
    scopes,
    created_at: iso(createdAt),
    revoked_at: revokedAt === null ? null : iso(revokedAt),
  };
}

function iso(at: number): string {
  return new Date(at).toISOString();
}

function ticketJson({ jobId, status }: Ticket): TicketJson {
  return { job_id: jobId, status, status_url: `/ai-jobs/${encodeURIComponent(jobId)}` };
}
