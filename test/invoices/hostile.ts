/** PDFs that nobody should have to read, written object by object. */
import { deflateSync } from 'node:zlib';
import { PDFDocument } from 'pdf-lib';

/** A file of numbered objects, the first of them the catalog. */
function rawPdf(objects: readonly (string | Buffer)[], trailer = ''): Uint8Array {
  const parts = [Buffer.from('%PDF-1.7\n')];
  const offsets: number[] = [];
  let length = parts[0]!.length;
  const add = (part: string | Buffer) => {
    parts.push(Buffer.from(part));
    length += parts.at(-1)!.length;
  };
  for (const [index, object] of objects.entries()) {
    offsets.push(length);
    add(`${index + 1} 0 obj\n`);
    add(object);
    add('\nendobj\n');
  }
  const start = length;
  add(`xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`);
  for (const offset of offsets) add(`${String(offset).padStart(10, '0')} 00000 n \n`);
  add(`trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer}>>\nstartxref\n${start}\n%%EOF\n`);
  return Buffer.concat(parts);
}

function stream(dictionary: string, bytes: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`<< ${dictionary} /Length ${bytes.length} >>\nstream\n`),
    bytes,
    Buffer.from('\nendstream'),
  ]);
}

const FONT = '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>';

/** One page with this content; further objects are numbered from 6. */
function onePage(content: Buffer, resources = '', further: readonly (string | Buffer)[] = []): Uint8Array {
  return rawPdf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> ${resources} >> >>`,
    content,
    FONT,
    ...further,
  ]);
}

function text(content: string): Buffer {
  return Buffer.from(`BT /F1 10 Tf 50 700 Td ${content} ET`);
}

export const plain = onePage(stream('', text('(Invoice no. 1) Tj')));

export const encrypted = rawPdf(
  [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [] /Count 0 >>',
    `<< /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O <${'ab'.repeat(32)}> /U <${'cd'.repeat(32)}> >>`,
  ],
  `/Encrypt 3 0 R /ID [<${'01'.repeat(16)}> <${'01'.repeat(16)}>] `,
);

export const noPages = rawPdf(['<< /Type /Catalog /Pages 2 0 R >>', '<< /Type /Pages /Kids [] /Count 0 >>']);

/** One page that says it is a million. */
export const claimsMillionPages = rawPdf([
  '<< /Type /Catalog /Pages 2 0 R >>',
  '<< /Type /Pages /Kids [3 0 R] /Count 1000000 >>',
  '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 1 1] >>',
]);

/** A hundred thousand pages that are all the same one. */
export function manyPages(): Uint8Array {
  return rawPdf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${'3 0 R '.repeat(100_000)}] /Count 100000 >>`,
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 1 1] >>',
  ]);
}

/** A page tree whose first child is the tree itself. */
export const cyclicPages = rawPdf([
  '<< /Type /Catalog /Pages 2 0 R >>',
  '<< /Type /Pages /Parent 2 0 R /Kids [2 0 R 2 0 R] /Count 2 >>',
]);

/** One page below ten thousand nodes. */
export function deepPages(): Uint8Array {
  const node = (depth: number) =>
    `<< /Type /Pages ${depth === 0 ? '' : `/Parent ${depth + 1} 0 R `}/Kids [${depth + 3} 0 R] /Count 1 >>`;
  return rawPdf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    ...Array.from({ length: 10_000 }, (_, depth) => node(depth)),
    '<< /Type /Page /MediaBox [0 0 1 1] >>',
  ]);
}

export const damaged = Buffer.from(`%PDF-1.7\n${'\u0000garbage\u00ff'.repeat(50)}`);

/** A megabyte that unpacks to one gigabyte. */
export function flateBomb(): Uint8Array {
  const packed = deflateSync(Buffer.alloc(16 * 1024 * 1024, ' '));
  const parts = Array.from({ length: 64 }, () => stream('/Filter /FlateDecode', packed));
  return rawPdf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents [${parts.map((_, index) => `${index + 4} 0 R`).join(' ')}] >>`,
    ...parts,
  ]);
}

/** A content stream packed twice: less than a kilobyte that unpacks to a quarter of a gigabyte. */
export function nestedBomb(): Uint8Array {
  const once = deflateSync(Buffer.alloc(256 * 1024 * 1024, ' '), { level: 9 });
  return onePage(stream('/Filter [/FlateDecode /FlateDecode]', deflateSync(once)));
}

/** Forms that draw the next form ten times each, twelve deep. */
export function endlessForms(): Uint8Array {
  const depth = 12;
  const form = (index: number) => {
    const last = index === depth - 1;
    const resources = last ? '/Font << /F1 5 0 R >>' : `/XObject << /X ${index + 7} 0 R >>`;
    const content = last ? text('(x) Tj') : Buffer.from('/X Do '.repeat(10));
    return stream(`/Type /XObject /Subtype /Form /BBox [0 0 1 1] /Resources << ${resources} >>`, content);
  };
  return onePage(
    stream('', Buffer.from('/X Do')),
    '/XObject << /X 6 0 R >>',
    Array.from({ length: depth }, (_, index) => form(index)),
  );
}

/** A page with a picture and no text. */
export async function imageOnly(): Promise<Uint8Array> {
  const document = await PDFDocument.create();
  const pixel =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const image = await document.embedPng(pixel);
  document.addPage([595, 842]).drawImage(image, { x: 50, y: 50, width: 400, height: 600 });
  return await document.save();
}

export async function blankPages(count: number): Promise<Uint8Array> {
  const document = await PDFDocument.create();
  for (let page = 0; page < count; page += 1) document.addPage([595, 842]);
  return await document.save();
}
