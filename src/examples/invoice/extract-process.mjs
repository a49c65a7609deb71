/**
 * The process that opens an untrusted PDF: the file comes on stdin, what is written on its pages leaves
 * on stdout as one JSON value, and nothing else is let in or out (see SANDBOX in extract.ts).
 *
 * A PDF can keep its reader busy for ever or unpack to any size, and the reader cannot be interrupted
 * from its own thread. So it reads in a second thread, and the first one looks on: at the clock, at the
 * memory of the whole process, and at whether anybody still waits for the answer.
 *
 * It is plain JavaScript so that one and the same file runs from the sources and from the build without a loader.
 *
 * @typedef {import('./extract.ts').ReaderOptions} ReaderOptions
 * @typedef {import('./extract.ts').ReaderAnswer} ReaderAnswer
 * @typedef {import('./layout.ts').Page} Page
 * @typedef {typeof import('pdfjs-dist')} PdfLibrary
 * @typedef {import('pdfjs-dist/types/src/display/api.d.ts').TextItem} TextItem
 */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const LOOK_EVERY_MS = 20;

if (isMainThread) {
  await lookOn(/** @type {ReaderOptions} */ (JSON.parse(process.argv[2] ?? '')));
} else {
  const { bytes, options } = /** @type {{ bytes: Uint8Array, options: ReaderOptions }} */ (workerData);
  parentPort?.postMessage(await answer(bytes, options));
}

/** @param {ReaderOptions} options */
async function lookOn(options) {
  const parent = process.ppid;
  const bytes = await readStdin();
  const startedAt = performance.now();
  const reader = new Worker(new URL(import.meta.url), {
    workerData: { bytes, options },
    transferList: [bytes.buffer],
    resourceLimits: { maxOldGenerationSizeMb: options.maxHeapMb },
    // What the PDF library prints must not mix with the answer.
    stdout: true,
    stderr: true,
  });
  reader.once('message', finish);
  reader.once('error', (error) => {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ERR_WORKER_OUT_OF_MEMORY') throw error;
    finish({ problem: 'too_much_memory' });
  });
  setInterval(() => {
    if (process.memoryUsage.rss() > options.maxMemoryMb * 1024 * 1024) finish({ problem: 'too_much_memory' });
    else if (performance.now() - startedAt > options.timeoutMs) finish({ problem: 'too_slow' });
    else if (process.ppid !== parent) process.exit(1);
  }, LOOK_EVERY_MS);
}

/** @param {ReaderAnswer} value */
function finish(value) {
  process.stdout.write(JSON.stringify(value), () => process.exit(0));
}

async function readStdin() {
  /** @type {Buffer[]} */
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(/** @type {Buffer} */ (chunk));
  return new Uint8Array(Buffer.concat(chunks));
}

/**
 * @param {Uint8Array} bytes
 * @param {ReaderOptions} options
 * @returns {Promise<ReaderAnswer>}
 */
async function answer(bytes, options) {
  if (!hasHeader(bytes)) return { problem: 'not_a_pdf' };
  const library = await loadPdfLibrary(options.libraryUrl);
  try {
    return await readPages(library, bytes, options);
  } catch (error) {
    return { problem: problemOf(error) };
  }
}

/**
 * Readers look for the header in the first kilobyte.
 *
 * @param {Uint8Array} bytes
 */
function hasHeader(bytes) {
  return Buffer.from(bytes.subarray(0, 1024)).includes('%PDF-');
}

/** @param {unknown} error */
function problemOf(error) {
  const { name, message } = /** @type {Error} */ (error);
  if (name === 'PasswordException') return 'encrypted';
  if (name === 'RangeError' && /allocation|array length/i.test(message)) return 'too_much_memory';
  return 'damaged';
}

/**
 * @param {PdfLibrary} library
 * @param {Uint8Array} bytes
 * @param {ReaderOptions} options
 * @returns {Promise<ReaderAnswer>}
 */
async function readPages({ getDocument, Util, VerbosityLevel }, bytes, options) {
  const pdf = await getDocument({
    data: bytes,
    disableFontFace: true,
    useSystemFonts: false,
    useWorkerFetch: false,
    isOffscreenCanvasSupported: false,
    verbosity: VerbosityLevel.ERRORS,
  }).promise;
  if (pdf.numPages === 0) return { problem: 'no_pages' };
  if (pdf.numPages > options.maxPages) return { problem: 'too_many_pages' };

  const budget = { runs: options.maxRuns, chars: options.maxChars };
  /** @type {Page[]} */
  const pages = [];
  for (let number = 1; number <= pdf.numPages; number += 1) {
    const page = await readPage(await pdf.getPage(number), Util, budget);
    if (page === null) return { problem: 'too_much_text' };
    pages.push(page);
  }
  return { pages };
}

/**
 * The library asks for three classes of a browser when it is loaded. They serve drawing, and nothing is drawn here;
 * the native module that it would take them from is not let in.
 *
 * @param {string} url
 * @returns {Promise<PdfLibrary>}
 */
async function loadPdfLibrary(url) {
  Object.assign(globalThis, { DOMMatrix: Object, ImageData: Object, Path2D: Object });
  return /** @type {PdfLibrary} */ (await import(url));
}

/**
 * Null where the page holds more than the budget.
 *
 * @param {import('pdfjs-dist').PDFPageProxy} page
 * @param {PdfLibrary['Util']} util
 * @param {{ runs: number, chars: number }} budget
 * @returns {Promise<Page | null>}
 */
async function readPage(page, util, budget) {
  /** @type {number[]} */
  const toPaper = page.getViewport({ scale: 1 }).transform;
  /** @type {Page} */
  const read = [];
  const reader = /** @type {ReadableStream<{ items: TextItem[] }>} */ (page.streamTextContent()).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    for (const { str: text, transform, width } of part.value.items) {
      if (text.trim() === '') continue;
      budget.runs -= 1;
      budget.chars -= text.length;
      if (budget.runs < 0 || budget.chars < 0) return null;
      const [a = 0, b = 0, , , x = 0, y = 0] = /** @type {number[]} */ (util.transform(toPaper, transform));
      read.push({ text, x, y, width, size: Math.hypot(a, b) });
    }
  }
  return read;
}
