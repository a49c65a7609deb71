/**
 * Calls to models and their money. Each verb is one statement, so that no account is held between two of them: the day's is
 * every call's, and a process that dies or dawdles while it holds it would stop all others.
 */
import { StoreUnavailableError } from '../../ports/job-store.ts';
import type { CallBegun, Ledger, Upstream } from '../../ports/ledger.ts';
import { askedOf, billOf, callOf, knownLimitOf, limitName, passedBy } from '../shared/calls.ts';
import type { CallRow, KnownLimitRow, LineRow } from '../shared/calls.ts';
import { quoted } from '../shared/rows.ts';
import { isPlain } from './columns.ts';
import type { StoreContext } from './context.ts';
import { isTaken } from './errors.ts';
import { fewAtOnce } from './few-at-once.ts';
import { prepared } from './statements.ts';
import type { Statements } from './statements.ts';

/** What others change each time between two looks at it is looked at again. */
const TRIES = 20;

/**
 * All calls take the account of the day, one after the other. More of them on their way would only keep connections from
 * those that have leases to renew.
 */
const AT_ONCE = 2;

type Begin = Parameters<Ledger['begin']>[0];

/** A line of an account; the first three are the same on each. There are no lines where nothing was looked up in them. */
interface BeginRow extends LineRow {
  held: boolean;
  /** The call's number, where it was begun. */
  n: number | null;
  for_ms: number | null;
  /** Null where there is no such account yet. */
  number: number | null;
}

interface Rows {
  begin: BeginRow;
  open: never;
  end: { ended: boolean };
  settleUnknown: { settled: boolean };
  calls: CallRow & { current: number | null };
  unknownCalls: CallRow & { id: string; tenant: string; workflow: string };
  setLimit: never;
  limits: KnownLimitRow;
  pause: never;
  holdWorkflow: never;
  heldWorkflows: { workflow: string; for_ms: number };
}

export function ledgerOf({ connection }: StoreContext): Ledger {
  const sql = prepared<Rows>(connection, 'ledger');
  const inTurn = fewAtOnce(AT_ONCE);
  return {
    begin: (params) => inTurn(() => begin(sql, params)),
    end: (params) => inTurn(() => end(sql, params)),
    settleUnknown: (params) => settleUnknown(sql, params),
    ...readVerbs(sql),
    ...limitVerbs(sql),
    ...pauseVerbs(sql),
  };
}

/** A refusal has to come twice: the first may be by this same begin, which was sent before and is on its way still. */
async function begin(sql: Statements<Rows>, params: Begin): Promise<CallBegun> {
  let refusals = 0;
  for (let tries = 1; tries <= TRIES; tries += 1) {
    const answer = await tryBegin(sql, params).catch(nullIfTaken);
    if (answer?.outcome === 'over_limit') refusals += 1;
    if (answer !== null && (answer.outcome !== 'over_limit' || refusals === 2)) return answer;
  }
  throw new StoreUnavailableError(`the accounts of ${params.jobId} are written by others all the time`);
}

/** Null where it has to be tried again: the accounts of the day were missing, or the job's was made by another call just now. */
async function tryBegin(sql: Statements<Rows>, params: Begin): Promise<CallBegun | null> {
  const rows = await sql.begin.all(columnsOf(params));
  const [row] = rows;
  if (row === undefined) throw new Error('a begin went without an answer');
  if (!row.held) return { outcome: 'lease_lost' };
  if (row.n !== null) return { outcome: 'begun', n: row.n };
  if (row.for_ms !== null) return { outcome: 'paused', forMs: row.for_ms };
  if (rows.some(({ number, scope }) => number === null && scope !== 'job')) {
    await sql.open.count({ workflow: params.workflow });
    return null;
  }
  const line = passedBy(rows, params.estimate);
  return line === null ? null : { outcome: 'over_limit', line };
}

function columnsOf(params: Begin) {
  const { jobId: id, token, attempt, place, workflow, opening, limits, reusedFrom } = params;
  const { provider, account, requestedModel: model } = opening;
  return {
    id,
    token,
    attempt,
    place,
    workflow,
    ...askedOf(params),
    ...quotedOf({ provider, account, model }),
    opening: JSON.stringify(opening),
    workflow_limit: limits.workflow,
    day_limit: limits.day,
    reused_from: reusedFrom,
  };
}

/** The same call was begun by the same begin, sent twice: the next look finds it. */
function nullIfTaken(error: unknown): null {
  if (isTaken(error, 'model_calls_place')) return null;
  throw error;
}

async function end(sql: Statements<Rows>, params: Parameters<Ledger['end']>[0]): Promise<boolean> {
  const { jobId: id, token, n, cost, response, blob } = params;
  const row = await sql.end.get({
    id,
    token,
    n,
    ...billOf(cost),
    ended: JSON.stringify(params.end),
    response: response === null ? null : JSON.stringify(response),
    blob_uri: blob?.uri ?? null,
    blob_media_type: blob === null ? null : quoted(blob.mediaType),
    blob_bytes: blob === null ? null : Buffer.from(blob.bytes),
  });
  return row?.ended === true;
}

async function settleUnknown(sql: Statements<Rows>, params: Parameters<Ledger['settleUnknown']>[0]) {
  const { tenant, jobId: id, n, cost, actor, reason } = params;
  if (!isPlain(id)) return 'not_found';
  const settled_by = JSON.stringify({ actor, reason });
  const row = await sql.settleUnknown.get({ tenant, id, n, cost, settled_by });
  if (row === undefined) return 'not_found';
  return row.settled ? 'settled' : 'not_unknown';
}

function readVerbs(sql: Statements<Rows>): Pick<Ledger, 'calls' | 'unknownCalls'> {
  return {
    async calls({ jobId: id }) {
      const rows = isPlain(id) ? await sql.calls.all({ id }) : [];
      return rows.map((row) => callOf(row, row.current));
    },

    async unknownCalls({ limit }) {
      const rows = await sql.unknownCalls.all({ limit });
      return rows.map((row) => {
        const { id: jobId, tenant, workflow } = row;
        return { jobId, tenant, workflow, call: callOf(row, null) };
      });
    },
  };
}

function limitVerbs(sql: Statements<Rows>): Pick<Ledger, 'setLimit' | 'limits'> {
  return {
    async setLimit({ scope, name, limit, actor, reason }) {
      const who = { actor: quoted(actor), reason: quoted(reason) };
      await sql.setLimit.count({ scope, name: limitName({ scope, name }), amount: limit, ...who });
    },

    limits: async () => (await sql.limits.all({})).map(knownLimitOf),
  };
}

function pauseVerbs(sql: Statements<Rows>): Pick<Ledger, 'pause' | 'holdWorkflow' | 'heldWorkflows'> {
  return {
    async pause(upstream, forMs) {
      await sql.pause.count({ ...quotedOf(upstream), for_ms: forMs });
    },

    async holdWorkflow(upstream, workflow) {
      await sql.holdWorkflow.count({ ...quotedOf(upstream), workflow });
    },

    async heldWorkflows() {
      const rows = await sql.heldWorkflows.all({});
      return rows.map(({ workflow, for_ms }) => ({ workflow, forMs: for_ms }));
    },
  };
}

/** Names that come from a workflow's code, as the tables keep them. */
function quotedOf({ provider, account, model }: Upstream) {
  return { provider: quoted(provider), account: quoted(account), model: quoted(model) };
}
