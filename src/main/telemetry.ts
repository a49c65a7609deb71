/**
 * Logs: one line of JSON each, on stderr. Only fields of the lists below are ever written, so no input, output,
 * prompt or key can reach a log by way of an object that somebody passed along.
 */
import pino from 'pino';
import { inert } from '../domain/inert.ts';
import type { Moved } from '../ports/job-store.ts';
import type { Log, Telemetry } from '../ports/telemetry.ts';

/** Fields that the engine and the processes say about themselves. */
const FIELDS = new Set(
  (
    'job_id attempt worker code event status workflow version due tenant ' +
    'session pid process signal exit_code restart_in_ms silent_ms elapsed_ms limit_ms ' +
    'request_id method route ms key error error_name error_code stack'
  ).split(' '),
);
const TEXT_LIMIT = 500;

type Fields = Record<string, string | number | boolean | null>;

export interface LogOptions {
  level: string;
  /** Which process writes: `api` or `worker`. */
  process: string;
  /** Where lines go; stderr by default. */
  write?: (line: string) => void;
}

export function createTelemetry({ level, process: name, write }: LogOptions): Telemetry {
  const writeLine = write ?? stderrWriter();
  const logger = pino(
    {
      level,
      base: { process: name, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    // JSON leaves some characters as they are that a terminal would act on.
    { write: (line) => writeLine(inert(line)) },
  );
  const log = adapt(logger);
  return {
    log,
    moved: (moved) => log.info(movedFields(moved), moved.event),
  };
}

function movedFields(moved: Moved): object {
  const { jobId, workflow, event, status, attempt, worker, code, due } = moved;
  return {
    job_id: jobId,
    workflow,
    event,
    status,
    attempt,
    ...(worker === null ? {} : { worker }),
    ...(code === null ? {} : { code }),
    ...(due === null || due <= Date.now() ? {} : { due: new Date(due).toISOString() }),
  };
}

function adapt(logger: pino.Logger): Log {
  return {
    debug: (fields, message) => logger.debug(allowed(fields), message.slice(0, TEXT_LIMIT)),
    info: (fields, message) => logger.info(allowed(fields), message.slice(0, TEXT_LIMIT)),
    warn: (fields, message) => logger.warn(allowed(fields), message.slice(0, TEXT_LIMIT)),
    error: (fields, message) => logger.error(allowed(fields), message.slice(0, TEXT_LIMIT)),
    child: (fields) => adapt(logger.child(allowed(fields))),
  };
}

/**
 * The listed fields, as scalars of bounded length; of a thrown error, its class, its system code and its place alone. A number or
 * a boolean may have any name: it quotes nobody.
 */
function allowed(fields: object): Fields {
  const kept: Fields = {};
  for (const [key, value] of Object.entries(fields)) {
    if (value instanceof Error) Object.assign(kept, errorFields(value));
    else if (typeof value === 'number' || typeof value === 'boolean') kept[key] = value;
    else if (!FIELDS.has(key)) continue;
    else if (isScalar(value)) kept[key] = bounded(value);
    else if (Array.isArray(value)) kept[key] = bounded(value.filter(isScalar).join(' | '));
  }
  return kept;
}

function errorFields(error: Error): Fields {
  const code = (error as NodeJS.ErrnoException).code;
  const place = /^ {4}at .*$/m.exec(error.stack ?? '')?.[0].trim();
  return {
    error_name: bounded(error.name),
    ...(typeof code === 'string' ? { error_code: bounded(code) } : {}),
    ...(place === undefined ? {} : { stack: bounded(place) }),
  };
}

function isScalar(value: unknown): value is string | number | boolean | null {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

function bounded<Value extends string | number | boolean | null>(value: Value): Value | string {
  return typeof value === 'string' ? value.slice(0, TEXT_LIMIT) : value;
}

let toStderr: ((line: string) => void) | null = null;

/** Lines that come while one is being written go out together after it; what is left goes out at exit. One a process. */
function stderrWriter(): (line: string) => void {
  toStderr ??= openStderr();
  return toStderr;
}

function openStderr(): (line: string) => void {
  const destination = pino.destination({ fd: 2, sync: false });
  // A log that nobody reads any more must not end the process that writes it.
  destination.on('error', () => {});
  process.on('exit', () => {
    try {
      destination.flushSync();
    } catch {
      // the reader is gone
    }
  });
  return (line) => void destination.write(line);
}
