/**
 * What a workflow throws outside of its attempt, in a timer, an event listener or a promise that nobody awaits, in the
 * process that runs it. Node would print the whole error, and it may quote a prompt or a key; here
 * the log says which kind of error it was and where it came from.
 */
import type { Log } from '../ports/telemetry.ts';

export function handleStrayErrors(log: Log): void {
  // The attempts of others need not pay for a promise that nobody awaited.
  process.on('unhandledRejection', (error) => {
    log.error({ error }, 'a workflow left a rejected promise behind; the worker goes on');
  });
  // After a throw out of nowhere, nothing is known of the state of the process.
  process.on('uncaughtException', (error) => {
    log.error({ error }, 'a workflow threw outside of its attempt; the worker process ends');
    process.exit(1);
  });
}
