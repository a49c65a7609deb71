/** A provider in a process of its own, which answers every call at once, or streams so slowly that calls pile up. */
const { startFakeProvider } = /** @type {typeof import('../../src/testing.ts')} */ (
  await import(new URL('../../dist/testing.js', import.meta.url).href)
);

const CHUNKS = 20;
const TEXT = 'A sentence of some words, as models like to write them. '.repeat(CHUNKS);

const chunkDelayMs = Number(process.argv[2] ?? 0);
const { url } = await startFakeProvider({
  script: [{ reply: 'ok', text: TEXT, chunks: CHUNKS, ...(chunkDelayMs > 0 ? { chunkDelayMs } : {}) }],
});
console.log(`listens on ${url}`);
