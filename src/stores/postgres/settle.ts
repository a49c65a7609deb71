/** The ends of attempts, and how far they are: each fenced by the token of its lease. */
import type { JobStore, Settled, Settlement } from '../../ports/job-store.ts';
import { isPlain, names } from './columns.ts';
import type { StoreContext } from './context.ts';
import { isTaken } from './errors.ts';
import type { SeenRow } from '../shared/rows.ts';
import type { Planned } from './moves.ts';
import { prepared } from './statements.ts';

/** A statement holds all of its parameters at once, on both sides; more than this makes several of them. */
const STATEMENT_BYTES = 8 * 1024 ** 2;

export function settleVerbs(context: StoreContext): Pick<JobStore, 'settle' | 'progress'> {
  const { connection, moves, held: remembered } = context;
  const sql = prepared<{ now: { now: number }; held: SeenRow; progress: never }>(connection, 'settle');

  async function settle(settlements: Settlement[]): Promise<Settled[]> {
    const rows = await read(settlements);
    const planned = settlements.map((settlement, index) => plan(settlement, rows[index]));
    const moved = await applied(planned.filter((one) => one !== null));
    for (const { token } of settlements) remembered.forget(token);
    let next = 0;
    return planned.map((one) => {
      const written = one === null ? undefined : moved[next++];
      return written == null ? { refused: 'lease_lost' } : { moved: written };
    });
  }

  /**
   * The jobs as they are held: those that this process did not claim itself are looked up. A token is spent by the first
   * settlement that uses it. Of several attempts of a job only the last can hold its lease, and what is written names a job once.
   */
  async function read(settlements: Settlement[]): Promise<(SeenRow | undefined)[]> {
    const own = settlements.map(({ jobId, token }) => remembered.get(token, jobId));
    const others = settlements.filter((_, index) => own[index] === undefined).map(({ jobId }) => jobId);
    const rows = others.length === 0 ? [] : await sql.held.all({ ids: names(others) });
    const now = rows[0]?.now ?? (await sql.now.get({}))?.now ?? 0;
    const found = new Map(rows.map((row) => [row.token ?? 0, row]));
    const held = settlements.map(({ token }, index) => own[index] ?? found.get(token));
    const last = new Map<number, number>();
    for (const row of held)
      if (row) last.set(row.number, Math.max(row.token ?? 0, last.get(row.number) ?? 0));
    return held.map((row) => {
      if (row === undefined || last.get(row.number) !== row.token) return undefined;
      last.delete(row.number);
      row.now = now;
      return row;
    });
  }

  function plan({ jobId, command, blobs }: Settlement, row: SeenRow | undefined): Planned | null {
    if (row?.id !== jobId) return null;
    const { move } = moves.decide(row, command);
    return move === undefined ? null : { row, move, blobs };
  }

  async function applied(planned: Planned[]) {
    try {
      return await moves.apply(planned, { revoke: false });
    } catch (error) {
      // URIs carry the token of an attempt, so bytes are never replaced by others: a defect of the caller.
      if (isTaken(error, 'blobs_uri'))
        throw new Error('an artifact was written under a key that is taken', { cause: error });
      throw error;
    }
  }

  return {
    async settle(settlements) {
      const settled: Settled[] = [];
      for (const part of parts(settlements)) settled.push(...(await settle(part)));
      return settled;
    },

    async progress({ jobId, token, progress }) {
      if (!isPlain(jobId)) return false;
      const { fraction, note } = progress;
      const params = { id: jobId, token, fraction: JSON.stringify(fraction), note: JSON.stringify(note) };
      return (await sql.progress.count(params)) === 1;
    },
  };
}

function parts(settlements: Settlement[]): Settlement[][] {
  const groups: Settlement[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const settlement of settlements) {
    const own = settlement.blobs.reduce((sum, blob) => sum + blob.bytes.byteLength, 0);
    bytes += own;
    if (bytes > STATEMENT_BYTES) {
      groups.push([]);
      bytes = own;
    }
    groups.at(-1)?.push(settlement);
  }
  return groups;
}
