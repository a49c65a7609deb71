/**
 * A form (multipart/form-data) that holds exactly one part, `file`.
 *
 * The file is handed on while it arrives, when nobody knows yet what comes behind it. So its end is held back until
 * the form was read to its end: if something else follows, the reader of the file gets an error in place of the
 * end, and keeps nothing.
 */
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import type { BusboyFileStream, BusboyInstance } from '@fastify/busboy';
import { pointer } from '../domain/json.ts';
import { BodyRefused } from './body.ts';
import { displayName } from './file-names.ts';
import { closing, invalidRequest, problem } from './problems.ts';
import type { Parsed, Problem } from './problems.ts';

export interface FormFile {
  body: AsyncIterable<Uint8Array>;
  mediaType: string;
  fileName: string | null;
}

const LIMITS = { files: 2, fields: 2, parts: 3, fieldSize: 1024, headerPairs: 20, headerSize: 16 * 1024 };

/** Resolves when the file begins, or with what is wrong before that. */
export async function readForm(
  chunks: AsyncIterable<Uint8Array>,
  contentType: string,
): Promise<Parsed<FormFile>> {
  const form = openForm(contentType);
  return form === null ? closing(malformed()) : new Form(form, chunks).file;
}

function openForm(contentType: string): BusboyInstance | null {
  const isPartAFile = (name: string | undefined, _: unknown, fileName: string | undefined) =>
    name === 'file' || fileName !== undefined;
  try {
    return new Busboy({ headers: { 'content-type': contentType }, limits: LIMITS, isPartAFile });
  } catch {
    return null; // no boundary
  }
}

function malformed(): Problem {
  return problem('invalid_request', 'The form is not valid multipart/form-data.');
}

class Form {
  readonly file: Promise<Parsed<FormFile>>;
  readonly #form: BusboyInstance;
  /** Resolves with what is wrong with the form, or null, when it was read to its end. */
  readonly #end: Promise<Problem | null>;
  readonly #stop = new AbortController();
  #wrong: Problem | null = null;
  #current: BusboyFileStream | null = null;

  constructor(form: BusboyInstance, chunks: AsyncIterable<Uint8Array>) {
    this.#form = form;
    const begun = new Promise<Parsed<FormFile>>((resolve) => {
      form.on('file', (name, stream, fileName, _, mediaType) => {
        if (this.#takes(name, stream)) {
          resolve({
            ok: true,
            value: { body: this.#read(stream), mediaType, fileName: displayName(fileName ?? '') },
          });
        }
      });
    });
    form.on('error', () => undefined); // `#feed` hears of it; this keeps a late one from ending the process
    form.on('field', (name) => this.#unknown(name));
    form.on('partsLimit', () => this.#unknown(''));
    this.#end = this.#feed(chunks);
    this.file = Promise.race([begun, this.#end.then((wrong) => wrong ?? missing())]);
  }

  #takes(name: string | undefined, stream: BusboyFileStream): boolean {
    stream.on('error', () => undefined); // whoever reads it hears of it too
    if (name === 'file' && this.#current === null && this.#wrong === null) {
      this.#current = stream;
      return true;
    }
    stream.resume();
    if (name === 'file')
      this.#refuse(invalidRequest([{ path: '/file', message: 'only one file at a time' }]));
    else this.#unknown(name);
    return false;
  }

  #unknown(name: string | undefined): void {
    const path = pointer('', (name ?? '').slice(0, 100));
    this.#refuse(invalidRequest([{ path, message: 'is not known here; a form has one part, `file`' }]));
  }

  #refuse(wrong: Problem): void {
    this.#wrong ??= closing(wrong);
  }

  /** Gives the form to its parser at the pace at which the file is read. */
  async #feed(chunks: AsyncIterable<Uint8Array>): Promise<Problem | null> {
    const signal = this.#stop.signal;
    const finished = once(this.#form, 'finish', { signal });
    finished.catch(() => undefined);
    try {
      for await (const chunk of chunks) {
        if (this.#wrong !== null) break;
        if (!this.#form.write(chunk)) await Promise.race([once(this.#form, 'drain', { signal }), finished]);
      }
      if (this.#wrong === null) this.#form.end();
      if (this.#wrong === null) await finished;
    } catch (error) {
      this.#refuse(error instanceof BodyRefused ? error.problem : malformed());
    }
    if (this.#wrong !== null) this.#current?.destroy(new BodyRefused(this.#wrong));
    return this.#wrong;
  }

  async *#read(stream: BusboyFileStream): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of stream as Readable) yield chunk as Uint8Array;
      const wrong = await this.#end;
      if (wrong !== null) throw new BodyRefused(wrong);
    } catch (error) {
      throw error instanceof BodyRefused ? error : new BodyRefused(closing(malformed()));
    } finally {
      this.#stop.abort();
    }
  }
}

function missing(): Problem {
  return invalidRequest([{ path: '/file', message: 'the form has no `file`' }]);
}
