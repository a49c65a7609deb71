/**
 * Draws src/examples/invoice/sample-invoice.pdf, the fictional invoice that `--demo` offers. The file is
 * committed, because the library that draws it is none that users install. The same bytes every time.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PDFDocument, rgb, StandardFonts } from 'pdf-lib';
import { ROOT } from './launcher/paths.mjs';

const TARGET = join(ROOT, 'src', 'examples', 'invoice', 'sample-invoice.pdf');
const A4 = /** @type {[number, number]} */ ([595, 842]);
const LEFT = 56;
const RIGHT = 539;
const INK = rgb(0.13, 0.16, 0.22);
const RULE = rgb(0.75, 0.78, 0.83);

const pdf = await PDFDocument.create({ updateMetadata: false });
pdf.setTitle('Invoice KM-2026-0318');
pdf.setCreationDate(new Date('2026-03-14T09:00:00Z'));
const fonts = {
  plain: await pdf.embedFont(StandardFonts.Helvetica),
  bold: await pdf.embedFont(StandardFonts.HelveticaBold),
};
const page = pdf.addPage(A4);

/**
 * @typedef {{ size?: number, bold?: boolean }} Style
 *
 * @param {number} x
 * @param {number} y from the top
 * @param {string} text
 * @param {Style} [style]
 */
function left(x, y, text, { size = 10, bold = false } = {}) {
  page.drawText(text, { x, y: A4[1] - y, size, font: bold ? fonts.bold : fonts.plain, color: INK });
}

/**
 * @param {number} x where the text ends
 * @param {number} y
 * @param {string} text
 * @param {Style} [style]
 */
function right(x, y, text, style = {}) {
  const font = style.bold ? fonts.bold : fonts.plain;
  left(x - font.widthOfTextAtSize(text, style.size ?? 10), y, text, style);
}

/** @param {number} y */
function rule(y) {
  page.drawLine({
    start: { x: LEFT, y: A4[1] - y },
    end: { x: RIGHT, y: A4[1] - y },
    thickness: 0.7,
    color: RULE,
  });
}

left(LEFT, 70, 'Kestrel & Moss Cartography Ltd', { size: 16, bold: true });
left(LEFT, 88, '7 Lantern Yard, Kendal LA9 4QX, United Kingdom', { size: 9 });
left(LEFT, 101, 'VAT no. GB 000 0000 00   accounts@kestrelmoss.example', { size: 9 });
right(RIGHT, 70, 'INVOICE', { size: 20, bold: true });

left(LEFT, 150, 'Bill to', { bold: true });
for (const [index, line] of [
  'Fellside Walking Holidays Ltd',
  'The Old Station, Windermere LA23 1AH',
  'United Kingdom',
].entries()) {
  left(LEFT, 166 + index * 14, line);
}
for (const [index, [label, value]] of /** @type {const} */ ([
  ['Invoice no.', 'KM-2026-0318'],
  ['Invoice date', '14 March 2026'],
  ['Due date', '13 April 2026'],
  ['Your order', 'FWH-2291'],
]).entries()) {
  left(360, 150 + index * 16, label);
  right(RIGHT, 150 + index * 16, value, { bold: index === 0 });
}

rule(236);
const COLUMNS = [350, 440, RIGHT];
const TABLE = [
  ['Description', 'Quantity', 'Unit price', 'Amount'],
  ['Route survey, Langdale and Borrowdale, per day', '4', '£420.00', '£1,680.00'],
  ['Illustrated map, A2, drawn to order', '2', '£1,150.00', '£2,300.00'],
  ['Printing on waterproof paper, per sheet', '250', '£1.84', '£460.00'],
];
for (const [index, [text = '', ...numbers]] of TABLE.entries()) {
  const y = 254 + index * 20;
  const style = { bold: index === 0 };
  left(LEFT, y, text, style);
  for (const [column, number] of numbers.entries()) right(COLUMNS[column] ?? RIGHT, y, number, style);
}
rule(330);
for (const [index, [label, value]] of /** @type {const} */ ([
  ['Subtotal', '£4,440.00'],
  ['Discount, returning customer 5%', '-£222.00'],
  ['VAT 20%', '£843.60'],
  ['Total due', '£5,061.60'],
]).entries()) {
  const style = index === 3 ? { size: 12, bold: true } : {};
  left(330, 352 + index * 18, label, style);
  right(RIGHT, 352 + index * 18, value, style);
}

left(
  LEFT,
  470,
  'Please pay within 30 days to Kestrel & Moss Cartography Ltd, account 00000000, sort code 00-00-00.',
);
left(LEFT, 780, 'Everybody and everything on this invoice is made up.', { size: 8 });

writeFileSync(TARGET, await pdf.save());
