/** What a fake provider remembers of every call, and promises of what it has yet to see. */
import type { IncomingHttpHeaders } from 'node:http';
import type { ProviderApi, ProviderReply } from './replies.ts';

export interface ProviderCall {
  /** The number of the call, from 0. */
  readonly index: number;
  readonly api: ProviderApi;
  /** The path that was called. */
  readonly path: string;
  /** The model that was asked for; empty where the request names none. */
  readonly model: string;
  readonly stream: boolean;
  /** The request's body as parsed; null where it is no JSON object. */
  readonly body: Record<string, unknown> | null;
  /** The request's headers; of `authorization` and `x-api-key` only whether they were there. */
  readonly headers: Readonly<Record<string, string | string[] | boolean | undefined>>;
  /** When the request was in, in milliseconds since 1970. */
  readonly at: number;
  /** The reply's name; `unknown_path` or `unreadable_body` where the call never came to the script. */
  readonly reply: ProviderReply['reply'] | 'unknown_path' | 'unreadable_body';
  /** Of the request's body. */
  readonly bytesIn: number;
  /** Of the answer's body, so far. */
  readonly bytesOut: number;
  /** Who closed the connection before the answer was whole; null while it is open, and where the answer was. */
  readonly closedBy: 'server' | 'client' | null;
  /** The whole of the answer has been sent, as far as the reply meant to send it. */
  readonly finished: boolean;
}

export type OpenCall = { -readonly [Member in keyof ProviderCall]: ProviderCall[Member] };

export const NOTHING_SENT = { bytesOut: 0, closedBy: null, finished: false } as const;

/** Of a secret only whether it was sent. */
export function withoutSecrets(headers: IncomingHttpHeaders): ProviderCall['headers'] {
  return {
    ...headers,
    authorization: headers.authorization !== undefined,
    'x-api-key': headers['x-api-key'] !== undefined,
  };
}

/** Things that happen once each, by number, and may be awaited before they happen or after. */
export class Moments<T> {
  readonly #moments = new Map<number, { promise: Promise<T>; resolve: (value: T) => void }>();

  reached(index: number, value: T): void {
    this.#moment(index).resolve(value);
  }

  at(index: number): Promise<T> {
    return this.#moment(index).promise;
  }

  #moment(index: number) {
    const known = this.#moments.get(index);
    if (known !== undefined) return known;
    let resolve: (value: T) => void = () => {};
    const promise = new Promise<T>((settle) => (resolve = settle));
    const moment = { promise, resolve };
    this.#moments.set(index, moment);
    return moment;
  }
}
