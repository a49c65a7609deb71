import { array, assert, asyncProperty, constantFrom, nat, record } from 'fast-check';
import { expect, it } from 'vitest';
import { Fixture } from '../../testkit/store/fixture.ts';
import { liveThrough, STEPS } from '../../testkit/store/history.ts';
import { openSqliteForTest } from '../../testkit/store/sqlite.ts';

const step = record({ verb: constantFrom(...STEPS), pick: nat(1000) });

it('whatever happens to jobs, each record agrees with its history, and every job ends', async () => {
  const property = asyncProperty(array(step, { minLength: 20, maxLength: 80 }), async (steps) => {
    const opened = await openSqliteForTest();
    try {
      await liveThrough(new Fixture(opened), steps);
    } finally {
      await opened.dispose();
    }
  });
  await expect(assert(property, { numRuns: 25 })).resolves.toBeUndefined();
});
