/** Made-up invoices of different layouts in four languages, with what is on them. */
import { drawPdf } from './paper.ts';
import type { Paper } from './paper.ts';

export interface Sample {
  name: string;
  draw(paper: Paper): void;
  says: { supplier: string; number: string; date: string; amount: string; currency: string };
}

export function pdfOf(sample: Sample): Promise<Uint8Array> {
  return drawPdf((paper) => sample.draw(paper));
}

const NBSP = '\u00a0';

function rows(
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

export const SAMPLES: readonly Sample[] = [
  {
    name: 'English, two columns in the head, pounds',
    draw(paper) {
      paper.left(50, 60, 'Harbour Lane Joinery Ltd', { size: 16, bold: true });
      paper.left(50, 78, '4 Harbour Lane, Whitby YO21 3PU');
      paper.right(545, 60, 'INVOICE', { size: 20, bold: true });
      paper.left(50, 130, 'Bill to:');
      paper.left(50, 144, 'Moorland Tea Rooms Ltd');
      paper.left(50, 158, '12 High Street, Helmsley');
      paper.left(350, 130, 'Invoice No:');
      paper.right(545, 130, 'HLJ-2026-0117');
      paper.left(350, 144, 'Invoice date:');
      paper.right(545, 144, '14 March 2026');
      paper.left(350, 158, 'Due date:');
      paper.right(545, 158, '13 April 2026');
      const end = rows(
        paper,
        220,
        [50, 350, 440, 545],
        [
          ['Description', 'Qty', 'Unit price', 'Total'],
          ['Oak counter, fitted', '1', '£1,480.00', '£1,480.00'],
          ['Shelf, 1.2 m', '6', '£85.50', '£513.00'],
          ['Day rate, two joiners', '2', '£420.00', '£840.00'],
        ],
      );
      paper.left(350, end + 20, 'Subtotal');
      paper.right(545, end + 20, '£2,833.00');
      paper.left(350, end + 36, 'VAT 20%');
      paper.right(545, end + 36, '£566.60');
      paper.left(350, end + 52, 'Total due', { bold: true });
      paper.right(545, end + 52, '£3,399.60', { bold: true });
    },
    says: {
      supplier: 'Harbour Lane Joinery Ltd',
      number: 'HLJ-2026-0117',
      date: '2026-03-14',
      amount: '3399.60',
      currency: 'GBP',
    },
  },
  {
    name: 'English, United States, month first, labels above their values, a prepaid deposit',
    draw(paper) {
      paper.left(50, 60, 'INVOICE', { size: 22, bold: true });
      paper.left(50, 100, 'From', { bold: true });
      paper.left(300, 100, 'Bill To', { bold: true });
      paper.left(50, 114, 'Blue Heron Analytics LLC');
      paper.left(300, 114, 'Cascade Freight Inc.');
      paper.left(50, 128, '88 Alder St, Portland, OR 97205');
      paper.left(300, 128, '2100 Pine Ave, Seattle, WA 98101');
      for (const [x, label, value] of [
        [50, 'Invoice #', '10482'],
        [190, 'Date', '04/03/2026'],
        [330, 'Terms', 'Net 30'],
        [450, 'Due date', '05/03/2026'],
      ] as const) {
        paper.left(x, 180, label, { bold: true });
        paper.left(x, 196, value);
      }
      const end = rows(
        paper,
        250,
        [50, 400, 470, 545],
        [
          ['Item', 'Hours', 'Rate', 'Amount'],
          ['Route model, first phase', '62', '$150.00', '$9,300.00'],
          ['Data cleaning', '14.5', '$110.00', '$1,595.00'],
        ],
      );
      rows(
        paper,
        end + 20,
        [360, 545],
        [
          ['Total', '$10,895.00'],
          ['Deposit paid 02/10/2026', '-$4,000.00'],
          ['Balance due', '$6,895.00'],
        ],
      );
    },
    says: {
      supplier: 'Blue Heron Analytics LLC',
      number: '10482',
      date: '2026-04-03',
      amount: '10895.00',
      currency: 'USD',
    },
  },
  {
    name: 'English, the total at the top, label and value in separate runs',
    draw(paper) {
      paper.left(50, 50, 'Northlight Hosting', { size: 14 });
      paper.left(50, 66, 'billing@northlight.example');
      paper.runs(50, 110, ['Inv', 'oice num', 'ber', ': ', 'NL', '-', '55', '0931']);
      paper.runs(50, 126, ['Date of', ' issue', ': ', 'Mar', ' 1', ', 2026']);
      paper.runs(50, 142, ['Amount', ' due', ': ', '$', '1,2', '34.50 ', 'USD'], { size: 13, bold: true });
      paper.left(50, 200, 'Virtual machine, 3 months');
      paper.right(545, 200, '$1,200.00');
      paper.left(50, 216, 'Backup storage');
      paper.right(545, 216, '$34.50');
    },
    says: {
      supplier: 'Northlight Hosting',
      number: 'NL-550931',
      date: '2026-03-01',
      amount: '1234.50',
      currency: 'USD',
    },
  },
  {
    name: 'English, three pages with totals carried forward, a discount, euros',
    draw(paper) {
      paper.left(50, 50, 'Tax Invoice', { size: 18 });
      paper.left(50, 72, 'Seller: Corrib Marine Supplies DAC');
      paper.left(50, 88, 'Customer: Aran Ferries');
      paper.left(50, 104, 'Tax invoice number CMS/2026/0042');
      paper.left(50, 120, 'Tax point 28/02/2026, invoice date 02/03/2026');
      let carried = 0;
      for (let page = 1; page <= 3; page += 1) {
        if (page > 1) {
          paper.newPage();
          paper.left(50, 50, 'Total brought forward');
          paper.right(545, 50, `EUR ${carried}.00`);
        }
        for (let line = 0; line < 20; line += 1) {
          paper.left(50, 180 + line * 16, `Shackle, size ${line}`);
          paper.right(545, 180 + line * 16, 'EUR 50.00');
        }
        carried += 1_000;
        if (page < 3) {
          paper.left(350, 700, 'Total carried forward');
          paper.right(545, 700, `EUR ${carried}.00`);
        }
      }
      rows(
        paper,
        560,
        [350, 545],
        [
          ['Net total', 'EUR 3,000.00'],
          ['Discount 5%', 'EUR -150.00'],
          ['Total VAT 23%', 'EUR 655.50'],
          ['Total incl. VAT', 'EUR 3,505.50'],
        ],
      );
    },
    says: {
      supplier: 'Corrib Marine Supplies DAC',
      number: 'CMS/2026/0042',
      date: '2026-03-02',
      amount: '3505.50',
      currency: 'EUR',
    },
  },
  {
    name: 'German, a letter with the sender above the address',
    draw(paper) {
      paper.left(60, 120, 'Tischlerei Holzmann GmbH · Werkstraße 7 · 50667 Köln', { size: 7 });
      paper.left(60, 140, 'Café Morgenrot');
      paper.left(60, 154, 'Lindenallee 3');
      paper.left(60, 168, '50996 Köln');
      paper.right(540, 220, 'Köln, den 14. März 2026');
      paper.left(60, 260, 'Rechnung Nr. 2026-0815', { size: 14, bold: true });
      paper.left(60, 290, 'Leistungsdatum: 02.03.2026');
      const end = rows(
        paper,
        330,
        [60, 380, 460, 540],
        [
          ['Bezeichnung', 'Menge', 'Einzelpreis', 'Gesamt'],
          ['Tresen, Eiche', '1', '2.400,00 €', '2.400,00 €'],
          ['Regalböden', '4', '62,50 €', '250,00 €'],
        ],
      );
      rows(
        paper,
        end + 16,
        [340, 540],
        [
          ['Zwischensumme', '2.650,00 €'],
          ['zzgl. 19 % MwSt.', '503,50 €'],
          ['Gesamtbetrag', '3.153,50 €'],
        ],
      );
      paper.left(60, 780, 'Tischlerei Holzmann GmbH  Amtsgericht Köln HRB 12345  USt-IdNr. DE123456789', {
        size: 7,
      });
    },
    says: {
      supplier: 'Tischlerei Holzmann GmbH',
      number: '2026-0815',
      date: '2026-03-14',
      amount: '3153.50',
      currency: 'EUR',
    },
  },
  {
    name: 'German, labels in a box on the right, an advance payment',
    draw(paper) {
      paper.left(50, 50, 'Rechnung', { size: 20 });
      paper.left(50, 90, 'Rechnung an');
      paper.left(50, 104, 'Stadtwerke Neustadt AG');
      paper.left(50, 118, 'Am Markt 1, 01844 Neustadt');
      paper.left(330, 60, 'Elektro Sonnleitner KG', { bold: true });
      paper.left(330, 74, 'Isarweg 22, 80331 München');
      paper.left(330, 104, 'Rechnungsnummer');
      paper.right(545, 104, 'RE-100234');
      paper.left(330, 118, 'Rechnungsdatum');
      paper.right(545, 118, '05.02.2026');
      paper.left(330, 132, 'Fällig am');
      paper.right(545, 132, '19.02.2026');
      paper.left(330, 146, 'Kundennummer');
      paper.right(545, 146, '40077');
      rows(
        paper,
        220,
        [50, 545],
        [
          ['Leistung', 'Betrag'],
          ['Hausanschluss, Montage', 'EUR 12.500,00'],
          ['Prüfung nach VDE', 'EUR 480,00'],
          ['Summe netto', 'EUR 12.980,00'],
          ['Umsatzsteuer 19%', 'EUR 2.466,20'],
          ['Summe brutto', 'EUR 15.446,20'],
          ['abzüglich Anzahlung', 'EUR -5.000,00'],
          ['Zu zahlen', 'EUR 10.446,20'],
        ],
      );
    },
    says: {
      supplier: 'Elektro Sonnleitner KG',
      number: 'RE-100234',
      date: '2026-02-05',
      amount: '15446.20',
      currency: 'EUR',
    },
  },
  {
    name: 'German, Switzerland, francs with apostrophes',
    draw(paper) {
      paper.left(50, 50, 'Alpenblick Treuhand AG', { size: 14 });
      paper.left(50, 66, 'Seestrasse 9, 8002 Zürich');
      paper.left(50, 110, 'Rechnungs-Nr.: 26/00318');
      paper.left(50, 126, 'Datum: 31. Januar 2026');
      rows(
        paper,
        180,
        [50, 545],
        [
          ['Jahresabschluss 2025', "CHF 11'200.00"],
          ['Steuererklärung', 'CHF 950.00'],
          ['MWST 8.1%', 'CHF 984.15'],
          ['Rechnungsbetrag', "CHF 13'134.15"],
        ],
      );
      paper.left(50, 300, 'Zahlbar bis 2. März 2026.');
    },
    says: {
      supplier: 'Alpenblick Treuhand AG',
      number: '26/00318',
      date: '2026-01-31',
      amount: '13134.15',
      currency: 'CHF',
    },
  },
  {
    name: 'French, fixed spaces between thousands',
    draw(paper) {
      paper.left(50, 50, 'Menuiserie Lefèvre SARL', { size: 15, bold: true });
      paper.left(50, 68, '18 rue des Tanneurs, 35000 Rennes');
      paper.left(50, 82, 'SIRET 123 456 789 00012');
      paper.left(330, 110, 'Adresse de facturation');
      paper.left(330, 124, 'Boulangerie du Port SAS');
      paper.left(330, 138, '3 quai Saint-Cast, 35400 Saint-Malo');
      paper.left(50, 180, 'Facture n° FA-2026-031', { size: 13 });
      paper.left(50, 198, "Date d'émission : 14/03/2026");
      paper.left(50, 212, "Date d'échéance : 13/04/2026");
      const end = rows(
        paper,
        260,
        [50, 380, 460, 545],
        [
          ['Désignation', 'Qté', 'P.U. HT', 'Total HT'],
          ['Vitrine réfrigérée', '1', `8${NBSP}450,00 €`, `8${NBSP}450,00 €`],
          ['Pose', '12', '45,00 €', '540,00 €'],
        ],
      );
      rows(
        paper,
        end + 12,
        [360, 545],
        [
          ['Total HT', `8${NBSP}990,00 €`],
          ['TVA 20 %', `1${NBSP}798,00 €`],
          ['Total TTC', `10${NBSP}788,00 €`],
        ],
      );
    },
    says: {
      supplier: 'Menuiserie Lefèvre SARL',
      number: 'FA-2026-031',
      date: '2026-03-14',
      amount: '10788.00',
      currency: 'EUR',
    },
  },
  {
    name: 'French, the head as a table of labels over values, a deposit paid',
    draw(paper) {
      paper.right(545, 50, 'FACTURE', { size: 20 });
      paper.left(50, 50, 'Fournisseur');
      paper.left(50, 64, 'Atelier Nuage & Fils');
      paper.left(50, 78, '5 place Bellecour, 69002 Lyon');
      for (const [x, label, value] of [
        [50, 'N° de facture', '2026/118'],
        [200, 'Date de facture', '1er avril 2026'],
        [350, 'Échéance', '1er mai 2026'],
        [470, 'N° client', 'C-0099'],
      ] as const) {
        paper.left(x, 140, label);
        paper.left(x, 154, value);
      }
      rows(
        paper,
        220,
        [50, 545],
        [
          ['Création du site', '4 800,00 EUR'],
          ['Rédaction', '1 150,50 EUR'],
          ['Sous-total', '5 950,50 EUR'],
          ['TVA', '1 190,10 EUR'],
          ['Montant total', '7 140,60 EUR'],
          ['Acompte versé', '- 2 000,00 EUR'],
          ['Reste à payer', '5 140,60 EUR'],
        ],
      );
    },
    says: {
      supplier: 'Atelier Nuage & Fils',
      number: '2026/118',
      date: '2026-04-01',
      amount: '7140.60',
      currency: 'EUR',
    },
  },
  {
    name: 'Dutch, the euro sign before the amount',
    draw(paper) {
      paper.left(50, 50, 'Fietsen van Dijk B.V.', { size: 16 });
      paper.left(50, 68, 'Oudegracht 120, 3511 AW Utrecht');
      paper.left(50, 82, 'KvK 12345678 - Btw NL001234567B01');
      paper.left(50, 120, 'Factuur', { size: 14, bold: true });
      paper.left(50, 140, 'Factuurnummer: 20260042');
      paper.left(50, 154, 'Factuurdatum: 14 maart 2026');
      paper.left(50, 168, 'Vervaldatum: 28 maart 2026');
      paper.left(330, 140, 'Aan:');
      paper.left(330, 154, 'Gemeente Amersfoort');
      const end = rows(
        paper,
        230,
        [50, 380, 460, 545],
        [
          ['Omschrijving', 'Aantal', 'Prijs', 'Totaal'],
          ['Dienstfiets', '3', '€ 1.050,00', '€ 3.150,00'],
          ['Korting 10%', '', '', '€ -315,00'],
        ],
      );
      rows(
        paper,
        end + 16,
        [340, 545],
        [
          ['Subtotaal excl. btw', '€ 2.835,00'],
          ['Btw 21%', '€ 595,35'],
          ['Totaal te betalen', '€ 3.430,35'],
        ],
      );
    },
    says: {
      supplier: 'Fietsen van Dijk B.V.',
      number: '20260042',
      date: '2026-03-14',
      amount: '3430.35',
      currency: 'EUR',
    },
  },
  {
    name: 'Dutch, whole euros with a dash, net, tax and gross in one row',
    draw(paper) {
      paper.left(50, 50, 'Leverancier: Groenwerk Hoveniers');
      paper.left(50, 66, 'Klant: VvE Parkzicht');
      paper.left(50, 96, 'Factuurnr. GH-77');
      paper.left(200, 96, 'Datum 03-02-2026');
      paper.left(50, 140, 'Aanleg binnentuin volgens offerte 25-118');
      for (const [x, label, value] of [
        [230, 'Excl. btw', '€ 10.000,-'],
        [350, 'Btw', '€ 2.100,-'],
        [470, 'Totaal incl. btw', '€ 12.100,-'],
      ] as const) {
        paper.left(x, 200, label);
        paper.left(x, 216, value);
      }
    },
    says: {
      supplier: 'Groenwerk Hoveniers',
      number: 'GH-77',
      date: '2026-02-03',
      amount: '12100.00',
      currency: 'EUR',
    },
  },
  {
    name: 'English, a credit note in Canadian dollars',
    draw(paper) {
      paper.left(50, 50, 'Credit note', { size: 18 });
      paper.left(50, 80, 'Issued by: Maple & Stone Tiling Inc.');
      paper.left(50, 96, 'Credit note no. CN-0007');
      paper.left(50, 112, 'Issued on 2026-05-09');
      rows(
        paper,
        160,
        [50, 545],
        [
          ['Tiles returned', 'CA$ (1,080.00)'],
          ['GST 5%', 'CA$ (54.00)'],
          ['Total', 'CA$ (1,134.00)'],
        ],
      );
    },
    says: {
      supplier: 'Maple & Stone Tiling Inc.',
      number: 'CN-0007',
      date: '2026-05-09',
      amount: '-1134.00',
      currency: 'CAD',
    },
  },
  {
    name: 'German, dollars with euros beside them, day and month in digits without zeros',
    draw(paper) {
      paper.left(50, 50, 'Feinwerk Optik UG (haftungsbeschränkt)');
      paper.left(50, 70, 'Beleg-Nr. 7781   Belegdatum 7.4.26');
      rows(
        paper,
        120,
        [50, 440, 545],
        [
          ['Objektiv 50 mm', 'USD 1.999,00', '(EUR 1.840,15)'],
          ['Versand', 'USD 40,00', '(EUR 36,82)'],
          ['Endbetrag', 'USD 2.039,00', '(EUR 1.876,97)'],
        ],
      );
    },
    says: {
      supplier: 'Feinwerk Optik UG (haftungsbeschränkt)',
      number: '7781',
      date: '2026-04-07',
      amount: '2039.00',
      currency: 'USD',
    },
  },
];
