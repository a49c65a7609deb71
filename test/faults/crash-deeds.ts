/** What a process does on its way to each crash point, and what it left behind. */
import { setTimeout as sleep } from 'node:timers/promises';
import { canonicalJson } from '../../src/domain/json.ts';
import type { Job } from '../../src/domain/record.ts';
import { withClient } from '../postgres/database.ts';
import {
  asked,
  deathOf,
  handIn,
  newInput,
  note,
  pidOf,
  startApi,
  startVictim,
  workersOf,
} from './crash-scene.ts';
import type { Death, Scene } from './crash-scene.ts';

interface Dead {
  died: NodeJS.Signals;
  /** To be asked once all is over. */
  left: (jobs: readonly Job[]) => string;
}

/** Longer than any process needs to die. */
const LONG_MS = 20_000;

/** Each resolves when its process is dead. */
export const DEEDS = {
  /** What it left is the state of the job of a dead worker, at once. */
  async sweep(scene, death) {
    scene.orphan ??= await handIn(scene);
    if ((await scene.desk.status(scene.orphan)).status === 'queued')
      await deathOf(startVictim(scene, ['work'], { point: 'attempt.starting' }));
    const died = await deathOf(startApi(scene, death));
    const { status } = await scene.desk.status(scene.orphan);
    return { died, left: () => status };
  },

  async attempt(scene, death) {
    await handIn(scene);
    const victim = startVictim(scene, ['work'], death);
    return { died: await deathOf(victim), left: endOf([victim.process.pid]) };
  },

  async stop(scene, death) {
    await handIn(scene);
    const { victim, pid } = await startRunning(scene, death);
    victim.process.kill('SIGTERM');
    return { died: await deathOf(victim), left: endOf([pid]) };
  },

  /** A renewal is not answered; the lease lasts through it all. */
  async doubt(scene, death) {
    const jobId = await handIn(scene, LONG_MS);
    const { victim, pid } = await startRunning(scene, death, LONG_MS);
    await cutRenewal(scene);
    const died = await deathOf(victim);
    await scene.desk.cancel(jobId, { reason: 'it takes too long' });
    scene.clients.cancels.push({ jobId, told: 'accepted' });
    return { died, left: endOf([pid]) };
  },

  /** The worker that runs something and was not started by us belongs to a `serve`. */
  async serve(scene, death) {
    await handIn(scene);
    const died = deathOf(startVictim(scene, ['serve', '--port', '0'], death));
    const isDead = died.then(() => true);
    while (!(await Promise.race([isDead, sleep(20, false)]))) {
      const known = [...scene.victims.map((victim) => victim.process.pid), ...scene.children];
      for (const pid of (await workersOf(scene)).filter((other) => !known.includes(other))) {
        scene.children.add(pid);
        process.kill(pid, 'SIGKILL');
      }
    }
    return { died: await died, left: endOf([...scene.children]) };
  },

  async create(scene, death) {
    const input = newInput(scene);
    const line = note(scene, input, 'nothing');
    const { told, died } = await asked(scene, death, '/ai-jobs', { workflow: 'demo', input });
    line.told = told;
    return { died, left: historyOf((job) => canonicalJson(job.input) === canonicalJson(input)) };
  },

  async cancel(scene, death) {
    const jobId = await handIn(scene);
    const { told, died } = await asked(scene, death, `/ai-jobs/${jobId}/cancel`, { reason: 'not needed' });
    scene.clients.cancels.push({ jobId, told });
    return { died, left: historyOf((job) => job.jobId === jobId) };
  },

  async replay(scene, death) {
    const jobId = await handIn(scene);
    await scene.desk.cancel(jobId, { reason: 'not yet' });
    scene.clients.cancels.push({ jobId, told: 'accepted' });
    const { told, died } = await asked(scene, death, `/ai-jobs/${jobId}/replay`, { reason: 'now' });
    scene.clients.replays.push({ jobId, told });
    return { died, left: historyOf((job) => job.jobId === jobId) };
  },
} satisfies Record<string, (scene: Scene, death: Death) => Promise<Dead>>;

export type Deed = keyof typeof DEEDS;

/** A worker that runs a job now. */
async function startRunning(scene: Scene, death: Death, leaseMs?: number) {
  const victim = startVictim(scene, ['work'], death, leaseMs);
  const { pid = 0 } = victim.process;
  while (!(await workersOf(scene)).includes(pid)) await sleep(20);
  return { victim, pid };
}

/** Holds a renewal up, and ends its connection then. */
function cutRenewal({ ground }: Scene): Promise<void> {
  return withClient(async (client) => {
    const revocations = `"${ground.settings['schema']}".revocations`;
    await client.query(`BEGIN; LOCK TABLE ${revocations}`);
    const cut =
      'SELECT pg_terminate_backend(pid) FROM pg_locks WHERE NOT granted AND relation = $1::regclass';
    while ((await client.query(cut, [revocations])).rowCount === 0) await sleep(20);
  });
}

function historyOf(isIt: (job: Job) => boolean): Dead['left'] {
  return (jobs) =>
    jobs
      .find(isIt)
      ?.events.map(({ type }) => type)
      .join(' ') ?? 'nothing';
}

/** The events that ended the attempts of these processes. */
function endOf(pids: readonly (number | undefined)[]): Dead['left'] {
  return (jobs) => {
    const ends = jobs.flatMap(({ events }) =>
      events.flatMap(({ type, worker }, index) =>
        type === 'running' && pids.includes(pidOf(worker)) ? (events[index + 1]?.type ?? 'nothing') : [],
      ),
    );
    return [...new Set(ends)].join(' ') || 'nothing';
  };
}
