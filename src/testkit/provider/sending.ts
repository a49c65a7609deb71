/** What goes over the wire, decided before a byte is sent. */

export type Plan = Reset | Sending;

/** The connection is reset without a byte of an answer. */
interface Reset {
  kind: 'reset';
}

export interface Sending {
  kind: 'send';
  status: number;
  headers: Record<string, string>;
  pieces: readonly (string | Uint8Array)[];
  /** Waited after each piece but the last. */
  pauseMs: number;
  /** How many pieces are sent before the call waits to be released: -1, not even the headers; null, it does not wait. */
  holdBefore: number | null;
  /** `whole`: the answer ends as announced. `cut`: the connection is closed in the middle of it. */
  end: 'whole' | 'cut';
}

export const JSON_TYPE = { 'content-type': 'application/json' };

export const EVENT_STREAM = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
};
