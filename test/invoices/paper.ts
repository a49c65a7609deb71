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

interface Style {
  size?: number;
  bold?: boolean;
}

const A4: [number, number] = [595, 842];

export async function drawPdf(draw: (paper: Paper) => void): Promise<Uint8Array> {
  const document = await PDFDocument.create();
  const plain = await document.embedFont(StandardFonts.Helvetica);
  const bold = await document.embedFont(StandardFonts.HelveticaBold);
  draw(paperOn(document, plain, bold));
  return await document.save();
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
