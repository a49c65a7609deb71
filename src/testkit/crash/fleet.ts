/**
 * Several APIs and workers on one store. Some starts are given a crash point at which the process will end itself; whoever
 * ends is started again, and every worker writes down what it is told.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { CRASH_POINTS } from '../../engine/crash-points.ts';
import type { CrashPoint } from '../../engine/crash-points.ts';
import { apiService, workerService } from './processes.ts';
import type { ProcessOptions } from './processes.ts';
import type { End, Environment, Service } from './service.ts';

export interface FleetOptions extends Omit<ProcessOptions, 'envOfStart' | 'isExpected' | 'name'> {
  apis: number;
  workers: number;
  /** Environment of the last worker besides: a wall clock of its own. */
  oddWorker?: Environment;
  /** Whether the database may be away when a process starts, which then ends. */
  mayRefuse: boolean;
  random: () => number;
}

export interface Member {
  kind: 'api' | 'worker';
  name: string;
  service: Service;
  /** Where it will end itself. */
  crashPoint: CrashPoint | null;
}

export interface Fleet {
  members: readonly Member[];
  /** Where each worker's attempt log is, start by start. */
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

/** How many of the starts are given a crash point. */
const CRASHING = 0.5;
const MOST_TIMES = 5;
/** `EXIT.unavailable` of the command line. */
const UNAVAILABLE = 3;

const LEADS_TO: Record<Member['kind'], readonly string[]> = {
  api: ['intake', 'act', 'sweep'],
  worker: ['claim', 'attempt', 'settle', 'renew', 'reconcile', 'sweep', 'release'],
};

export function createFleet(options: FleetOptions): Fleet {
  const { apis, workers, dataDir, random } = options;
  const attemptLogs = join(dataDir, 'attempts');
  mkdirSync(attemptLogs, { recursive: true });
  const crashes = new Map<CrashPoint, number>();
  let refusals = 0;
  let calm = false;
  let starts = 0;

  function add(kind: Member['kind'], number: number): Member {
    const name = `${kind} ${number}`;
    const isOdd = kind === 'worker' && number === workers;
    const member: Member = { kind, name, crashPoint: null, service: undefined as unknown as Service };

    function envOfStart(): Environment {
      starts += 1;
      member.crashPoint = calm || random() > CRASHING ? null : pick(pointsOf(kind), random);
      const times = 1 + Math.floor(random() * MOST_TIMES);
      return {
        CLAIMCHECK_ATTEMPT_LOG: join(attemptLogs, `${name} ${starts}`),
        ...(member.crashPoint === null ? {} : { CLAIMCHECK_CRASH_POINT: `${member.crashPoint}:${times}` }),
        ...(isOdd ? options.oddWorker : {}),
      };
    }

    function isExpected({ signal, code, wasUp }: End): boolean {
      const { crashPoint } = member;
      if (crashPoint !== null && signal === 'SIGKILL') {
        crashes.set(crashPoint, (crashes.get(crashPoint) ?? 0) + 1);
        return true;
      }
      const refused = options.mayRefuse && !wasUp && code === UNAVAILABLE;
      if (refused) refusals += 1;
      return refused;
    }

    const create = kind === 'api' ? apiService : workerService;
    member.service = create({ ...options, name, envOfStart, isExpected });
    return member;
  }

  const members = [
    ...Array.from({ length: apis }, (_, index) => add('api', index + 1)),
    ...Array.from({ length: workers }, (_, index) => add('worker', index + 1)),
  ];
  const all = <T>(act: (member: Member) => Promise<T>) => Promise.all(members.map(act));

  return {
    members,
    attemptLogs,
    crashes,
    refusals: () => refusals,
    start() {
      for (const { service } of members) service.start();
    },
    async address() {
      const own = members.filter(({ kind }) => kind === 'api').map(({ service }) => service);
      const up = own.filter((service) => service.isUp());
      return up.length > 0 ? pick(up, random).address() : Promise.race(own.map((one) => one.address()));
    },
    up: async () => void (await all(({ service }) => service.address())),
    async calm() {
      calm = true;
      await all(async ({ service, crashPoint }) => {
        const isGone = await service.address().then(
          () => false,
          () => true, // it ended by itself, which was told
        );
        if (isGone || crashPoint !== null) await service.kill().then(() => service.start());
        await service.address();
      });
    },
    async stop() {
      const ends = await all(async ({ name, service }) => [name, await service.stop()] as const);
      const wrong = ends.filter(([, code]) => code !== 0);
      return wrong.map(([name, code]) => `${name} was asked to stop, and ended with ${code}`);
    },
    kill: async () => void (await all(({ service }) => service.kill())),
  };
}

function pointsOf(kind: Member['kind']): CrashPoint[] {
  const points = Object.keys(CRASH_POINTS) as CrashPoint[];
  return points.filter((point) => LEADS_TO[kind].includes(point.split('.')[0] ?? ''));
}

export function pick<Item>(items: readonly Item[], random: () => number): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('there is nothing to pick from');
  return item;
}
