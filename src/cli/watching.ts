/**
 * Watching a job: a line for each event as it comes and, while an attempt reports its progress, a bar on a terminal
 * (below the lines, redrawn in place) or a plain line a percent elsewhere. A job that just waits is explained once, and
 * one that died ends with the reason and the question that it leaves.
 */
import type { EventJson, RecordJson } from '../domain/view.ts';
import type { Status } from '../domain/record.ts';
import type { Desk } from './desk.ts';
import type { Io } from './host.ts';
import { EXIT, Problem } from './problem.ts';
import { jsonText, palette, plain, styleOf } from './text.ts';

type Progress = NonNullable<RecordJson['progress']>;
type Print = 'text' | 'json' | 'nothing';

const LOOK_MS = 500;
/** A job that has not moved for so long is explained. */
const QUIET_MS = 2_000;
const BAR_WIDTH = 24;
/** The longest type of an event. */
const TYPE_WIDTH = 'requeued_after_restart'.length;
/** `08:00:00.000Z` */
const TIME_WIDTH = 13;

/** Follows to the terminal state, which it gives back. */
export async function watchToEnd(
  desk: Desk,
  jobId: string,
  { io, print }: { io: Io; print: Print },
): Promise<Status> {
  const stop = new AbortController();
  const screen = createScreen(io, print);
  const looking = lookIn(desk, jobId, screen, stop.signal);
  const onLost = () => screen.note('Lost the server, trying again.');
  let last: Status | null = null;
  try {
    for await (const event of desk.follow(jobId, { signal: stop.signal, onLost })) {
      last = event.to;
      screen.event(event);
    }
  } finally {
    stop.abort();
    await looking;
    screen.end();
  }
  if (last === null) throw new Problem(`${plain(jobId)} has no events.`, EXIT.failed);
  if (last === 'dead_letter' && print === 'text') await explainDeath(desk, jobId, io);
  return last;
}

/** The record is only read for people here; the end of the job stands without it. */
async function explainDeath(desk: Desk, jobId: string, io: Io): Promise<void> {
  const record = await desk.record(jobId).catch(() => null);
  if (record?.status !== 'dead_letter') return;
  const { errors, decision } = record;
  const lines = [errors.at(-1)?.message ?? '', decision?.open === true ? decision.question : ''];
  for (const line of lines) if (line !== '') io.out(`${plain(line)}\n`);
}

interface Screen {
  event(event: EventJson): void;
  /** Whether the record may have something to show now. */
  wantsLook(): boolean;
  look(record: RecordJson): void;
  /** A line beside the results. */
  note(text: string): void;
  end(): void;
}

/** Progress and answers are in the record, not in the history; a look that fails says nothing, since the events go on. */
async function lookIn(desk: Desk, jobId: string, screen: Screen, signal: AbortSignal): Promise<void> {
  for (;;) {
    await pauseFor(LOOK_MS, signal);
    if (signal.aborted) return;
    if (!screen.wantsLook()) continue;
    const record = await desk.record(jobId).catch(() => null);
    if (signal.aborted || record === null) continue;
    screen.look(record);
  }
}

function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}

function createScreen(io: Io, print: Print): Screen {
  const bar = createBar(io);
  const colours = palette(io.hasColour);
  let latest: EventJson | null = null;
  let quietSinceMs = performance.now();
  let isExplained = false;

  function isQuiet(): boolean {
    return latest?.to === 'queued' && !isExplained && performance.now() - quietSinceMs >= QUIET_MS;
  }

  function note(text: string): void {
    bar.clear();
    io.err(`${plain(text)}\n`);
  }

  return {
    event(event) {
      latest = event;
      quietSinceMs = performance.now();
      isExplained = false;
      bar.clear();
      if (print === 'json') io.out(`${jsonText(event, 0)}\n`);
      if (print !== 'text') return;
      const type = styleOf(event.type, colours)(plain(event.type).padEnd(TYPE_WIDTH));
      io.out(`${`${colours.dim(event.at.slice(11))}  ${type}  ${detailOf(event)}`.trimEnd()}\n`);
    },
    wantsLook: () => isQuiet() || (print === 'text' && latest?.to === 'running'),
    look({ status, progress, events, answers }) {
      // What was read may be older, or newer, than what is on the screen.
      if (events.at(-1)?.seq !== latest?.seq) return;
      if (status === 'running' && progress !== undefined && print === 'text') bar.show(progress);
      if (!isQuiet()) return;
      isExplained = true;
      note(answers.now);
    },
    note,
    end: bar.clear,
  };
}

function createBar(io: Io) {
  let isShown = false;
  let percent = -1;

  function clear(): void {
    if (isShown) io.out('\r\u001b[2K');
    isShown = false;
  }

  function show({ fraction, note }: Progress): void {
    const now = Math.round(fraction * 100);
    if (now === percent && !io.isTerminal) return;
    percent = now;
    const text = `${String(now).padStart(3)} %${note === null ? '' : `  ${plain(note)}`}`;
    if (!io.isTerminal) {
      return io.out(`${' '.repeat(TIME_WIDTH)}  ${'progress'.padEnd(TYPE_WIDTH)}  ${text.trimStart()}\n`);
    }
    clear();
    const full = Math.round(fraction * BAR_WIDTH);
    const line = `[${'#'.repeat(full)}${'-'.repeat(BAR_WIDTH - full)}] ${text}`;
    io.out(line.slice(0, io.columns - 1));
    isShown = true;
  }

  return { show, clear };
}

/** What an event says besides its type, for one line. */
export function detailOf(event: EventJson): string {
  const parts = [
    event.type === 'running' ? `attempt ${event.attempt}` : '',
    event.code ?? '',
    event.worker === undefined ? '' : `on ${event.worker}`,
    event.due === undefined ? '' : `due ${event.due}`,
    event.actor === undefined ? '' : `by ${event.actor}`,
    event.reason === undefined ? '' : `"${event.reason}"`,
  ];
  return plain(parts.filter((part) => part !== '').join(' '));
}
