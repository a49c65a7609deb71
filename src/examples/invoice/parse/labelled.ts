/** Values by their label: after it in the same cell, in the next cell, or in the cell below it. */
import { cellsBelow } from './lines.ts';
import type { Cell, Line } from './lines.ts';

/** How a value was found; `whole` where the cell holds nothing but the value. */
interface Candidate {
  text: string;
  whole: boolean;
}

/** How many lines below its label a value may stand. */
const DEPTH = 2;

/**
 * The first value that `read` accepts next to a label. Labels are patterns over folded text; the earlier ones
 * are tried on the whole document before the later ones.
 */
export function findLabelled<T>(
  lines: readonly Line[],
  labels: readonly RegExp[],
  read: (text: string, whole: boolean) => T | null,
): T | null {
  for (const label of labels) {
    for (const candidate of candidates(lines, label)) {
      const value = read(candidate.text, candidate.whole);
      if (value !== null) return value;
    }
  }
  return null;
}

function* candidates(lines: readonly Line[], label: RegExp): Generator<Candidate> {
  for (const [row, line] of lines.entries()) {
    for (const [index, cell] of line.entries()) {
      const match = label.exec(cell.folded);
      if (match) yield* beside(lines, row, index, cell.text.slice(match.index + match[0].length));
    }
  }
}

function* beside(lines: readonly Line[], row: number, index: number, rest: string): Generator<Candidate> {
  const cell = lines[row]?.[index] as Cell;
  const value = rest.replace(/^[\s.:#=-]+/u, '');
  if (value !== '') {
    yield { text: value, whole: false };
    return;
  }
  const next = lines[row]?.[index + 1];
  if (next) yield { text: next.text, whole: true };
  for (const below of cellsBelow(lines, row, cell, DEPTH)) yield { text: below.text, whole: true };
}
