import { rows } from './paper.ts';
import type { Sample } from './paper.ts';

const NBSP = '\u00a0';

export const FRENCH: readonly Sample[] = [
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
];
