/** A sheet of paper for made-up invoices: text at a place, to the left or the right of it. */
import { PDFDocument, StandardFonts } from 'pdf-lib';
import type { PDFFont, PDFPage } from 'pdf-lib';

export interface Paper {
  /** Text whose left end is `x` points from the left edge, `y` points from the top; gives the x where it ends. */
  left(x: number, y: number, text: string, style?: Style): number;
  /** Text whose right end is at `x`. */
  right(x: number, y: number, text: string, style?: Style): void;
  /** Each piece in a text run of its own, one after the other without a gap. */
  runs(x: number, y: number, pieces: readonly string[], style?: Style): void;
  newPage(): void;
}

/** A made-up invoice and what is on it. */
export interface Sample {
  name: string;
  draw(paper: Paper): void;
  says: { supplier: string; number: string; date: string; amount: string; currency: string };
}

interface Style {
  size?: number;
  bold?: boolean;
}

/** Rows of cells from `y` on: the first cell starts at its column, the others end at theirs. Gives the y after the last row. */
export function rows(
  paper: Paper,
  y: number,
  columns: readonly number[],
  table: readonly (readonly string[])[],
): number {
  let line = y;
  for (const row of table) {
    for (const [index, text] of row.entries()) {
      const x = columns[index] ?? 0;
      if (index === 0) paper.left(x, line, text);
      else paper.right(x, line, text);
    }
    line += 16;
  }
  return line;
}

const A4: [number, number] = [595, 842];

/** One document, each drawing on pages of its own; `pages` are how many each has. */
export async function drawPdf(
  drawings: readonly ((paper: Paper) => void)[],
): Promise<{ pdf: Uint8Array; pages: number[] }> {
  const document = await PDFDocument.create();
  const plain = await document.embedFont(StandardFonts.Helvetica);
  const bold = await document.embedFont(StandardFonts.HelveticaBold);
  const pages = drawings.map((draw) => {
    const before = document.getPageCount();
    draw(paperOn(document, plain, bold));
    return document.getPageCount() - before;
  });
  return { pdf: await document.save(), pages };
}

function paperOn(document: PDFDocument, plain: PDFFont, bold: PDFFont): Paper {
  let page: PDFPage = document.addPage(A4);
  const write = (x: number, y: number, text: string, { size = 10, bold: heavy = false }: Style = {}) => {
    const font = heavy ? bold : plain;
    page.drawText(text, { x, y: A4[1] - y, size, font });
    return x + font.widthOfTextAtSize(text, size);
  };
  return {
    left: write,
    right(x, y, text, style = {}) {
      const font = style.bold ? bold : plain;
      write(x - font.widthOfTextAtSize(text, style.size ?? 10), y, text, style);
    },
    runs(x, y, pieces, style) {
      let end = x;
      for (const piece of pieces) end = write(end, y, piece, style);
    },
    newPage() {
      page = document.addPage(A4);
    },
  };
}
