import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { Io } from './host.ts';
import { instant, limitsOf, openUpload, pair, positiveNumber, readInput } from './options.ts';

const dir = mkdtempSync(join(tmpdir(), 'claimcheck-options-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const io = { stdin: () => Promise.resolve(Buffer.from('{"from":"stdin"}')) } as Io;

test('an input is JSON, a file, or stdin', async () => {
  writeFileSync(join(dir, 'in.json'), '{"from":"file"}');
  expect(await readInput('{"from":"text"}', io)).toEqual({ from: 'text' });
  expect(await readInput(`@${join(dir, 'in.json')}`, io)).toEqual({ from: 'file' });
  expect(await readInput('-', io)).toEqual({ from: 'stdin' });
});

test('an input that is none is refused with the reason', async () => {
  await expect(readInput('{x', io)).rejects.toThrow(
    'The input is refused: the JSON text has an unexpected character at line 1, column 2. Quote it for your shell, or use --input @file.',
  );
  await expect(readInput('@/nowhere.json', io)).rejects.toThrow(
    'Cannot read /nowhere.json: there is no such file.',
  );
  await expect(readInput(`@${dir}`, io)).rejects.toThrow(`Cannot read ${dir}: it is a directory.`);
});

test('an input is read as strictly as the API reads a body, wherever it comes from', async () => {
  const file = join(dir, 'strict.json');
  const from = async (bytes: string | Uint8Array) => {
    writeFileSync(file, bytes);
    return readInput(`@${file}`, io);
  };
  await expect(from('{"n":9007199254740993}')).rejects.toThrow(/strict\.json is refused at \/n: .*2\^53/);
  await expect(from('{"a":1,"a":2}')).rejects.toThrow(/ is refused at \/a: this key is given twice\.$/);
  await expect(readInput('{"a":1,"a":2}', io)).rejects.toThrow('The input is refused at /a: ');
  await expect(from(Uint8Array.of(0x22, 0xff, 0x22))).rejects.toThrow(/is not valid UTF-8\.$/);
  await expect(from('\ufeff{}')).rejects.toThrow(/ is refused: /);
  const piped = { stdin: () => Promise.resolve(Buffer.from([0x22, 0xff, 0x22])) } as Io;
  await expect(readInput('-', piped)).rejects.toThrow(/^The input on stdin is refused: .*UTF-8\.$/);
});

test('instants need their time zone, since without one they differ from machine to machine', () => {
  expect(instant('2030-01-31T08:00:00+02:00')).toBe(Date.UTC(2030, 0, 31, 6));
  expect(() => instant('2030-01-31T08:00:00')).toThrow(/with its zone/);
  expect(() => instant('tomorrow')).toThrow(/with its zone/);
});

test('numbers are whole, and at least 1 where that is meant', () => {
  expect(positiveNumber('20')).toBe(20);
  for (const text of ['0', '-1', '1.5', '1e3', 'x', ''])
    expect(() => positiveNumber(text)).toThrow('It takes a whole');
});

test('pairs are collected, and a value may hold an equals sign', () => {
  expect(pair('b=c=d', pair('a=1'))).toEqual({ a: '1', b: 'c=d' });
  expect(() => pair('novalue')).toThrow('It takes key=value.');
});

test('limits are sent only where one was given', () => {
  expect(limitsOf({})).toBeUndefined();
  expect(limitsOf({ maxAttempts: 2 })).toMatchObject({ maxAttempts: 2 });
});

test('an upload has its name and the media type that the name suggests', async () => {
  writeFileSync(join(dir, 'Invoice 1.PDF'), 'x');
  const { body, ...file } = await openUpload(join(dir, 'Invoice 1.PDF'));
  body.destroy();
  expect(file).toEqual({ fileName: 'Invoice 1.PDF', mediaType: 'application/pdf' });
  await expect(openUpload(dir)).rejects.toThrow('it is a directory');
});
