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
    const held = await read(settlements);
    const planned = settlements.map((settlement) => plan(settlement, held));
    const moved = await applied(planned.filter((one) => one !== null));
    for (const { token } of settlements) remembered.forget(token);
    return planned.map((one) => {
      const written = one === null ? null : (moved.get(one) ?? null);
      return written === null ? { refused: 'lease_lost' } : { moved: written };
    });
  }

  /** The jobs as they are held, by token: those that this process did not claim itself are looked up. */
  async function read(settlements: Settlement[]): Promise<Map<number, SeenRow>> {
    const own = settlements.flatMap(({ jobId, token }) => remembered.get(token, jobId) ?? []);
    const known = new Set(own.map((row) => row.token));
    const others = settlements.filter(({ token }) => !known.has(token)).map(({ jobId }) => jobId);
    const rows = others.length === 0 ? [] : await sql.held.all({ ids: names(others) });
    const now = rows[0]?.now ?? (await sql.now.get({}))?.now ?? 0;
    for (const row of own) row.now = now;
    return new Map([...own, ...rows].map((row) => [row.token ?? 0, row]));
  }

  /** A token is spent by the first settlement that uses it. */
  function plan({ jobId, token, command, blobs }: Settlement, held: Map<number, SeenRow>): Planned | null {
    const row = held.get(token);
    if (row?.id !== jobId) return null;
    const { move } = moves.decide(row, command);
    if (move === undefined) return null;
    held.delete(token);
    return { row, move, blobs };
  }

  async function applied(planned: Planned[]) {
    try {
      const moved = await moves.apply(planned, { revoke: false });
      return new Map(planned.map((one, index) => [one, moved[index]]));
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
