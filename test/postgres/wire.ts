/** As much of PostgreSQL's protocol as a proxy needs, to know where one exchange ends and the next begins. */

export interface Message {
  /** The letter that says what it is; empty for the message that opens a connection. */
  type: string;
  bytes: Buffer;
}

/** Parts a stream of bytes, which comes in pieces of any size, into messages. */
export function messages(opensConnection: boolean): (chunk: Buffer) => Message[] {
  let rest: Buffer = Buffer.alloc(0);
  let opening = opensConnection;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    const whole: Message[] = [];
    for (;;) {
      const typeLength = opening ? 0 : 1;
      if (rest.length < typeLength + 4) return whole;
      const length = typeLength + rest.readInt32BE(typeLength);
      if (rest.length < length) return whole;
      const bytes = rest.subarray(0, length);
      whole.push({ type: opening ? '' : String.fromCharCode(bytes[0] ?? 0), bytes });
      rest = rest.subarray(length);
      opening = false;
    }
  };
}

/** The name of the prepared statement that a Bind message runs; null for any other message. */
export function boundStatement({ type, bytes }: Message): string | null {
  if (type !== 'B') return null;
  const portalEnd = bytes.indexOf(0, 5);
  return bytes.toString('utf8', portalEnd + 1, bytes.indexOf(0, portalEnd + 1));
}

/** Messages of a client that the server answers with a ReadyForQuery once it has done all before. */
export function endsExchange({ type }: Message): boolean {
  return type === '' || type === 'S' || type === 'Q';
}

/** By then whatever the exchange did is committed, or undone. */
export function isReady({ type }: Message): boolean {
  return type === 'Z';
}

export function isError({ type }: Message): boolean {
  return type === 'E';
}

/** What a server says to a connection that it ends for its administrator. */
export function farewell(): Buffer {
  const fields = ['SFATAL', 'VFATAL', 'C57P01', 'Mterminating connection due to administrator command'];
  const body = Buffer.from(`${fields.map((field) => `${field}\0`).join('')}\0`);
  const head = Buffer.from('E\0\0\0\0');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
