import { expect, it } from 'vitest';
import { decide } from '../../domain/decide.ts';
import type { Command } from '../../domain/decide.ts';
import { DEFAULT_BACKOFF, DEFAULT_CAPS } from '../../domain/policy.ts';
import { History } from './moves.ts';
import { fromLines, knownOf } from './rows.ts';
import type { KnownRow } from './rows.ts';

const ROW: KnownRow = {
  number: 1,
  id: 'job_1',
  lane: 1,
  status: 'queued',
  priority: 0,
  place: 100,
  attempt: 0,
  used: 0,
  replays: 0,
  timeout_ms: 1000,
  max_attempts: 3,
  deadline_at: 1e6,
  deadline_ms: 1e6,
  decision: null,
  token: 1,
  session: 's',
  worker: 'one',
  since: 200,
};
const ARTIFACT = { uri: 'artifacts/a', sha256: '0', bytes: 1, mediaType: 'text/plain' };

it('writes each completion with its own beginning and its own time, however alike those before it were', () => {
  const history = new History();
  const ends: [Partial<KnownRow>, number][] = [
    [{}, 300],
    [{}, 300],
    [{ attempt: 1 }, 300],
    [{ worker: 'two' }, 300],
    [{ since: 201 }, 300],
    [{}, 301],
  ];
  for (const [other, now] of ends) {
    const row = { ...ROW, ...other };
    const command: Command = { type: 'complete', artifact: ARTIFACT, artifacts: [] };
    const { move } = decide(knownOf(row), command, now, { backoff: DEFAULT_BACKOFF, caps: DEFAULT_CAPS });
    if (move === undefined) throw new Error('refused');
    const { worker, since } = row;
    const attempt = row.attempt + 1;
    expect(fromLines(history.lines(row, move))).toEqual([
      { type: 'running', from: 'queued', to: 'running', at: since, attempt, worker },
      { type: 'completed', from: 'running', to: 'completed', at: now, attempt, worker },
    ]);
  }
});
