/** Reading what may be anything: a proxy, a getter that throws, a revoked list. Nothing here throws. */

/** A property, or undefined where there is none or it cannot be read. */
export function read(target: unknown, key: PropertyKey): unknown {
  if (target === null || (typeof target !== 'object' && typeof target !== 'function')) return undefined;
  try {
    return Reflect.get(target, key);
  } catch {
    return undefined;
  }
}

/** A property that lies some keys deep. */
export function readIn(target: unknown, ...keys: readonly PropertyKey[]): unknown {
  return keys.reduce(read, target);
}

export function readText(target: unknown, key: PropertyKey): string | null {
  const value = read(target, key);
  return typeof value === 'string' ? value : null;
}

/** The first items of what may be an array, and may be a revoked proxy of one. */
export function items(value: unknown, limit: number): unknown[] {
  try {
    return Array.isArray(value)
      ? Array.from({ length: Math.min(value.length, limit) }, (_, index) => read(value, index))
      : [];
  } catch {
    return [];
  }
}

export function show(value: unknown): string {
  try {
    return String(value);
  } catch {
    return 'a value that cannot be shown was thrown';
  }
}

/** It and its causes, each once, `limit` at most: they may be circular, or made up as they are read. */
export function withCauses(thrown: unknown, limit: number): unknown[] {
  const found: unknown[] = [];
  for (let next = thrown; found.length < limit && !found.includes(next); next = read(next, 'cause')) {
    if (next === undefined && found.length > 0) break;
    found.push(next);
  }
  return found;
}

/** The lines of an error's stack below its message, which may have lines that look like them. */
export function framesOf(thrown: unknown): string[] {
  const stack = readText(thrown, 'stack') ?? '';
  const message = readText(thrown, 'message') ?? '';
  const at = stack.indexOf(message);
  if (at === -1) return [];
  return stack
    .slice(at + message.length)
    .split('\n')
    .filter((line) => /^ +at /.test(line));
}

/** At most `limit` UTF-16 units, well formed, without control characters but tab and line feed. */
export function bounded(text: string, limit: number): string {
  const cut = text.length > limit ? `${text.slice(0, limit - 1)}…` : text;
  // biome-ignore lint: control characters are what this removes
  return cut.toWellFormed().replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\ufffd');
}
