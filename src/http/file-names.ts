/** File names in Content-Disposition, going out (RFC 6266, RFC 8187) and coming in. A name is for people, never a path. */

const NAME_LIMIT = 255;
// Controls, the line and paragraph separators, and marks that turn the direction of text: `exe.pdf` is not to read as `fdp.exe`.
// biome-ignore format: one line
const UNSHOWABLE = /[\p{Cc}\p{Cs}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/** A header value that offers a file for saving, whatever its name holds. */
export function attachment(fileName: string): string {
  const name = displayName(fileName) ?? 'artifact';
  const ascii = name.replace(/[^\x20-\x7e]/g, '_').replace(/["\\%]/g, '_');
  return ascii === name
    ? `attachment; filename="${name}"`
    : `attachment; filename="${ascii}"; filename*=UTF-8''${encodeExtended(name)}`;
}

/** What is kept of a name that somebody gave: its last path segment without what cannot be shown; null where nothing is left. */
export function displayName(given: string): string | null {
  const last = given.split(/[/\\]/).at(-1) ?? '';
  const shown = last.replace(UNSHOWABLE, '').trim();
  const name = Array.from(shown).slice(0, NAME_LIMIT).join('');
  return name === '' || /^\.+$/.test(name) ? null : name;
}

/** The name that a request's Content-Disposition gives its body, or null. */
export function requestedName(disposition: string | undefined): string | null {
  if (disposition === undefined) return null;
  const extended = /;\s*filename\*\s*=\s*utf-8'[^']*'([^;\s]+)/i.exec(disposition)?.[1];
  const decoded = extended === undefined ? null : decodeExtended(extended);
  if (decoded !== null) return displayName(decoded);
  const [, quoted, token] = /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s"]+))/i.exec(disposition) ?? [];
  const plain = quoted?.replace(/\\(.)/g, '$1') ?? token;
  return plain === undefined ? null : displayName(plain);
}

function encodeExtended(name: string): string {
  return encodeURIComponent(name).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function decodeExtended(value: string): string | null {
  try {
    return decodeURIComponent(value);
  } catch {
    return null;
  }
}
