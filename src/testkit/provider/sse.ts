/** Server-sent events, and where a stream of them may be cut. */

export interface SseEvent {
  /** The `event:` line; Chat Completions has none. */
  event?: string;
  /** Text is sent as it is, any other value as JSON. */
  data: unknown;
  /** It carries a piece of the answer: a stream may pause behind it. */
  delta?: true;
}

/** A whole stream in three parts. Without `final` it is over and nobody said so. */
export interface EventStream {
  start: readonly SseEvent[];
  body: readonly SseEvent[];
  final: readonly SseEvent[];
}

function encode({ event, data }: SseEvent): string {
  const name = event === undefined ? '' : `event: ${event}\n`;
  return `${name}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

/** The events as text, in pieces that end behind a delta each. */
export function encodeInPieces(events: readonly SseEvent[]): string[] {
  const pieces: string[] = [];
  let piece = '';
  for (const event of events) {
    piece += encode(event);
    if (!event.delta) continue;
    pieces.push(piece);
    piece = '';
  }
  if (piece !== '') pieces.push(piece);
  return pieces;
}

/** The events up to and with the delta in the middle; with none, half of the events. */
export function firstHalf(events: readonly SseEvent[]): readonly SseEvent[] {
  const deltas = events.flatMap(({ delta }, index) => (delta ? [index] : []));
  const middle = deltas[Math.ceil(deltas.length / 2) - 1];
  return events.slice(0, middle === undefined ? Math.ceil(events.length / 2) : middle + 1);
}

/** A text in so many pieces, of code points as evenly as they go; never an empty piece. */
export function cut(text: string, pieces: number): string[] {
  const points = Array.from(text);
  const count = Math.max(1, Math.min(pieces, points.length));
  return Array.from({ length: count }, (_, index) => {
    const from = Math.floor((index * points.length) / count);
    return points.slice(from, Math.floor(((index + 1) * points.length) / count)).join('');
  }).filter((piece) => piece !== '');
}
