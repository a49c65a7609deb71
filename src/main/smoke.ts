/** What a smoke check needs of this process: the key, and who we are. The calls' libraries are loaded when they are to be made. */
import type { SmokeOpened } from '../cli/host.ts';
import { EXIT, Problem } from '../cli/problem.ts';
import type { JsonValue } from '../domain/json.ts';
import type { ValidationIssue } from '../domain/record.ts';
import { readPins } from '../domain/smoke/pins.ts';
import type { SmokePins } from '../domain/smoke/pins.ts';
import type { SmokeReport } from '../domain/smoke/report.ts';
import { isKeyText } from './key-text.ts';
import { VERSION } from './version.ts';

export function openSmoke(file: JsonValue): SmokeOpened {
  const read = readPins(file);
  const key = keyOf(file);
  const issues = [...(read.ok ? [] : read.issues), ...keyIssues(file, key)];
  if (!read.ok || issues.length > 0) return { ok: false, issues };
  const { pins } = read;
  return {
    ok: true,
    name: pins.name,
    calls: pins.calls,
    run: (onCall) => run(pins, key, onCall),
  };
}

type OnCall = (report: SmokeReport) => Promise<void>;

async function run(pins: SmokePins, apiKey: string | null, onCall: OnCall): Promise<SmokeReport> {
  const { runSmoke } = await import('../models/smoke.ts');
  const versions = { claimcheck: VERSION, node: process.version };
  try {
    return await runSmoke({ pins, apiKey, versions, onCall });
  } catch (error) {
    if (error instanceof Problem) throw error;
    // What a provider does is in the report; this is a defect of ours, and its message may quote anything.
    const name = error instanceof Error ? error.constructor.name : typeof error;
    throw new Problem(`The check broke off by a defect of its own: ${name}.`, EXIT.failed);
  }
}

/** The name of the variable, as far as it is one. */
function variableOf(file: JsonValue): string | null {
  const name = (file as Partial<Record<string, JsonValue>> | null)?.['api_key_env'];
  return typeof name === 'string' && /^[A-Z_][A-Z0-9_]*$/.test(name) ? name : null;
}

function keyOf(file: JsonValue): SmokePins['apiKeyEnv'] {
  const name = variableOf(file);
  return name === null ? null : (process.env[name] ?? null);
}

function keyIssues(file: JsonValue, key: string | null): ValidationIssue[] {
  const name = variableOf(file);
  if (name === null) return [];
  const path = '/api_key_env';
  if (key === null || key === '') return [{ path, message: `names ${name}, which is not set` }];
  if (!isKeyText(key, MIN_KEY))
    return [{ path, message: `names ${name}, which holds no text that can be a key` }];
  const isInFile = JSON.stringify(file).includes(JSON.stringify(key).slice(1, -1));
  return isInFile ? [{ path: '', message: `holds what ${name} holds: a key is never in this file` }] : [];
}

/** A shorter one would be found in half of all words, and taken out of the report there. */
const MIN_KEY = 8;
