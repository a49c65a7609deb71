import { describe, expect, test } from 'vitest';
import { readInvoice } from './fields.ts';

const total = (text: string) => {
  const money = readInvoice(text).total;
  return money && `${money.currency} ${money.amount}`;
};

describe('the total', () => {
  test.for([
    ['the one with tax, not the net', 'Total HT  100,00 €\nTVA 20 %  20,00 €\nTotal TTC  120,00 €\n'],
    ['in one row with net and tax', 'Netto  100,00 €  USt 20%  20,00 €  Bruttobetrag  120,00 €'],
    ['below its label', 'Net       VAT       Invoice total\n100.00    20.00     EUR 120.00'],
    ['in the same cell as its label', 'Total amount: €120.00'],
    ['before a deposit', 'Total  €120.00\nDeposit  -€50.00\nAmount due  €70.00'],
    ['the amount due where a plain total is net', 'Total  €100.00\nVAT  €20.00\nAmount due  €120.00'],
    ['not the total of the tax', 'Total (excl. VAT)  €100.00\nTotal VAT  €20.00\nTotal incl. VAT  €120.00'],
    [
      'not the amount due where that holds older debts',
      'Invoice total  €120.00\nOpen before  €50.00\nAmount due  €170.00',
    ],
    ['not the tax in it', 'Gesamtbetrag  120,00 €\nGesamtbetrag MwSt.  20,00 €'],
    ['not a total of hours', 'Total hours  500\nTotal  €120.00'],
    ['not what was carried over', 'Total carried forward  €900.00\nTotal  €120.00'],
    ['with its currency beside the label', 'Totaalbedrag (EUR)  120,00'],
  ])('is %s', ([, text]) => {
    expect(total(text as string)).toBe('EUR 120.00');
  });

  test('in a table of items is the sum, not the column', () => {
    const text =
      'Description  Qty  Price    Total\nPaint        2    €100.00  €200.00\nDiscount  -€80.00\nTotal  €120.00';
    expect(total(text)).toBe('EUR 120.00');
  });

  test('is null where nothing says which amount it is', () => {
    expect(total('Invoice 7\nPaint  €120.00\nBrush  €5.00')).toBeNull();
  });

  test('is null where no currency is named', () => {
    expect(total('Total  120.00')).toBeNull();
  });
});

describe('the number', () => {
  test.for([
    'Invoice No: R-17',
    'Invoice #R-17',
    'INVOICE R-17',
    'Invoice Number\nR-17',
    'Tax invoice nr. R-17',
    'Rechnungsnummer R-17',
    'Rechnungs-Nr.: R-17',
    'Rechnung Nr. R-17',
    'Rg.-Nr.  R-17',
    'Facture n° R-17',
    'Facture N\u00ba : R-17',
    'N° de facture  R-17',
    'Numéro de facture : R-17',
    'Factuurnummer: R-17',
    'Factuurnr. R-17',
    'Faktuur nr  R-17',
    'Customer no  C-1\nInvoice no   R-17',
    'Invoice no  Date        Customer no\nR-17        2026-03-14  C-1',
  ])('is found in %j', (text) => {
    expect(readInvoice(text).invoiceNumber).toBe('R-17');
  });

  test.for(['Invoice date 14.03.2026', 'Customer no 99', 'Invoice\n14 March 2026', 'VAT no. GB 123'])(
    'is not made up from %j',
    (text) => {
      expect(readInvoice(text).invoiceNumber).toBeNull();
    },
  );
});

describe('the date', () => {
  test.for([
    'Due date: 13.04.2026\nInvoice date: 14.03.2026',
    'Datum  Fällig am\n14.03.2026  28.03.2026',
    'Lieferdatum 01.03.2026\nRechnungsdatum 14.03.2026',
    'Date de livraison : 01/03/2026\nDate de facturation : 14/03/2026',
    'Factuurdatum 14-3-2026\nVervaldatum 28-3-2026',
    'Order date 2026-03-01\nLyon, le 14 mars 2026',
    'Date of issue  March 14, 2026',
  ])('is the day of issue in %j', (text) => {
    expect(readInvoice(text).invoiceDate).toBe('2026-03-14');
  });

  test('is null where only other days are named', () => {
    expect(readInvoice('Due date: 13.04.2026\nDelivery 1 March 2026').invoiceDate).toBeNull();
  });
});

describe('the supplier', () => {
  test.for([
    'INVOICE\nOak & Son Ltd\nBill to: Elm Ltd',
    'From: Oak & Son Ltd\nTo: Elm Ltd',
    'From          Bill to\nOak & Son Ltd    Elm Ltd',
    'Kunde\nElm GmbH\n\nOak & Son Ltd, Lane 1, 12345 Town',
    'Oak & Son Ltd | Lane 1 | 12345 Town\nElm GmbH',
    'Page 1 of 1\nInvoice 5\n14 March 2026\nOak & Son Ltd',
  ])('is the sender in %j', (text) => {
    expect(readInvoice(text).supplier).toBe('Oak & Son Ltd');
  });

  test('needs no legal form', () => {
    expect(readInvoice('Rechnung\nTischlerei Holz\nDatum 14.03.2026').supplier).toBe('Tischlerei Holz');
  });
});

test('nothing is found in nothing', () => {
  expect(readInvoice('')).toEqual({
    supplier: null,
    invoiceNumber: null,
    invoiceDate: null,
    currency: null,
    total: null,
  });
});

describe('the longest text that is let in is read in bounded time', () => {
  const LENGTH = 200_000;
  test.for([
    'Total  1.234,50 €  Invoice no  14.03.2026\n',
    'total  ',
    'total\n',
    'invoice no  ',
    'date\n',
    '1.234',
    "111'",
    '1 - ',
    'R-',
    '9',
  ])('also where all of it is %j', (piece) => {
    const text = `${piece.repeat(LENGTH / piece.length)}x`;
    const started = performance.now();
    readInvoice(`Invoice no ${text}`);
    expect(performance.now() - started).toBeLessThan(3_000);
  });
});
