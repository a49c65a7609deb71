import { rows } from './paper.ts';
import type { Sample } from './paper.ts';

export const GERMAN: readonly Sample[] = [
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
