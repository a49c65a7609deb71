/** Who may ask the API of a server that starts, and where it may listen. */
import { EXIT, Problem } from '../cli/problem.ts';
import type { EngineApi } from '../engine/api.ts';
import { LOCAL_CALLER } from './caller.ts';
import type { Settings } from './settings.ts';

/** `made`: shown this once. `bootstrap`: the operator knows it. `earlier`: some key was made before. */
export type FirstKey = { kind: 'made'; key: string } | { kind: 'bootstrap' } | { kind: 'earlier' };

/**
 * There is no default key, and the first one is printed: fit for the machine's own user at its own address, not for a
 * server that strangers can reach before its operator has read it.
 * @throws Problem
 */
export async function checkReach(engine: EngineApi, settings: Settings, command: string): Promise<void> {
  if (isLoopback(settings.host) || settings.bootstrapKey !== null || (await hasKey(engine))) return;
  throw new Problem(
    `To listen on ${settings.host}, beyond this machine, set CLAIMCHECK_BOOTSTRAP_KEY or make a key first: ${command} keys create.`,
    EXIT.usage,
  );
}

export async function firstKey(engine: EngineApi, settings: Settings): Promise<FirstKey> {
  if (settings.bootstrapKey !== null) return { kind: 'bootstrap' };
  if (await hasKey(engine)) return { kind: 'earlier' };
  const { key } = await engine.createKey(LOCAL_CALLER, 'first');
  return { kind: 'made', key };
}

async function hasKey(engine: EngineApi): Promise<boolean> {
  const keys = await engine.listKeys(LOCAL_CALLER);
  return keys.some(({ revokedAt }) => revokedAt === null);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}
