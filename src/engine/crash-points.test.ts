import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openSqliteStore } from '../stores/sqlite/store.ts';
import { RULES } from '../testkit/machine.ts';
import { CRASH_POINTS, withCrashPoints } from './crash-points.ts';

const DOCUMENT = readFileSync(new URL('../../docs/testing.md', import.meta.url), 'utf8');

test('docs/testing.md has every crash point as the list has it, and no other', () => {
  const rows = [...DOCUMENT.matchAll(/^\| `([a-z]+\.[a-z]+)` \| (.*) \|$/gm)];
  expect(Object.fromEntries(rows.map(([, point, there]) => [point, there]))).toEqual(CRASH_POINTS);
});

test('a write that found nothing to do, or failed, has no point behind it', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'claimcheck-points-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const opened = await openSqliteStore({ dataDir, rules: RULES });
  const reached: string[] = [];
  const store = withCrashPoints(opened.jobs, (point) => void reached.push(point));
  await store.claim({ session: 'ses_gone', worker: 'w', serial: 1, lanes: [], limit: 1 });
  await store.act({ tenant: 't', jobId: 'job_gone', command: { type: 'cancel', actor: 'a', reason: 'r' } });
  await store.renew({ session: 'ses_gone', heard: [] });
  await opened.close();
  await expect(store.renew({ session: 'ses_gone', heard: [] })).rejects.toThrow();
  expect(reached).toEqual(['claim.before', 'act.before', 'renew.before', 'renew.committed', 'renew.before']);
});
