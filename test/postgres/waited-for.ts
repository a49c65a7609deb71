/** Knowing that statements of others stand still, by the locks that they wait for. */
import type { Client } from 'pg';
import { expect } from 'vitest';

/**
 * Resolves when so many others wait for this client, or for one who does. Within a transaction the server shows what it
 * showed before, unless told to forget it.
 */
export async function waitedFor(client: Client, count: number): Promise<void> {
  const sql = `WITH RECURSIVE waiting (pid) AS (
    SELECT pg_backend_pid() UNION
    SELECT a.pid FROM waiting w JOIN pg_stat_activity a ON a.wait_event_type = 'Lock' AND w.pid = ANY (pg_blocking_pids(a.pid))
  ) SELECT pid FROM waiting WHERE pid <> pg_backend_pid()`;
  const look = async () => {
    await client.query('SELECT pg_stat_clear_snapshot()');
    return (await client.query(sql)).rowCount;
  };
  await expect.poll(look, { timeout: 8000 }).toBe(count);
}
