/** How an attempt ended, as the command and the bytes that settle it. */
import { inspect } from 'node:util';
import type { Command, Failure } from '../domain/decide.ts';
import { jsonIssue } from '../domain/json.ts';
import type { Evidence } from '../domain/record.ts';
import type { Thrown } from '../domain/thrown.ts';
import type { Log } from '../ports/telemetry.ts';
import type { Keeper } from './durable.ts';
import { isPassing, nameOf } from './faults.ts';
import type { Patience } from './faults.ts';
import type { ModelDesk } from './model-desk.ts';
import type { Ran } from './run-workflow.ts';

export type Outcome = Extract<Command, { type: 'complete' | 'fail' | 'release' | 'hold' }>;

export interface OutcomeDeps {
  /** The record's side of the attempt's calls to models; null where it made none. */
  callsMade: ModelDesk | null;
  keeper: Keeper;
  log: Log;
  random: () => number;
  maxOutputBytes: number;
  /** How long the artifact of an attempt that is over may be tried to be kept. */
  patience: Patience;
}

const OUTPUT_NAME = 'output.json';
const OUTPUT_TYPE = 'application/json';

/**
 * The artifact is durable, or travels with the settlement, when this resolves; at once where it is small.
 * @throws the reason of `patience`, where its signal fired first
 */
export function outcomeOf(ran: Ran, elapsedMs: number, deps: OutcomeDeps): Outcome | Promise<Outcome> {
  if (ran.thrown !== undefined) {
    const pausedMs = deps.callsMade?.pausedMs(ran.thrown.rule) ?? null;
    return pausedMs === null ? failed(ran.thrown, elapsedMs, deps) : held(pausedMs, deps);
  }
  const artifact = deps.keeper.keepInline('artifacts', OUTPUT_NAME, ran.output, OUTPUT_TYPE);
  return artifact === null
    ? largeOutcome(ran, elapsedMs, deps)
    : { type: 'complete', artifact, artifacts: ran.artifacts };
}

async function largeOutcome(
  { output, artifacts }: Extract<Ran, { output: Uint8Array }>,
  elapsedMs: number,
  deps: OutcomeDeps,
): Promise<Outcome> {
  try {
    const artifact = await deps.keeper.keep('artifacts', OUTPUT_NAME, output, OUTPUT_TYPE, deps.patience);
    return { type: 'complete', artifact, artifacts };
  } catch (error) {
    if (error === deps.patience.signal.reason) throw error; // nothing else, or the attempt would not be settled
    deps.log.error({ error_name: nameOf(error) }, 'the artifact could not be stored');
    return failed({ code: 'upstream_unavailable', text: inspect(error) }, elapsedMs, deps);
  }
}

const HELD = 'a provider of models asked for a pause';
/** Jobs that wait for the same provider do not all come back at once. */
const SPREAD = 0.1;
const MIN_SPREAD_MS = 100;

/** Nothing failed: the attempt is put back until the pause has passed. */
async function held(pausedMs: number, { callsMade, random }: OutcomeDeps): Promise<Outcome> {
  try {
    await callsMade?.hold();
  } catch (error) {
    if (!isPassing(error)) throw error; // its jobs are claimed once more, and held again
  }
  const spreadMs = Math.max(MIN_SPREAD_MS, pausedMs * SPREAD);
  return { type: 'hold', delayMs: Math.ceil(pausedMs + random() * spreadMs), reason: HELD };
}

async function failed(thrown: Thrown, elapsedMs: number, deps: OutcomeDeps): Promise<Outcome> {
  const { code, retryAfterMs, issues, rule } = thrown;
  const message = thrown.message ?? deps.callsMade?.messageOf(rule);
  const failure: Failure = {
    code,
    elapsedMs,
    ...(message === undefined ? {} : { message }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(issues === undefined ? {} : { issues }),
    ...(rule === undefined ? {} : { rule }),
  };
  const evidence = [...(await keepEvidence(thrown, deps)), ...(deps.callsMade?.evidence() ?? [])];
  if (evidence.length > 0) failure.evidence = evidence;
  return { type: 'fail', failure, jitter: deps.random() };
}

/** A failure must be told even where its evidence cannot be kept. */
async function keepEvidence(thrown: Thrown, deps: OutcomeDeps): Promise<Evidence[]> {
  try {
    const kept: Evidence[] = [];
    if (thrown.raw !== undefined) kept.push(await keep('raw_output', rawText(thrown.raw), deps));
    if (thrown.text !== '') kept.push(await keep('error', asText(thrown.text), deps));
    return kept;
  } catch (error) {
    deps.log.error({ error_name: nameOf(error) }, 'evidence could not be stored');
    return [];
  }
}

interface Text {
  text: string;
  ending: 'json' | 'txt';
}

async function keep(kind: Evidence['kind'], { text, ending }: Text, deps: OutcomeDeps): Promise<Evidence> {
  const bytes = Buffer.from(text).subarray(0, deps.maxOutputBytes);
  const mediaType = ending === 'json' ? 'application/json' : 'text/plain; charset=utf-8';
  const name = `${kind.replace('_', '-')}.${ending}`;
  const { uri, sha256, bytes: size } = await deps.keeper.keep('evidence', name, bytes, mediaType);
  return { kind, uri, sha256, bytes: size };
}

/** What the function or the model gave, word for word where it is text or JSON. */
function rawText(raw: unknown): Text {
  if (typeof raw === 'string') return asText(raw);
  if (jsonIssue(raw) === null) return { text: JSON.stringify(raw), ending: 'json' };
  return asText(inspect(raw, { depth: 10, maxArrayLength: 1000, maxStringLength: 100_000 }));
}

function asText(text: string): Text {
  return { text, ending: 'txt' };
}
