import { array, assert, asyncProperty, constantFrom, nat, record } from 'fast-check';
import { expect, it } from 'vitest';
import { Fixture } from '../../src/testkit/store/fixture.ts';
import { liveThrough, STEPS } from '../../src/testkit/store/history.ts';
import { openPostgresForTest } from './database.ts';

const step = record({ verb: constantFrom(...STEPS), pick: nat(1000) });

it('whatever happens to jobs, each record agrees with its history, and every job ends', async () => {
  const property = asyncProperty(array(step, { minLength: 20, maxLength: 80 }), async (steps) => {
    const opened = await openPostgresForTest();
    try {
      await liveThrough(new Fixture(opened), steps);
    } finally {
      await opened.dispose();
    }
  });
  await expect(assert(property, { numRuns: 12 })).resolves.toBeUndefined();
});
