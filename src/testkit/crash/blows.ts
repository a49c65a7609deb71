/** What a torture does to processes and to their database, each kind as often as its weight says. */
import { setTimeout as sleep } from 'node:timers/promises';
import { pick } from './chance.ts';
import type { Fleet } from './fleet.ts';
import type { Ground } from './ground.ts';
import type { LeaseWatch } from './lease-watch.ts';
import type { Member } from './member.ts';
import { LEASE_MS } from './processes.ts';

/** All that a blow may hit. */
export interface Arena {
  fleet: Fleet;
  ground: Ground;
  watch: LeaseWatch;
  random: () => number;
  /** Pauses that are under way. */
  pauses: Set<Promise<void>>;
  /** Fires when no blow may last any longer. */
  over: AbortSignal;
  onProblem: (problem: string) => void;
}

export const BLOW_NAMES = ['kill', 'kill_two', 'kill_all', 'stop', 'pause', 'cut', 'restart'] as const;

export type BlowName = (typeof BLOW_NAMES)[number];

interface Blow {
  weight: number;
  /** What the ground has to be able to do. */
  needs?: 'cut' | 'restart';
  /** Resolves when what was hit is up again, or will be by itself. */
  strike(arena: Arena): Promise<void>;
}

const LONGEST_AWAY_MS = 3000;
/** A worker's grace, its last words and a busy machine. */
const LONGEST_STOP_MS = 15_000;

export const BLOWS: Readonly<Record<BlowName, Blow>> = {
  kill: { weight: 10, strike: (arena) => killed([anyOf(arena)]) },
  kill_two: { weight: 3, strike: (arena) => killed([anyOf(arena), anyOf(arena)]) },
  kill_all: { weight: 0.3, strike: ({ fleet }) => killed(fleet.members) },
  stop: { weight: 3, strike: stopped },
  pause: { weight: 3, strike: paused },
  cut: { weight: 2, needs: 'cut', strike: cutOff },
  restart: { weight: 0.5, needs: 'restart', strike: restarted },
};

export function pickBlow(names: readonly BlowName[], random: () => number): BlowName {
  let left = random() * names.reduce((sum, name) => sum + BLOWS[name].weight, 0);
  for (const name of names) {
    left -= BLOWS[name].weight;
    if (left < 0) return name;
  }
  return pick(names, random);
}

function anyOf({ fleet, random }: Arena): Member {
  return pick(fleet.members, random);
}

async function killed(members: readonly Member[]): Promise<void> {
  const victims = [...new Set(members)];
  await Promise.all(victims.map(({ service }) => service.kill()));
  for (const { service } of victims) service.start();
}

/** As in a deployment: asked to stop, and started again. */
async function stopped(arena: Arena): Promise<void> {
  const { name, service, crashPoint } = anyOf(arena);
  if (!service.isUp()) return;
  service.signal('SIGCONT');
  const from = performance.now();
  const code = await service.stop();
  const ms = Math.round(performance.now() - from);
  if ((code !== 0 && crashPoint === null) || ms > LONGEST_STOP_MS)
    arena.onProblem(`${name} was asked to stop, and ended with ${code} after ${ms} ms`);
  service.start();
}

/** Past its lease, so that its jobs, where it is a worker, are taken away meanwhile; others are hit during that time. */
function paused(arena: Arena): Promise<void> {
  const kind = arena.random() < 0.8 ? 'worker' : 'api';
  const { service } = pick(
    arena.fleet.members.filter((member) => member.kind === kind),
    arena.random,
  );
  service.signal('SIGSTOP');
  const pause = sleep(LEASE_MS * (1.2 + 3 * arena.random()), undefined, { signal: arena.over })
    .catch(() => {})
    .then(() => {
      service.signal('SIGCONT');
      arena.pauses.delete(pause);
    });
  arena.pauses.add(pause);
  return Promise.resolve();
}

async function cutOff({ ground, watch }: Arena): Promise<void> {
  await ground.cut?.();
  watch.broken();
}

async function restarted({ ground, watch, random }: Arena): Promise<void> {
  await ground.restart?.(random() * LONGEST_AWAY_MS);
  watch.broken();
}
