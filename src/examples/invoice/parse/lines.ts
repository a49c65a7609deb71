/** A laid-out text as lines of cells, and the words in the form in which they are compared. */

export interface Cell {
  text: string;
  /** `fold(text)` */
  folded: string;
  /** Columns on its line: the first character's, and the one after the last. */
  start: number;
  end: number;
}

export type Line = Cell[];

/** Two plain spaces or more part cells; an empty line has none. */
export function readLines(text: string): Line[] {
  return text
    .normalize('NFC')
    .split(/\r\n|[\n\f]/)
    .map(readCells);
}

/** What stands further right is left out: it bounds the work on a line that was written to make work. */
const MAX_CELLS = 60;

function readCells(line: string): Line {
  const cells: Line = [];
  for (const found of line.matchAll(/[^ \t]+(?: [^ \t]+)*/g)) {
    const [text] = found;
    cells.push({ text, folded: fold(text), start: found.index, end: found.index + text.length });
    if (cells.length === MAX_CELLS) break;
  }
  return cells;
}

/**
 * Lower case without accents, typographic apostrophes and fixed spaces made plain. As long as `text`, so that a place found in the one is the
 * same place in the other.
 */
export function fold(text: string): string {
  return text
    .replace(/[\u00c0-\u024f]/g, (letter) => letter.normalize('NFD').charAt(0))
    .toLowerCase()
    .replace(/[\u00a0\u2007\u2009\u202f]/g, ' ')
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/[\u00ba\u02da]/g, '\u00b0');
}

/** Cells below `cell` on the next lines that hold anything, nearest line first, best aligned one of each line. */
export function cellsBelow(lines: readonly Line[], row: number, cell: Cell, depth: number): Cell[] {
  const found: Cell[] = [];
  for (const line of lines.slice(row + 1, row + 1 + depth)) {
    const aligned = alignedCell(line, cell);
    if (aligned) found.push(aligned);
  }
  return found;
}

/** The cell that shares most columns with `cell`; a right-aligned value may start well after its label does. */
function alignedCell(line: Line, cell: Cell): Cell | undefined {
  let best: Cell | undefined;
  let most = 0;
  for (const one of line) {
    const shared = Math.min(one.end, cell.end + 2) - Math.max(one.start, cell.start - 2);
    if (shared > most) [best, most] = [one, shared];
  }
  return best;
}
