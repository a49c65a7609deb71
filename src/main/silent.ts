/** Telemetry that says nothing: an app has a log of its own, and a command says itself what there is to say. */
import type { Log, Telemetry } from '../ports/telemetry.ts';

function nothing(): void {}

const LOG: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => LOG };

export const SILENT: Telemetry = { log: LOG, moved: nothing };
