import { rows } from './paper.ts';
import type { Sample } from './paper.ts';

export const DUTCH: readonly Sample[] = [
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
];
