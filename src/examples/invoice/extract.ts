/**
 * The text of a PDF that nobody vouches for.
 *
 * The file is opened by a process of its own (extract-process.mjs) in a sandbox, which knows no setting or
 * secret of ours and is ended when it takes too much time or memory, or when the attempt's signal fires.
 * Whatever is wrong with a file ends as an `InvalidInputError` whose sentence says what to do about it.
 */
import { spawn } from 'node:child_process';
import { availableParallelism, tmpdir } from 'node:os';
import type { Readable } from 'node:stream';
import { InvalidInputError, RetryableError } from '../../domain/thrown.ts';
import type { InputFile } from '../../engine/workflow.ts';
import { Gate } from './gate.ts';
import { layOut } from './layout.ts';
import type { Page } from './layout.ts';
import { LIBRARY_URL, READER, SANDBOX } from './sandbox.ts';

export interface ExtractLimits {
  maxBytes: number;
  maxPages: number;
  /** UTF-16 units of text in the whole document. */
  maxChars: number;
  /** Pieces in which the text may be drawn. */
  maxRuns: number;
  /** From the moment the reader has the file. */
  timeoutMs: number;
  maxHeapMb: number;
  /** Of the whole reading process, about 100 MB of which it needs for itself. */
  maxMemoryMb: number;
}

const EXTRACT_LIMITS: ExtractLimits = {
  maxBytes: 20 * 1024 * 1024,
  maxPages: 50,
  maxChars: 200_000,
  maxRuns: 50_000,
  timeoutMs: 20_000,
  maxHeapMb: 256,
  maxMemoryMb: 512,
};

/** What the reading process is told. */
export interface ReaderOptions extends ExtractLimits {
  libraryUrl: string;
}

type Problem =
  | 'not_a_pdf'
  | 'encrypted'
  | 'damaged'
  | 'no_pages'
  | 'too_many_pages'
  | 'too_much_text'
  | 'too_slow'
  | 'too_much_memory';

/** What the reading process says. */
export type ReaderAnswer = { pages: Page[] } | { problem: Problem };

/**
 * @returns the text, its lines and columns where the page has them
 * @throws InvalidInputError where the file is unusable; the signal's reason soon after it fires
 */
export async function extractText(
  file: Pick<InputFile, 'bytes' | 'read'>,
  options: { signal: AbortSignal; limits?: Partial<ExtractLimits> },
): Promise<string> {
  const limits = { ...EXTRACT_LIMITS, ...options.limits };
  if (file.bytes === 0) throw new InvalidInputError('The file is empty: upload the invoice again.');
  if (file.bytes > limits.maxBytes) throw new InvalidInputError(tooLarge(limits));
  const answer = await readers.pass(options.signal, async () =>
    runReader(await file.read(), limits, options.signal),
  );
  if ('problem' in answer) throw new InvalidInputError(sentence(answer.problem, limits));
  const text = layOut(answer.pages);
  if (text.trim() === '') throw new InvalidInputError(NO_TEXT);
  return text;
}

/** Readers may take half a gigabyte each. */
const readers = new Gate(Math.max(2, Math.min(4, availableParallelism())));

/** The reader ends itself; this is for one that cannot any more. */
const SLACK_MS = 3_000;
/** More than the text limits let through, escaped; a reader that says more than that is not ours any more. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const MAX_COMPLAINT_BYTES = 4_096;

async function runReader(
  bytes: Uint8Array,
  limits: ExtractLimits,
  signal: AbortSignal,
): Promise<ReaderAnswer> {
  signal.throwIfAborted();
  const options: ReaderOptions = { ...limits, libraryUrl: LIBRARY_URL };
  const child = spawn(process.execPath, [...SANDBOX, READER, JSON.stringify(options)], {
    cwd: tmpdir(),
    env: {},
    stdio: 'pipe',
    windowsHide: true,
    timeout: limits.timeoutMs + SLACK_MS,
    killSignal: 'SIGKILL',
  });
  const ended = new Promise<NodeJS.Signals | number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, killedBy) => resolve(killedBy ?? code));
  });
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  // A reader that ends before it took the whole file closes the pipe; its answer or its exit says why.
  child.stdin.on('error', () => undefined);
  child.stdin.end(bytes);
  try {
    const [answer, complaint, how] = await Promise.all([
      collect(child.stdout, MAX_ANSWER_BYTES),
      collect(child.stderr, MAX_COMPLAINT_BYTES),
      ended.catch((cause: unknown) => {
        throw new RetryableError('The process that reads PDFs could not be started.', { cause });
      }),
    ]);
    signal.throwIfAborted();
    if (how === 0) return JSON.parse(answer) as ReaderAnswer;
    return { problem: problemOfExit(how, child.killed, complaint) };
  } finally {
    signal.removeEventListener('abort', kill);
    kill();
  }
}

/** What it means that the reader ended without an answer. V8 aborts where it runs out of memory in a place that cannot fail. */
function problemOfExit(how: NodeJS.Signals | number | null, byUs: boolean, complaint: string): Problem {
  if (byUs) return 'too_slow';
  if (how === 'SIGABRT') return 'too_much_memory';
  if (how === 'SIGKILL' || how === 'SIGTERM')
    throw new RetryableError('The PDF reader was killed from outside.');
  throw new Error(`The PDF reader ended with ${how}: ${complaint}`);
}

/** At most `maxBytes` of a stream; the rest is read and dropped. */
async function collect(stream: Readable, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let room = maxBytes;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (room > 0) chunks.push(chunk.subarray(0, room));
    room -= chunk.length;
  }
  return Buffer.concat(chunks).toString('utf8');
}

const NO_TEXT =
  'The PDF holds no text, only images or drawings: run text recognition (OCR) over it and upload the result.';

function tooLarge({ maxBytes }: ExtractLimits): string {
  return `The file is larger than ${Math.floor(maxBytes / 1024 / 1024)} MB: upload a smaller copy of the invoice.`;
}

function sentence(problem: Problem, limits: ExtractLimits): string {
  const copy = 'print it to a new PDF and upload that';
  switch (problem) {
    case 'not_a_pdf':
      return 'The file is not a PDF: upload the invoice as a PDF.';
    case 'encrypted':
      return 'The PDF is encrypted: upload a copy that opens without a password.';
    case 'damaged':
      return 'The PDF is damaged and cannot be read: export or download it again and upload the new copy.';
    case 'no_pages':
      return 'The PDF has no pages: export the invoice again and upload the new copy.';
    case 'too_many_pages':
      return `The PDF has more than ${limits.maxPages} pages: upload the pages of the invoice alone.`;
    case 'too_much_text':
      return `The PDF holds more than ${limits.maxChars} characters of text: upload the pages of the invoice alone.`;
    case 'too_slow':
      return `The PDF takes longer than ${limits.timeoutMs / 1000} seconds to read: ${copy}.`;
    case 'too_much_memory':
      return `The PDF takes too much memory to read: ${copy}.`;
  }
}
