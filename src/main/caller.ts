/** Who the history names for what is done at this machine, without a key. */
import { userInfo } from 'node:os';
import type { Caller } from '../engine/api.ts';
import { DEFAULT_TENANT } from '../engine/engine.ts';

export const LOCAL_CALLER: Caller = { tenant: DEFAULT_TENANT, actor: `local:${userName()}` };

/** A container may run under a number that has no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown');
  }
}
