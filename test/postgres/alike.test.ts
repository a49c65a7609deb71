/** Jobs that have all terms in common are written by a statement of their own, which has to write what the other writes. */
import { expect, it } from 'vitest';
import { Fixture } from '../../src/testkit/store/fixture.ts';
import { openPostgresForTest, withClient } from './database.ts';

const TERMS = {
  priority: 5,
  inputRef: 'a-file',
  spendingLimit: 1_500_000_000,
  requestedLimits: { deadlineMs: 90_000 },
  workflowLimits: { timeoutMs: 7000, maxAttempts: 4 },
};
const PAIR = [
  { ...TERMS, inputJson: '{"nth":1}', inputSha256: 'first' },
  { ...TERMS, inputJson: '{"nth":2}', inputSha256: 'second' },
];

it('the record of a job is the same whether it came among jobs like it or beside one that is unlike', async () => {
  const opened = await openPostgresForTest();
  try {
    const f = new Fixture(opened);
    const alike = await f.enqueue(...PAIR);
    const [, ...beside] = await f.enqueue({}, ...PAIR);
    const rowsOf = (ids: string[]) =>
      withClient(async (client) => {
        const { rows } = await client.query<{ row: object }>(
          `SELECT to_jsonb(j) - 'number' - 'id' || jsonb_build_object('ready', to_jsonb(r) - 'job') AS row
          FROM "${opened.schema}".jobs j LEFT JOIN "${opened.schema}".ready r ON r.job = j.number
          WHERE j.id = ANY ($1) ORDER BY j.number`,
          [ids],
        );
        return rows.map(({ row }) => row);
      });
    const rows = await rowsOf(alike);
    expect(rows).toMatchObject([
      { input: '{"nth":1}', ready: { rank: -5 } },
      { input: '{"nth":2}', ready: { rank: -5 } },
    ]);
    expect(rows).toEqual(await rowsOf(beside));
  } finally {
    await opened.dispose();
  }
});
