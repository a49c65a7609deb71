/** The part of a torture in which blows fall while clients ask. */
import { setTimeout as sleep } from 'node:timers/promises';
import { BLOWS, pickBlow } from './blows.ts';
import type { Arena, BlowName } from './blows.ts';
import type { Clients } from './clients.ts';

export interface TormentOptions {
  /** How long; longer where the machine is too slow for a few dozen jobs in this time. */
  ms: number;
  blows: readonly BlowName[];
  say: (line: string) => void;
}

const CLIENTS = 4;
const LEAST_JOBS = 50;
const LONGEST_PAUSE_MS = 1800;
const SHORTEST_PAUSE_MS = 200;
const TELL_MS = 5000;

/** How often each blow fell. It ends early where the arena is closed, and leaves every process up, without a crash point. */
export async function torment(
  arena: Arena,
  clients: Clients,
  options: TormentOptions,
): Promise<Map<BlowName, number>> {
  const { fleet } = arena;
  fleet.start();
  await fleet.up();
  // the first blow surely meets a running attempt
  await clients.runLong();
  await BLOWS.kill_all.strike(arena);
  const blows = new Map<BlowName, number>([['kill_all', 1]]);
  const end = performance.now() + options.ms;
  const asking = new AbortController();
  const asked = Promise.all(Array.from({ length: CLIENTS }, () => clients.run(asking.signal)));
  const telling = setInterval(() => options.say(stateOf(arena, clients, blows, end)), TELL_MS);
  try {
    await rain(arena, options.blows, blows, (now) => {
      const few = clients.acknowledged() < LEAST_JOBS && now < end + 2 * options.ms;
      return now < end || few;
    });
  } finally {
    clearInterval(telling);
    asking.abort();
  }
  await Promise.all(arena.pauses);
  await fleet.calm();
  await asked;
  return blows;
}

async function rain(
  arena: Arena,
  names: readonly BlowName[],
  blows: Map<BlowName, number>,
  goesOn: (now: number) => boolean,
): Promise<void> {
  const { random, over } = arena;
  while (!over.aborted && goesOn(performance.now())) {
    const pauseMs = SHORTEST_PAUSE_MS + random() * (LONGEST_PAUSE_MS - SHORTEST_PAUSE_MS);
    await sleep(pauseMs, undefined, { signal: over }).catch(() => {});
    if (over.aborted) return;
    const name = pickBlow(names, random);
    blows.set(name, (blows.get(name) ?? 0) + 1);
    await BLOWS[name].strike(arena);
  }
}

function stateOf(
  { fleet, watch }: Arena,
  clients: Clients,
  blows: Map<BlowName, number>,
  end: number,
): string {
  const sum = (counts: Iterable<number>) => [...counts].reduce((total, count) => total + count, 0);
  const left = Math.max(0, Math.round((end - performance.now()) / 1000));
  return (
    `${left} s left: ${clients.acknowledged()} acknowledged, ${watch.running()} running, ` +
    `${sum(blows.values())} blows, ${sum(fleet.crashes.values())} crash points`
  );
}
