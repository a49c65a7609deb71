import { DatabaseSync } from '@photostructure/sqlite';
import { expect, test } from 'vitest';
import { Connection } from './connection.ts';

test.each([
  { kept: true, told: 0 },
  { kept: false, told: 1 },
])('whoever remembers is told of an attempt that was undone: $kept', async ({ kept, told }) => {
  const connection = new Connection(new DatabaseSync(':memory:'), 1000);
  let heard = 0;
  connection.onRollback(() => {
    heard += 1;
  });
  await connection.write(() => connection.attempt(() => kept));
  expect(heard).toBe(told);
  await connection.close();
});
