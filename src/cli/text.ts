/** Text for a terminal: values made harmless, colours, aligned columns. */
import { inert } from '../domain/inert.ts';

/** A value as inert text on one line: whatever would steer the terminal is shown as an escape. */
export function plain(value: string): string {
  return inert(value.toWellFormed().replaceAll('\n', '\\n').replaceAll('\t', '\\t'));
}

/** JSON in which no character can steer a terminal; equal, when parsed, to the value. */
export function jsonText(value: unknown, indent = 2): string {
  return inert(JSON.stringify(value, null, indent));
}

export type Style = (text: string) => string;

export interface Palette {
  bold: Style;
  dim: Style;
  good: Style;
  bad: Style;
  busy: Style;
}

export function palette(hasColour: boolean): Palette {
  const style =
    (open: number, close: number): Style =>
    (text) =>
      hasColour ? `\u001b[${open}m${text}\u001b[${close}m` : text;
  return {
    bold: style(1, 22),
    dim: style(2, 22),
    good: style(32, 39),
    bad: style(31, 39),
    busy: style(36, 39),
  };
}

/** The style of a state, or of the event that led to it. */
export function styleOf(status: string, colours: Palette): Style {
  if (status === 'completed') return colours.good;
  if (status === 'dead_letter') return colours.bad;
  return status === 'running' ? colours.busy : (text) => text;
}

export interface Cell {
  text: string;
  style?: Style;
}

/** Rows in columns two blanks apart; the last column is as long as it is. Cells are made plain here. */
export function columns(rows: readonly (readonly Cell[])[], indent = ''): string[] {
  const shown = rows.map((row) => row.map(({ text, style }) => ({ text: plain(text), style })));
  const widths: number[] = [];
  for (const row of shown) {
    for (const [index, { text }] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, text.length);
  }
  return shown.map((row) => {
    const filled = row.findLastIndex(({ text }) => text !== '');
    const cells = row.slice(0, filled + 1).map(({ text, style }, index) => {
      const padding = index === filled ? '' : ' '.repeat((widths[index] ?? 0) - text.length);
      return `${style === undefined ? text : style(text)}${padding}`;
    });
    return `${indent}${cells.join('  ')}`;
  });
}

/** How wide these rows are in columns. */
export function widthOf(rows: readonly (readonly Cell[])[]): number {
  return Math.max(
    0,
    ...columns(rows.map((row) => row.map(({ text }) => ({ text })))).map((line) => line.length),
  );
}

/** A label and its text, wrapped at the terminal's width with the text's lines under each other. */
export function paragraph(
  label: string,
  text: string,
  options: { labelWidth: number; columns: number; style: Style },
) {
  const room = Math.max(20, options.columns - options.labelWidth);
  const [first = '', ...more] = wrap(plain(text), room);
  const head = options.style(label) + ' '.repeat(Math.max(1, options.labelWidth - label.length));
  return [head + first, ...more.map((line) => ' '.repeat(options.labelWidth) + line)];
}

/** Breaks at blanks only: an identifier or an address stays whole, to be copied. */
function wrap(text: string, room: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > room) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}
