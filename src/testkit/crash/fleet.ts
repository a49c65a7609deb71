/** Several APIs and workers on one store. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { CrashPoint } from '../../engine/crash-points.ts';
import { pick } from './chance.ts';
import { createMember } from './member.ts';
import type { Kind, Member, MemberOptions } from './member.ts';
import type { Environment } from './service.ts';

type Shared = Pick<MemberOptions, 'bin' | 'dataDir' | 'key' | 'env' | 'onProblem' | 'mayRefuse' | 'random'>;

export interface FleetOptions extends Shared {
  apis: number;
  workers: number;
  /** Settings of all, as flags. */
  settings: Readonly<Record<string, string>>;
  /** A part of the environment of the last worker: a wall clock of its own. */
  oddWorker?: Environment;
}

export interface Fleet {
  members: readonly Member[];
  /** The directory of the attempt logs. */
  attemptLogs: string;
  /** How often a process ended itself, by crash point. */
  crashes: ReadonlyMap<CrashPoint, number>;
  /** How often a process was started while the database was away. */
  refusals(): number;
  start(): void;
  /** Resolves when all are up. */
  up(): Promise<void>;
  /** One of the APIs that are up, or the first that will be. @throws Error where one ended by itself */
  address(): Promise<string>;
  /** From now on no process has a crash point. Resolves when all are up. */
  calm(): Promise<void>;
  /** Asks all of them to stop; what did not end as it should. */
  stop(): Promise<string[]>;
  kill(): Promise<void>;
}

export function createFleet(options: FleetOptions): Fleet {
  const attemptLogs = join(options.dataDir, 'attempts');
  mkdirSync(attemptLogs, { recursive: true });
  const crashes = new Map<CrashPoint, number>();
  let refusals = 0;
  let isCalm = false;
  const hooks = {
    attemptLogs,
    mayCrash: () => !isCalm,
    onCrash: (point: CrashPoint) => void crashes.set(point, (crashes.get(point) ?? 0) + 1),
    onRefusal: () => void (refusals += 1),
  };
  const members = [...several('api', options.apis), ...several('worker', options.workers)].map((own) =>
    createMember({
      ...options,
      ...hooks,
      ...own,
      odd: own.name === `worker ${options.workers}` ? options.oddWorker : undefined,
    }),
  );
  return {
    ...actsOf(members, options.random),
    members,
    attemptLogs,
    crashes,
    refusals: () => refusals,
    async calm() {
      isCalm = true;
      await Promise.all(members.map(calmed));
    },
  };
}

function several(kind: Kind, count: number): { kind: Kind; name: string }[] {
  return Array.from({ length: count }, (_, index) => ({ kind, name: `${kind} ${index + 1}` }));
}

function actsOf(
  members: readonly Member[],
  random: () => number,
): Pick<Fleet, 'start' | 'up' | 'address' | 'stop' | 'kill'> {
  const apis = members.filter(({ kind }) => kind === 'api').map(({ service }) => service);
  return {
    start() {
      for (const { service } of members) service.start();
    },
    up: async () => void (await Promise.all(members.map(({ service }) => service.address()))),
    address() {
      const up = apis.filter((api) => api.isUp());
      return up.length > 0 ? pick(up, random).address() : Promise.race(apis.map((api) => api.address()));
    },
    async stop() {
      const stopped = members.map(async ({ name, service }) => [name, await service.stop()] as const);
      const wrong = (await Promise.all(stopped)).filter(([, code]) => code !== 0);
      return wrong.map(([name, code]) => `${name} was asked to stop, and ended with ${code}`);
    },
    kill: async () => void (await Promise.all(members.map(({ service }) => service.kill()))),
  };
}

/** Up, and without a crash point. @throws Error where it ends by itself over and over */
async function calmed({ service, crashPoint }: Member): Promise<void> {
  const isGone = await service.address().then(
    () => false,
    () => true, // it ended by itself, which was told
  );
  if (isGone || crashPoint !== null) {
    await service.kill();
    service.start();
  }
  await service.address();
}
