/** Reads what workers wrote down (`CLAIMCHECK_ATTEMPT_LOG`) as the checker wants it. */
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { AttemptLine } from '../../engine/attempt-log.ts';
import type { WorkerLog } from '../checker/history.ts';

/** @param dir holds the log of each process, and nothing else */
export async function readAttemptLogs(dir: string): Promise<WorkerLog> {
  const log: WorkerLog = { claims: [], settlements: [] };
  for (const name of await readdir(dir)) {
    const attempts = new Map<number, number>();
    for (const line of wholeLines(await readFile(join(dir, name), 'utf8'))) add(line, attempts, log);
  }
  return log;
}

/** A kill may have cut the last one. */
function wholeLines(text: string): AttemptLine[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as AttemptLine);
}

/** @param attempts of the process, by token: it settles what it claimed */
function add(line: AttemptLine, attempts: Map<number, number>, { claims, settlements }: WorkerLog): void {
  const { jobId, token } = line;
  if (line.type === 'claimed') {
    attempts.set(token, line.attempt);
    claims.push({ jobId, attempt: line.attempt, token });
    return;
  }
  const attempt = attempts.get(token);
  if (attempt === undefined)
    throw new Error(`a worker settled ${jobId} under token ${token} without a claim`);
  settlements.push({ jobId, attempt, command: line.command, told: line.told });
}
