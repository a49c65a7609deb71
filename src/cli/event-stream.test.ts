import { expect, test } from 'vitest';
import { messages } from './event-stream.ts';

async function read(text: string, size: number): Promise<string[]> {
  const bytes = Buffer.from(text);
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  const found: string[] = [];
  for await (const data of messages(chunks())) found.push(data);
  return found;
}

const STREAM =
  ': hello\n\nid: 1\nevent: queued\ndata: {"a":"ä"}\n\n:\n\ndata:one\r\ndata: two\r\n\r\ndata: cut off';

test.each([1, 2, 3, 7, 1000])('messages are found whole, however the bytes are cut (by %i)', async (size) => {
  expect(await read(STREAM, size)).toEqual(['{"a":"ä"}', 'one\ntwo']);
});
