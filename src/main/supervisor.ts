/**
 * Keeps one worker process alive, whatever its jobs do to it.
 *
 * The child says over IPC which session it works under and, at a beat, that its event loop turns. Three things end
 * it: it exits (a job called `process.exit`, ran out of memory, crashed a library), it goes silent for longer than its lease
 * lasts (a job spins: its jobs are forfeit anyway, so it is killed), or it is told to stop. Whenever it
 * has ended, its session is reaped at once, so that its jobs go on without waiting for the lease, and another is
 * started: first after 100 ms, then after twice as long each time, up to ten seconds; a child that lived for half a
 * minute starts that count afresh. Exit code 75 says that every slot is held by an attempt that ignores its
 * signal; a new process is all that helps, so it starts at once.
 */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { EXIT } from '../cli/problem.ts';
import type { Log } from '../ports/telemetry.ts';
import type { Wakeups } from '../ports/wakeups.ts';
import { bridge, readFromWorker } from './channel.ts';
import type { ToWorker, WorkerStart } from './channel.ts';
import { LOOP_EXITS, MAX_DELAY_MS, createRestarts } from './restarts.ts';
import { createWatchdog } from './watchdog.ts';

export interface SupervisorOptions {
  /** The worker's module. */
  entry: string;
  env: NodeJS.ProcessEnv;
  start: WorkerStart;
  /** Longest silence of the worker's event loop before it is killed. */
  silenceMs: number;
  /** The same while it starts: loading workflows may block it for long. */
  startupMs: number;
  /** How long after `stop()` it may take to end before it is killed. */
  stopMs: number;
  wakeups: Wakeups;
  log: Log;
  /** Called when a worker has ended; its jobs are to be recovered. */
  reap: (session: string) => Promise<void>;
  /** Tells a person at the terminal. */
  say: (line: string) => void;
}

export interface Supervisor {
  start(): void;
  /** Lets the worker end its attempts; resolves when it has exited. Bounded by `stopMs`. */
  stop(): Promise<void>;
  /** Ends the worker at once. */
  kill(): void;
}

interface Ended {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
}

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { log, say } = options;
  const restarts = createRestarts();
  let child: Child | null = null;
  let restartTimer: NodeJS.Timeout | null = null;
  let stopping = false;

  function launch(): void {
    restartTimer = null;
    const startedAt = performance.now();
    child = startChild(options, (ended, session) => {
      child = null;
      void onEnd({ ended, session, livedMs: performance.now() - startedAt });
    });
  }

  async function onEnd({ ended, session, livedMs }: Life): Promise<void> {
    const fields = { session, exit_code: ended.exitCode, signal: ended.signal };
    if (stopping && ended.exitCode === EXIT.ok) log.info(fields, 'the worker process ended');
    else log.warn(fields, 'the worker process ended');
    if (session !== null) await recover(session);
    if (stopping) return;
    if (ended.exitCode === EXIT.stuck) {
      log.warn({}, 'every slot was held by an attempt that ignored its signal');
      return launch();
    }
    restart(ended, livedMs);
  }

  /** A store that does not answer is not waited for long. */
  async function recover(session: string): Promise<void> {
    const reaped = options.reap(session).catch((error: unknown) => {
      // The sweeper recovers them once the session has expired.
      log.warn({ session, error }, "the ended worker's jobs wait for their lease");
    });
    await Promise.race([reaped, new Promise((resolve) => setTimeout(resolve, REAP_MS).unref())]);
  }

  function restart(ended: Ended, livedMs: number): void {
    const { delayMs, isLoop } = restarts.next(performance.now(), livedMs);
    if (isLoop) {
      say(
        `The worker has ended ${LOOP_EXITS} times in a minute, last with ${inWords(ended)}; ` +
          `trying again in ${delayMs / 1000} s, then at intervals of up to ${MAX_DELAY_MS / 1000} s. The log says more.`,
      );
    }
    log.info({ restart_in_ms: delayMs }, 'the worker process will be started again');
    restartTimer = setTimeout(launch, delayMs);
  }

  return {
    start: launch,
    async stop() {
      stopping = true;
      if (restartTimer !== null) clearTimeout(restartTimer);
      await child?.stop();
    },
    kill() {
      stopping = true;
      if (restartTimer !== null) clearTimeout(restartTimer);
      child?.kill();
    },
  };
}

/** How long the next worker waits for the jobs of the last. */
const REAP_MS = 3_000;

/** One worker process, looked back on. */
interface Life {
  ended: Ended;
  session: string | null;
  livedMs: number;
}

function inWords({ exitCode, signal }: Ended): string {
  return signal === null ? `exit code ${exitCode}` : `signal ${signal}`;
}

interface Child {
  stop(): Promise<void>;
  kill(): void;
}

/** One life of the worker process, from fork to exit. */
function startChild(
  options: SupervisorOptions,
  onEnd: (ended: Ended, session: string | null) => void,
): Child {
  const { entry, env, start, silenceMs, wakeups, log } = options;
  // stdout is the supervisor's own: what a job prints goes to stderr, beside the log.
  const forked = fork(entry, [], { env, serialization: 'advanced', stdio: ['ignore', 2, 2, 'ipc'] });
  const send = (message: ToWorker) => sendTo(forked, message);
  const hints = bridge({
    wakeups,
    carries: ['queued', 'revoked'],
    send: (batch) => send({ type: 'wakeups', wakeups: batch }),
  });
  const watchdog = createWatchdog({ limitMs: options.startupMs, onSilence: killSilent });
  const nonce = randomUUID();
  let session: string | null = null;
  let strangeMessages = 0;

  function killSilent(silentMs: number): void {
    log.error({ session, silent_ms: Math.round(silentMs) }, 'the worker process is silent and is killed');
    forked.kill('SIGKILL');
  }

  forked.on('message', (message) => {
    const said = readFromWorker(message, nonce);
    if (said === null) return strange();
    watchdog.heard();
    if (said.type === 'wakeups') return hints.arrived(said.wakeups);
    if (said.type !== 'session') return;
    session = said.session;
    watchdog.limit(silenceMs);
  });

  /** A job that speaks over the channel is not the worker: it is not listened to, and told of once. */
  function strange(): void {
    strangeMessages += 1;
    if (strangeMessages > 1) return;
    log.warn({ session }, 'something in the worker process speaks over its channel; it is not listened to');
  }

  const exited = endOf(forked, (error) =>
    log.error({ error }, 'the worker process could not be started'),
  ).then((ended) => {
    watchdog.close();
    hints.close();
    onEnd(ended, session);
  });

  send({ type: 'start', start, beatMs: Math.max(50, Math.min(1_000, silenceMs / 4)), nonce });
  return {
    async stop() {
      send({ type: 'stop' });
      const bound = setTimeout(() => forked.kill('SIGKILL'), options.stopMs);
      await exited;
      clearTimeout(bound);
    },
    kill: () => void forked.kill('SIGKILL'),
  };
}

/** How long after its exit a child's last words may take to be read. */
const LAST_WORDS_MS = 1_000;

/** Resolves when the process is gone and all that it said was heard: its session may be among its last words. */
async function endOf(child: ChildProcess, onError: (error: Error) => void): Promise<Ended> {
  const heard = new Promise<void>((resolve) => child.once('disconnect', resolve));
  const ended = await new Promise<Ended>((resolve) => {
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }));
    child.on('error', (error) => {
      onError(error);
      if (child.pid === undefined) resolve({ exitCode: null, signal: null });
    });
  });
  if (child.connected) {
    await Promise.race([heard, new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS).unref())]);
  }
  return ended;
}

function sendTo(child: ChildProcess, message: ToWorker): void {
  if (!child.connected) return;
  // A failure means that it is ending; its exit tells.
  child.send(message, () => {});
}
