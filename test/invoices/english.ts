import { rows } from './paper.ts';
import type { Sample } from './paper.ts';

export const ENGLISH: readonly Sample[] = [
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
];
