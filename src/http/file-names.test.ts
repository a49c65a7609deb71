import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { attachment, displayName, requestedName } from './file-names.ts';

describe('a file name', () => {
  it.each([
    ['invoice.pdf', 'attachment; filename="invoice.pdf"'],
    ['a b.pdf', 'attachment; filename="a b.pdf"'],
    [
      'Rechnung Müller.pdf',
      `attachment; filename="Rechnung M_ller.pdf"; filename*=UTF-8''Rechnung%20M%C3%BCller.pdf`,
    ],
    ['say "hi".txt', `attachment; filename="say _hi_.txt"; filename*=UTF-8''say%20%22hi%22.txt`],
    ['a\r\nSet-Cookie: x=1', 'attachment; filename="aSet-Cookie: x=1"'],
    ['invoice\u202efdp.exe', 'attachment; filename="invoicefdp.exe"'],
    ["it's (1)*.txt", `attachment; filename="it's (1)*.txt"`],
    ['50%.txt', `attachment; filename="50_.txt"; filename*=UTF-8''50%25.txt`],
    ['../../etc/passwd', 'attachment; filename="passwd"'],
    ['..', 'attachment; filename="artifact"'],
  ])('%j goes out as %s', (name, header) => {
    expect(attachment(name)).toBe(header);
  });

  it('is always a legal header value and never a path', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        const header = attachment(name);
        expect(() => new Headers({ 'content-disposition': header })).not.toThrow();
        expect(header).toMatch(/^attachment; filename="[^"\\/]+"(; filename\*=UTF-8''[A-Za-z0-9%!~._-]+)?$/);
      }),
    );
  });

  it.each([
    ['attachment; filename="a.pdf"', 'a.pdf'],
    ['attachment; filename=a.pdf', 'a.pdf'],
    ['inline; filename="C:\\\\tmp\\\\b.pdf"', 'b.pdf'],
    [`attachment; filename="x"; filename*=UTF-8''M%C3%BCller.pdf`, 'Müller.pdf'],
    [`attachment; filename="x.pdf"; filename*=UTF-8''%ff`, 'x.pdf'],
    ['attachment; filename="../.."', null],
    ['attachment', null],
    [undefined, null],
  ])('comes in from %j as %j', (header, name) => {
    expect(requestedName(header)).toBe(name);
  });

  it('comes back from its own header', () => {
    const plain = fc.string({ unit: 'grapheme' }).filter((name) => displayName(name) === name);
    fc.assert(
      fc.property(plain, (name) => {
        expect(requestedName(attachment(name))).toBe(name);
      }),
    );
  });
});
