/**
 * Logs: one line of JSON each, on stderr. Only fields of the lists below are ever written, so no input, output,
 * prompt or key can reach a log by way of an object that somebody passed along.
 */
import pino from 'pino';
import { inert } from '../domain/inert.ts';
import { framesOf } from '../domain/untrusted.ts';
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
const NAME_LIMIT = 100;
const FIELD_LIMIT = 50;

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
    moved: (moved) => {
      if (logger.isLevelEnabled('info')) log.info(movedFields(moved), moved.event);
    },
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

/** Workflows log here too, and a wrong argument from plain JavaScript must not cost them their attempt. */
function adapt(logger: pino.Logger): Log {
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (fields: unknown, message: unknown) => {
    if (logger.isLevelEnabled(level))
      logger[level](allowed(fields), textOf(typeof fields === 'string' ? fields : message));
  };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => adapt(logger.child(allowed(fields))),
  };
}

function textOf(message: unknown): string {
  return typeof message === 'string' ? message.slice(0, TEXT_LIMIT) : '';
}

/**
 * The listed fields, as scalars of bounded length; of a thrown error, its class, its system code and its place alone. A number or
 * a boolean may have any name: it quotes nobody. What cannot be read is left out whole.
 */
function allowed(fields: unknown): Fields {
  const isRecord = typeof fields === 'object' && fields !== null && !ArrayBuffer.isView(fields);
  if (!isRecord) return {};
  try {
    return Object.assign({}, ...Object.entries(fields).slice(0, FIELD_LIMIT).map(allowedField)) as Fields;
  } catch {
    return {};
  }
}

function allowedField([key, value]: [string, unknown]): Fields {
  if (value instanceof Error) return errorFields(value);
  const name = key.slice(0, NAME_LIMIT);
  if (typeof value === 'number' || typeof value === 'boolean') return { [name]: value };
  if (!FIELDS.has(key)) return {};
  if (isScalar(value)) return { [name]: bounded(value) };
  if (!Array.isArray(value)) return {};
  return { [name]: bounded(value.slice(0, FIELD_LIMIT).filter(isScalar).map(bounded).join(' | ')) };
}

function errorFields(error: Error): Fields {
  // The types promise texts; whoever made the error need not have kept to them.
  const { name, code } = error as { name: unknown; code?: unknown };
  const place = framesOf(error)[0]?.trim();
  return {
    error_name: typeof name === 'string' ? bounded(name) : 'Error',
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
