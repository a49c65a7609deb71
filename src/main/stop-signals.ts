/** How a process is told to stop: the first signal asks, the second ends at once. */
import { constants } from 'node:os';

type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

const SIGNALS: readonly StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

export interface StopSignals {
  /** Resolves at the first signal. */
  stopped: Promise<StopSignal>;
  close(): void;
}

/** @param atOnce what is still to be done when the process ends at the second signal, with 128 and its number */
export function listenForStop(atOnce: () => void = () => {}): StopSignals {
  let resolve: (signal: StopSignal) => void = () => {};
  let isStopping = false;
  const stopped = new Promise<StopSignal>((done) => {
    resolve = done;
  });
  const onSignal = (signal: StopSignal) => {
    if (!isStopping) {
      isStopping = true;
      return resolve(signal);
    }
    atOnce();
    process.exit(128 + constants.signals[signal]);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    stopped,
    close: () => {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    },
  };
}
