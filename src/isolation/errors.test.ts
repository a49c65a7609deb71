import { describe, expect, it } from 'vitest';
import { InvalidInputError, MalformedOutputError, RetryableError, classify } from '../domain/thrown.ts';
import { BlobTooLargeError } from '../ports/blob-store.ts';
import { errorData, errorOf, isErrorData } from './errors.ts';

/** As it comes out at the other end. */
function crossed(thrown: unknown): Error {
  return errorOf(structuredClone(errorData(thrown)));
}

describe('an error that crosses to another process', () => {
  it.each([
    new RetryableError('later', { retryAfterMs: 40 }),
    new MalformedOutputError('no', { raw: { half: 1 }, issues: [{ path: '/half', message: 'not whole' }] }),
    new InvalidInputError('Send another one.'),
    new BlobTooLargeError('too large'),
    new TypeError('no name'),
    new Error('plain'),
  ])('is still $name', (error) => {
    const came = crossed(error);
    expect(came).toBeInstanceOf(error.constructor);
    expect(came).toMatchObject({ name: error.name, message: error.message, stack: error.stack });
    expect(classify(came)).toEqual(classify(error));
  });

  it('keeps its causes and their system codes, so that what is transient stays so', () => {
    const reset = Object.assign(new Error('reset'), { code: 'ECONNRESET' });
    const came = crossed(new TypeError('fetch failed', { cause: reset }));
    expect(came.cause).toMatchObject({ message: 'reset', code: 'ECONNRESET' });
    expect(classify(came).code).toBe('upstream_unavailable');
  });

  it('shows a raw output that is no plain data', () => {
    const came = crossed(new MalformedOutputError('no', { raw: { call: () => 1 } }));
    expect((came as MalformedOutputError).raw).toBe('{ call: [Function: call] }');
  });

  it.each([
    ['nothing', undefined, 'undefined'],
    ['a text', 'oops', 'oops'],
    [
      'an error whose message cannot be read',
      Object.defineProperty(new Error(), 'message', {
        get: () => {
          throw new Error('no');
        },
      }),
      'an error that cannot be shown',
    ],
  ])('may be %s', (_, thrown, message) => {
    expect(crossed(thrown).message).toBe(message);
  });

  it('ends, where its causes do not', () => {
    const circular = new Error('around');
    circular.cause = circular;
    let depth = 0;
    for (let at: unknown = crossed(circular); at instanceof Error; at = at.cause) depth += 1;
    expect(depth).toBeLessThan(10);
    expect(isErrorData(errorData(circular))).toBe(true);
  });

  it('is none where somebody else says that its causes never end', () => {
    const data = errorData(new Error('around'));
    data.cause = data;
    expect(isErrorData(data)).toBe(false);
  });

  it.each(['toString', 'constructor', '__proto__'])('may be called %s', (name) => {
    const came = crossed(Object.assign(new Error('x'), { name }));
    expect(came).toBeInstanceOf(Error);
    expect(came).toMatchObject({ name, message: 'x' });
  });
});
