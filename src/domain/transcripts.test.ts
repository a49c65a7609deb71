/**
 * The machine's transcripts. Each file of test/transcripts holds commands (`> time command key=value`) and, below
 * each, what the machine answered: the move with its events, errors and decision, or the refusal. A change of the
 * machine is a diff of these files; `UPDATE_TRANSCRIPTS=1` writes them anew for a person to read.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { accepted, command } from '../testkit/machine.ts';
import type { Machine } from '../testkit/machine.ts';
import type { Command, Failure, Move, Refusal } from './decide.ts';
import type { RequestedLimits } from './policy.ts';
import type { JobEvent } from './record.ts';
import { TRANSITIONS } from './transitions.ts';

const DIR = new URL('../../test/transcripts/', import.meta.url);
const FILES = readdirSync(DIR).filter((name) => name.endsWith('.txt'));

type Words = Record<string, string>;

function play(text: string): { written: string; events: JobEvent[] } {
  let machine: Machine | null = null;
  const written: string[] = [];
  const events: JobEvent[] = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('#') || line === '') written.push(line);
    if (!line.startsWith('> ')) continue;
    const [at, verb, ...pairs] = line.slice(2).split(' ');
    const words = Object.fromEntries(pairs.map((pair) => pair.split('=')));
    if (verb === 'accept') {
      const first = accepted(
        { limits: limitsOf(words, 0), runAt: number(words, 'run_at') ?? null },
        Number(at),
      );
      machine = Array.isArray(first) ? null : first;
      written.push(
        line,
        ...(Array.isArray(first)
          ? first.map((issue) => `refused ${issue.path} ${issue.message}`)
          : acceptance(first)),
      );
    } else {
      if (machine === null) throw new Error(`${line}: nothing was accepted`);
      const before = machine.job.events.length;
      written.push(line, ...answer(command(machine, order(verb!, words), Number(at)), before));
    }
    if (machine !== null) events.push(...machine.job.events);
  }
  return { written: `${written.join('\n').trimEnd()}\n`, events };
}

function order(verb: string, words: Words): Command {
  const jitter = number(words, 'jitter') ?? 0.5;
  const by = byOf(words);
  switch (verb) {
    case 'claim':
      return { type: 'claim', worker: words['worker'] ?? 'w1' };
    case 'complete': {
      const artifact = {
        uri: 'artifacts/a.json',
        sha256: 'a'.repeat(64),
        bytes: 2,
        mediaType: 'application/json',
      };
      return { type: 'complete', artifact, artifacts: [] };
    }
    case 'fail':
      return { type: 'fail', failure: failure(words), jitter };
    case 'overdue':
      return { type: 'overdue', jitter };
    case 'hold':
      return { type: 'hold', delayMs: number(words, 'ms') ?? 0, reason: by.reason };
    case 'cancel':
      return { type: 'cancel', ...by };
    case 'replay':
      return { type: 'replay', ...by, decisionId: words['decision'], limits: limitsOf(words, 0) };
    case 'release':
    case 'lose':
    case 'expire':
      return { type: verb };
    default:
      throw new Error(`no such command: ${verb}`);
  }
}

function byOf(words: Words): { actor: string; reason: string } {
  return { actor: words['by'] ?? 'ann', reason: words['reason'] ?? 'asked' };
}

function failure(words: Words): Failure {
  const retryAfterMs = number(words, 'retry_after');
  return {
    code: words['code'] as Failure['code'],
    elapsedMs: number(words, 'elapsed') ?? 1,
    ...(words['rule'] === undefined ? {} : { rule: words['rule'] }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

function limitsOf(words: Words, base: number): RequestedLimits {
  const deadlineAt = number(words, 'deadline_at');
  return {
    timeoutMs: number(words, 'timeout'),
    maxAttempts: number(words, 'max_attempts'),
    deadlineMs: number(words, 'deadline'),
    deadlineAt: deadlineAt === undefined ? undefined : base + deadlineAt,
  };
}

function number(words: Words, key: string): number | undefined {
  return words[key] === undefined ? undefined : Number(words[key]);
}

function acceptance({ job, due }: Machine): string[] {
  const { timeoutMs, maxAttempts, deadlineAt } = job.limits;
  return [
    `accepted due=${due} timeout=${timeoutMs} max_attempts=${maxAttempts} deadline_at=${deadlineAt}`,
    ...job.events.map((event, index) => eventLine(event, index + 1)),
  ];
}

function answer(said: Move | Refusal, before: number): string[] {
  if ('refused' in said) {
    const issues =
      said.refused === 'invalid' ? said.issues.map((issue) => ` ${issue.path} ${issue.message}`) : [];
    return [`refused ${said.refused}${issues.join(';')}`];
  }
  const due = said.due === null ? '' : ` due=${said.due}`;
  return [
    `${said.from} -> ${said.to} attempt=${said.attempt} used=${said.used} replays=${said.replays}${due}`,
    ...said.events.map((event, index) => eventLine(event, before + index + 1)),
    ...said.errors.map(
      ({ attempt, code, elapsedMs, rule }) =>
        `  error attempt=${attempt} ${code} elapsed=${elapsedMs}${rule ? ` (${rule})` : ''}`,
    ),
    ...(said.decision === null
      ? []
      : [
          `  decision ${said.decision.decisionId} ${said.decision.open ? 'open' : 'taken'} ${said.decision.code}`,
        ]),
  ];
}

function eventLine({ type, from, to, at, attempt, ...rest }: JobEvent, seq: number): string {
  const more = Object.entries(rest).map(
    ([key, value]) => ` ${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return `  ${seq} ${type} ${from}->${to} at=${at} attempt=${attempt}${more.join('')}`;
}

describe('transcripts', () => {
  test.each(FILES)('the machine answers as %s says', (name) => {
    const file = new URL(name, DIR);
    const text = readFileSync(file, 'utf8');
    const { written } = play(text);
    if (process.env['UPDATE_TRANSCRIPTS'] === '1') writeFileSync(file, written);
    else expect(written).toBe(text);
  });

  test('together they show every row of the transition table', () => {
    const seen = FILES.flatMap((name) => play(readFileSync(new URL(name, DIR), 'utf8')).events);
    const missing = TRANSITIONS.filter(
      (row) =>
        !seen.some((event) => event.type === row.event && event.from === row.from && event.to === row.to),
    );
    expect(missing).toEqual([]);
  });
});
