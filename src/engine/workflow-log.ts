/**
 * The log as a workflow has it. Of its own fields, numbers and booleans pass, and errors (of which the log keeps the kind
 * alone): no input or prompt gets into a line by accident, and none of the fields that name the attempt is replaced.
 */
import type { Log } from '../ports/telemetry.ts';

const OURS = ['job_id', 'attempt', 'worker'];

export function workflowLog(log: Log): Log {
  return {
    debug: (fields, message) => log.debug(thin(fields), message),
    info: (fields, message) => log.info(thin(fields), message),
    warn: (fields, message) => log.warn(thin(fields), message),
    error: (fields, message) => log.error(thin(fields), message),
    child: (fields) => workflowLog(log.child(thin(fields))),
  };
}

/** A function without a compiler may hand over anything; what is no object is left to the log. */
function thin(fields: unknown): object {
  if (fields === null || typeof fields !== 'object' || fields instanceof Error) return fields as object;
  try {
    return Object.fromEntries(
      Object.entries(fields).filter(([name, value]) => !OURS.includes(name) && passes(value)),
    );
  } catch {
    return {}; // a getter that throws
  }
}

function passes(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'boolean' || value instanceof Error;
}
