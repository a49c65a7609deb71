/** A Claimcheck on a data directory of its own, closed and removed when the test ends. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { WorkflowDefinition } from '../../src/index.ts';
import { openClaimcheck } from '../../src/index.ts';
import type { Claimcheck, ClaimcheckOptions } from '../../src/index.ts';

export async function tempDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'claimcheck-test-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

export async function openTemp(
  workflows: WorkflowDefinition[],
  options: Partial<ClaimcheckOptions> = {},
): Promise<Claimcheck & { dataDir: string }> {
  const dataDir = options.dataDir ?? (await tempDir());
  const settings = { shutdownMs: 50, backoff: { baseMs: 1, capMs: 5 }, ...options.settings };
  const claimcheck = await openClaimcheck({ ...options, workflows, dataDir, settings });
  onTestFinished(() => claimcheck.close());
  return { ...claimcheck, dataDir };
}

/** A promise and what settles it. */
export function gate<T = void>(): { opened: Promise<T>; open: (value: T) => void } {
  let open: (value: T) => void = () => {};
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
