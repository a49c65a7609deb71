/** What the engine tells about itself. No input, output, prompt, error text of a provider, or key is ever handed to it. */
import type { Moved } from './job-store.ts';

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Log;
}

export interface Telemetry {
  log: Log;
  /** Called once for each transition that this process wrote. */
  moved(moved: Moved): void;
}
