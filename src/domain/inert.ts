/**
 * Characters that do something instead of being seen: controls, line and paragraph separators, format characters (marks
 * that turn the direction of text, zero widths, the byte order mark), and the block of tags, where a text can be hidden whole.
 */
const ACTIVE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u{e0000}-\u{e007f}]/gu;

/** A text in which such characters stand as JSON's escapes, line feeds excepted: equal to a JSON text, when parsed. */
export function inert(text: string): string {
  return text.replace(ACTIVE, (character) => {
    if (character === '\n') return character;
    const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
  });
}
