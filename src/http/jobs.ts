/** Routes about jobs: hand in, look, list, cancel, run again. */
import { briefJson, eventsJson, recordJson, statusJson } from '../domain/view.ts';
import type { StatusView } from '../domain/record.ts';
import type { Result } from '../engine/api.ts';
import * as answers from './answers.ts';
import { namesTag, statusTag } from './conditional.ts';
import { endpoint, json, labelFilters } from './endpoint.ts';
import type { Asked, Ctx, Endpoint, Reply, Surface } from './endpoint.ts';
import { lastEventId, streamEvents, wantsEventStream } from './event-stream.ts';
import { UNAUTHORIZED, problem } from './problems.ts';
import type { Parsed, Problem } from './problems.ts';
import { jobRequest, listQuery, requestedLimits, spendingLimit, workflowJson } from './requests.ts';
import {
  BatchBody,
  CancelBody,
  JobBody,
  ListQuery,
  RecordQuery,
  ReplayBody,
  StatusQuery,
} from './schemas.ts';

const RETRY_AFTER_S = '1';

const IDEMPOTENCY = {
  'Idempotency-Key':
    '1 to 255 visible ASCII characters. The same key with an equal body gets the same answer and makes no second job.',
};

const enqueue = endpoint({
  method: 'post',
  path: '/ai-jobs',
  scope: 'jobs',
  doc: {
    summary: 'Hand in a job',
    body: JobBody,
    requestHeaders: IDEMPOTENCY,
    answers: { 202: { description: 'Accepted and durable.', schema: answers.Ticket, headers: ['Location'] } },
    problems: [
      'invalid_request',
      'unknown_workflow',
      'unknown_input_ref',
      'request_timeout',
      'too_large',
      'unsupported_media_type',
      'idempotency_key_reused',
      'storage_full',
    ],
  },
  handle({ c, caller, body }, surface) {
    const key = idempotencyKey(c);
    if (!key.ok) return key;
    return surface.engine
      .enqueue(caller, jobRequest(body), { idempotencyKey: key.value })
      .then((ticket) => (ticket.ok ? accepted(surface, ticket.value.jobId) : ticket));
  },
});

const enqueueBatch = endpoint({
  method: 'post',
  path: '/ai-jobs/batch',
  scope: 'jobs',
  doc: {
    summary: 'Hand in up to 1,000 jobs, all or none',
    body: BatchBody,
    requestHeaders: IDEMPOTENCY,
    answers: {
      202: { description: 'All accepted and durable, in the order of the request.', schema: answers.Tickets },
    },
    problems: enqueue.doc.problems,
  },
  async handle({ c, caller, body }, surface) {
    const key = idempotencyKey(c);
    if (!key.ok) return key;
    const requests = body.jobs.map(jobRequest);
    const tickets = await surface.engine.enqueueBatch(caller, requests, { idempotencyKey: key.value });
    if (!tickets.ok) return tickets;
    return json({ jobs: tickets.value.map(({ jobId }) => ticketJson(surface, jobId)) }, 202);
  },
});

const list = endpoint({
  method: 'get',
  path: '/ai-jobs',
  scope: 'jobs',
  doc: {
    summary: 'List jobs, newest first; `label.<name>=<value>` keeps those with that label',
    query: ListQuery,
    answers: { 200: { description: 'One page.', schema: answers.Page } },
    problems: ['invalid_request'],
  },
  async handle({ c, caller, query }, { engine }) {
    const page = await engine.list(caller, listQuery(query, labelFilters(c)));
    if (!page.ok) return page;
    const jobs = page.value.jobs.map((view) => ({ ...statusJson(view), workflow: view.workflow }));
    return json({ jobs, next: page.value.next });
  },
});

const status = endpoint({
  method: 'get',
  path: '/ai-jobs/:id',
  scope: 'jobs',
  doc: {
    summary: 'The status of a job, at once or (`wait`) when it changes',
    query: StatusQuery,
    requestHeaders: { 'If-None-Match': 'The ETag of the status that you have.' },
    answers: {
      200: { description: 'The status.', schema: answers.Status, headers: ['ETag', 'Retry-After'] },
      304: { description: 'Still the status that you have.', headers: ['ETag', 'Retry-After'] },
    },
    problems: ['invalid_request', 'not_found'],
  },
  handle(asked, surface) {
    const waitMs = (asked.query.wait ?? 0) * 1000;
    const viewed: Promise<Result<StatusView> | Problem> =
      waitMs === 0 ? surface.engine.status(asked.caller, asked.id) : held(asked, surface, waitMs);
    return viewed.then((view) => (view.ok ? statusReply(asked.c, view.value) : view));
  },
});

function statusReply(c: Ctx, view: StatusView): Reply {
  const etag = statusTag(view.seq);
  const headers: Reply['headers'] = { etag, 'cache-control': 'private, no-cache' };
  if (!isOver(view)) headers['retry-after'] = RETRY_AFTER_S;
  if (namesTag(c.header('if-none-match'), etag)) return { status: 304, headers, body: null };
  return json(statusJson(view), 200, headers);
}

/** The status once it is not the one that the caller has: by If-None-Match, else the one at this moment. */
async function held(
  { c, caller, id, token }: Asked<unknown, unknown>,
  { engine }: Surface,
  waitMs: number,
): Promise<Result<StatusView> | Problem> {
  const current = await engine.status(caller, id);
  if (!current.ok || isOver(current.value)) return current;
  const { seq } = current.value;
  const known = c.header('if-none-match');
  if (known !== undefined && !namesTag(known, statusTag(seq))) return current;
  const signal = c.socket === null ? c.signal : AbortSignal.any([c.signal, c.socket.closing]);
  const changed = await engine.waitForChange(caller, id, { seq, waitMs, signal });
  const valid = (await engine.authenticate(token)) !== null; // the key may have been revoked meanwhile
  return valid ? changed : UNAUTHORIZED;
}

const record = endpoint({
  method: 'get',
  path: '/ai-jobs/:id/record',
  scope: 'jobs',
  doc: {
    summary: 'The whole record, with the answers to the five questions',
    query: RecordQuery,
    answers: {
      200: {
        description: 'The record, or (`view=brief`) its outline.',
        schema: answers.Record.or(answers.Brief),
      },
    },
    problems: ['invalid_request', 'not_found'],
  },
  async handle({ caller, id, query }, { engine }) {
    const job = await engine.job(caller, id);
    if (!job.ok) return job;
    return json(query.view === 'brief' ? briefJson(job.value) : recordJson(job.value));
  },
});

const events = endpoint({
  method: 'get',
  path: '/ai-jobs/:id/events',
  scope: 'jobs',
  doc: {
    summary: 'The history of a job: all of it, or (Accept: text/event-stream) live',
    requestHeaders: { 'Last-Event-ID': 'Of a stream: go on after this position.' },
    answers: {
      200: {
        description: 'The events.',
        schema: answers.Events,
        media: 'application/json, text/event-stream',
      },
    },
    problems: ['invalid_request', 'not_found', 'rate_limited'],
  },
  async handle(asked, surface) {
    const { c, caller, id } = asked;
    const after = lastEventId(c.header('last-event-id'));
    if (!after.ok) return after;
    const job = await surface.engine.job(caller, id);
    if (!job.ok) return job;
    return wantsEventStream(c.header('accept'))
      ? streamEvents(asked, surface, job.value, after.value)
      : json({ events: eventsJson(job.value.events) }, 200, { vary: 'Accept' });
  },
});

const cancel = endpoint({
  method: 'post',
  path: '/ai-jobs/:id/cancel',
  scope: 'jobs',
  doc: {
    summary: 'End a job now; a running attempt is told',
    body: CancelBody,
    answers: { 200: { description: 'Cancelled: a dead letter.', schema: answers.Status, headers: ['ETag'] } },
    problems: [
      'invalid_request',
      'not_found',
      'already_ended',
      'request_timeout',
      'too_large',
      'unsupported_media_type',
      'storage_full',
    ],
  },
  async handle({ caller, id, body }, { engine }) {
    const cancelled = await engine.cancel(caller, id, body.reason);
    if (!cancelled.ok) return cancelled;
    const view = await engine.status(caller, id);
    return view.ok ? json(statusJson(view.value), 200, { etag: statusTag(view.value.seq) }) : view;
  },
});

const replay = endpoint({
  method: 'post',
  path: '/ai-jobs/:id/replay',
  scope: 'jobs',
  doc: {
    summary: 'Run a dead letter again, under the same id',
    body: ReplayBody,
    answers: { 202: { description: 'Queued again.', schema: answers.Ticket, headers: ['Location'] } },
    problems: [
      'invalid_request',
      'not_found',
      'not_dead_letter',
      'decision_taken',
      'request_timeout',
      'too_large',
      'unsupported_media_type',
      'storage_full',
    ],
  },
  async handle({ caller, id, body }, surface) {
    const { reason, decision_id: decisionId, limits, from_evidence: fromEvidence } = body;
    const request = {
      reason,
      decisionId,
      limits: requestedLimits(limits),
      spendingLimit: spendingLimit(limits),
      fromEvidence,
    };
    const ticket = await surface.engine.replay(caller, id, request);
    return ticket.ok ? accepted(surface, ticket.value.jobId) : ticket;
  },
});

const workflows = endpoint({
  method: 'get',
  path: '/workflows',
  scope: 'jobs',
  doc: {
    summary: 'The workflows that can be asked for',
    answers: { 200: { description: 'All of them.', schema: answers.Workflows } },
    problems: [],
  },
  handle(_, { engine }) {
    return json({ workflows: engine.workflows().map(workflowJson) });
  },
});

/** A batch comes before what has an `:id` in its place. */
export const jobEndpoints: Endpoint[] = [
  enqueueBatch,
  enqueue,
  list,
  status,
  record,
  events,
  cancel,
  replay,
  workflows,
];

function accepted(surface: Surface, jobId: string): Reply {
  const ticket = ticketJson(surface, jobId);
  return json(ticket, 202, { location: ticket.status_url });
}

/** What a 202 says does not change when a worker was quick, or when the same request comes again. */
function ticketJson(surface: Surface, jobId: string) {
  return { job_id: jobId, status: 'queued', status_url: surface.link(`/ai-jobs/${jobId}`) };
}

function isOver({ status: state }: StatusView): boolean {
  return state === 'completed' || state === 'dead_letter';
}

function idempotencyKey(c: Ctx): Parsed<string | undefined> {
  const key = c.header('idempotency-key');
  if (key === undefined || /^[\x21-\x7e]{1,255}$/.test(key)) return { ok: true, value: key };
  return problem('invalid_request', 'An Idempotency-Key has 1 to 255 visible ASCII characters.');
}
