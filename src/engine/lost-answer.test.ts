import { afterEach, beforeEach, expect, test } from 'vitest';
import { Fixture } from '../testkit/store/fixture.ts';
import type { OpenedStore } from '../testkit/store/fixture.ts';
import { openSqliteForTest } from '../testkit/store/sqlite.ts';
import { settledBefore } from './lost-answer.ts';
import type { Outcome } from './outcome.ts';

const HOLD: Outcome = { type: 'hold', delayMs: 700, reason: 'openai/gpt-5 asked for a pause' };
const FAIL: Outcome = { type: 'fail', failure: { code: 'timeout', elapsedMs: 1 }, jitter: 0 };

let opened: OpenedStore;
let f: Fixture;

beforeEach(async () => {
  opened = await openSqliteForTest();
  f = new Fixture(opened);
});
afterEach(() => opened.dispose());

test('a hold whose answer was lost is found in the record, with its time', async () => {
  const claimed = await f.running('ses_1');
  const { moved } = await f.hold(claimed, 700);
  expect(await settledBefore(f.jobs, claimed, HOLD)).toEqual({ ...moved, revokedSession: null });
});

test('a hold that the deadline made a death of is found too', async () => {
  const claimed = await f.running('ses_1', { requestedLimits: { deadlineMs: 500 } });
  const { moved } = await f.hold(claimed, 700);
  expect(await settledBefore(f.jobs, claimed, HOLD)).toMatchObject({
    event: 'dead_letter',
    code: moved?.code,
  });
});

test.each<[string, Outcome]>([
  ['a release', { type: 'release' }],
  ['a failure', FAIL],
])('%s is not what a hold left', async (_, outcome) => {
  const claimed = await f.running('ses_1');
  await f.hold(claimed, 700);
  expect(await settledBefore(f.jobs, claimed, outcome)).toBeNull();
});

test('a release, a failure and an attempt that goes on are not what a hold leaves', async () => {
  const released = await f.running('ses_1');
  expect(await settledBefore(f.jobs, released, HOLD)).toBeNull();
  await f.release(released);
  expect(await settledBefore(f.jobs, released, HOLD)).toBeNull();
  const failed = await f.claimOne('ses_1');
  await f.fail(failed, { code: 'timeout', elapsedMs: 1 });
  expect(await settledBefore(f.jobs, failed, HOLD)).toBeNull();
});
