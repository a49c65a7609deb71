/**
 * One process of a fleet. Some of its starts are given a crash point at which it will end itself; it is started again
 * whenever it did, and it writes down what it is told, each start in a file of its own.
 */
import { join } from 'node:path';
import { CRASH_POINTS } from '../../engine/crash-points.ts';
import type { CrashPoint } from '../../engine/crash-points.ts';
import { pick } from './chance.ts';
import { apiService, workerService } from './processes.ts';
import type { ProcessOptions } from './processes.ts';
import type { End, Environment, Service } from './service.ts';

export type Kind = 'api' | 'worker';

export interface Member {
  kind: Kind;
  name: string;
  service: Service;
  /** Where it will end itself now. */
  readonly crashPoint: CrashPoint | null;
}

export interface MemberOptions extends Omit<ProcessOptions, 'envOfStart' | 'isExpected'> {
  kind: Kind;
  name: string;
  /** Holds the attempt logs. */
  attemptLogs: string;
  /** A part of its environment. */
  odd?: Environment | undefined;
  /** Whether the database may be away when it starts, which then ends it. */
  mayRefuse: boolean;
  random: () => number;
  /** Whether this start may be given a crash point. */
  mayCrash: () => boolean;
  onCrash: (point: CrashPoint) => void;
  onRefusal: () => void;
}

/** How many of the starts are given a crash point, and at which time at most it counts. */
const CRASHING = 0.5;
const MOST_TIMES = 5;
/** `EXIT.unavailable` of the command line. */
const UNAVAILABLE = 3;

const LEADS_TO: Record<Kind, readonly string[]> = {
  api: ['intake', 'act', 'sweep'],
  worker: ['claim', 'attempt', 'settle', 'renew', 'reconcile', 'sweep', 'release'],
};

export function createMember(options: MemberOptions): Member {
  const { kind, name, attemptLogs, odd, random } = options;
  let crashPoint: CrashPoint | null = null;
  let starts = 0;

  function envOfStart(): Environment {
    starts += 1;
    crashPoint = options.mayCrash() && random() < CRASHING ? pick(pointsOf(kind), random) : null;
    const times = 1 + Math.floor(random() * MOST_TIMES);
    return {
      CLAIMCHECK_ATTEMPT_LOG: join(attemptLogs, `${name} ${starts}`),
      ...(crashPoint === null ? {} : { CLAIMCHECK_CRASH_POINT: `${crashPoint}:${times}` }),
      ...odd,
    };
  }

  function isExpected({ signal, code, wasUp }: End): boolean {
    if (crashPoint !== null && signal === 'SIGKILL') {
      options.onCrash(crashPoint);
      return true;
    }
    const isRefusal = options.mayRefuse && !wasUp && code === UNAVAILABLE;
    if (isRefusal) options.onRefusal();
    return isRefusal;
  }

  const create = kind === 'api' ? apiService : workerService;
  return {
    kind,
    name,
    service: create({ ...options, envOfStart, isExpected }),
    get crashPoint() {
      return crashPoint;
    },
  };
}

function pointsOf(kind: Kind): CrashPoint[] {
  const points = Object.keys(CRASH_POINTS) as CrashPoint[];
  return points.filter((point) => LEADS_TO[kind].includes(point.split('.')[0] ?? ''));
}
