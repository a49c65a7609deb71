/**
 * From runs of text with their places to lines of text that keep the page's columns, as a reader with
 * a monospaced font would see it. Two spaces or more part columns; a value under its label
 * starts at about the same character.
 */

/** A piece of text as the PDF draws it; points, measured from the page's top left corner to the baseline's start. */
export interface Run {
  text: string;
  x: number;
  y: number;
  width: number;
  size: number;
}

export type Page = Run[];

/** Runs whose baselines differ by less than this share of their size are on one line. */
const SAME_LINE = 0.4;
/** Gaps, in shares of the size: below the first they belong to one word, above the second to two columns. */
const WORD_GAP = 0.12;
const COLUMN_GAP = 1;
/** A gap between lines above this share of the size is an empty line. */
const PARAGRAPH_GAP = 2.2;

/** The whole document; pages are parted by a form feed on a line of its own. */
export function layOut(pages: readonly Page[]): string {
  return pages.map(layOutPage).join('\n\f\n');
}

function layOutPage(page: Page): string {
  const lines = groupLines(page);
  const left = lines.reduce((least, line) => Math.min(least, startOf(line)), Number.POSITIVE_INFINITY);
  const unit = characterWidth(page);
  const written: string[] = [];
  let above: Run | undefined;
  for (const line of lines) {
    const first = line[0];
    if (above && first && first.y - above.y > PARAGRAPH_GAP * Math.max(above.size, first.size))
      written.push('');
    written.push(writeLine(line, left, unit));
    above = first;
  }
  return written.join('\n');
}

function groupLines(page: Page): Run[][] {
  const lines: Run[][] = [];
  for (const run of page.toSorted((one, other) => one.y - other.y)) {
    const line = lines.at(-1);
    const first = line?.[0];
    if (line && first && run.y - first.y < SAME_LINE * Math.min(first.size, run.size)) line.push(run);
    else lines.push([run]);
  }
  return lines.map((line) => line.toSorted((one, other) => one.x - other.x));
}

function startOf(line: Run[]): number {
  return line[0]?.x ?? 0;
}

/** The median, so that a headline does not spread the page. */
function characterWidth(page: Page): number {
  const widths = page.map((run) => run.width / run.text.length).toSorted((one, other) => one - other);
  return Math.max(widths[Math.floor(widths.length / 2)] ?? 0, 1);
}

function writeLine(line: Run[], left: number, unit: number): string {
  let text = '';
  let end = Number.NEGATIVE_INFINITY;
  for (const run of line) {
    const gap = run.x - end;
    if (gap > COLUMN_GAP * run.size) text = toColumn(text, Math.round((run.x - left) / unit));
    else if (gap > WORD_GAP * run.size && !text.endsWith(' ')) text += ' ';
    text += run.text.toWellFormed().replace(/[\u0000-\u001f\u007f]+/g, '  ');
    end = run.x + run.width;
  }
  return text.trimEnd();
}

/** At most this many characters wide, wherever a page says that its text is. */
const WIDEST = 400;

function toColumn(text: string, column: number): string {
  if (text === '') return ' '.repeat(Math.min(Math.max(column, 0), WIDEST));
  return text.padEnd(Math.min(Math.max(column, text.trimEnd().length + 2), text.length + WIDEST));
}
