/**
 * Watching a job: a line for each event as it comes and, while an attempt reports its progress, a bar on a terminal
 * (below the lines, redrawn in place) or a plain line a percent elsewhere.
 */
import type { EventJson, RecordJson } from '../domain/view.ts';
import type { Status } from '../domain/record.ts';
import type { Desk } from './desk.ts';
import type { Io } from './host.ts';
import { EXIT, Problem } from './problem.ts';
import { jsonText, palette, plain, styleOf } from './text.ts';

type Progress = NonNullable<RecordJson['progress']>;

const PROGRESS_MS = 500;
const BAR_WIDTH = 24;

/** Follows to the terminal state, which it gives back. */
export async function watchToEnd(
  desk: Desk,
  jobId: string,
  options: { io: Io; print: 'text' | 'json' | 'nothing' },
): Promise<Status> {
  const { io, print } = options;
  const stop = new AbortController();
  const screen = print === 'text' ? createScreen(io) : null;
  const polling = screen === null ? Promise.resolve() : pollProgress(desk, jobId, screen, stop.signal);
  let last: Status | null = null;
  try {
    for await (const event of desk.follow(jobId, stop.signal)) {
      last = event.to;
      screen?.event(event);
      if (print === 'json') io.out(`${jsonText(event, 0)}\n`);
    }
  } finally {
    stop.abort();
    await polling;
    screen?.end();
  }
  if (last === null) throw new Problem(`${plain(jobId)} has no events.`, EXIT.failed);
  return last;
}

interface Screen {
  event(event: EventJson): void;
  progress(progress: Progress): void;
  end(): void;
}

/** Progress is in the record, not in the history; a look that fails says nothing, since the events go on. */
async function pollProgress(desk: Desk, jobId: string, screen: Screen, signal: AbortSignal): Promise<void> {
  for (;;) {
    await pauseFor(PROGRESS_MS, signal);
    if (signal.aborted) return;
    const record = await desk.record(jobId).catch(() => null);
    if (signal.aborted || record === null) continue;
    if (record.status === 'running' && record.progress !== undefined) screen.progress(record.progress);
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

function createScreen(io: Io): Screen {
  const colours = palette(io.hasColour);
  let barShown = false;
  let percent = -1;

  function clearBar(): void {
    if (barShown) io.out('\r\u001b[2K');
    barShown = false;
  }

  return {
    event(event) {
      clearBar();
      percent = -1;
      const time = colours.dim(event.at.slice(11, 23));
      io.out(
        `${time}  ${styleOf(event.type, colours)(plain(event.type).padEnd(11))}  ${detailOf(event)}`.trimEnd(),
      );
      io.out('\n');
    },
    progress({ fraction, note }) {
      const now = Math.round(fraction * 100);
      if (now === percent && !io.isTerminal) return;
      percent = now;
      const text = `${String(now).padStart(3)} %${note === null ? '' : `  ${plain(note)}`}`;
      if (!io.isTerminal) return io.out(`              progress     ${text.trimStart()}\n`);
      clearBar();
      const full = Math.round(fraction * BAR_WIDTH);
      const bar = `[${'#'.repeat(full)}${'-'.repeat(BAR_WIDTH - full)}] ${text}`;
      io.out(bar.slice(0, io.columns - 1));
      barShown = true;
    },
    end: clearBar,
  };
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
