/** The day on which the invoice was issued: not the one it is due on, nor that of a delivery or an order. */
import { findDates } from './dates.ts';
import type { DateOrder } from './dates.ts';
import { findLabelled } from './labelled.ts';
import type { Line } from './lines.ts';

const LABELS = [
  /(?<![a-z])(?:invoice|inv\.?|bill(?:ing)?|issue) date|date of (?:the )?(?:invoice|issue)|date issued|(?<![a-z])issued(?: on)?(?![a-z])/,
  /(?<![a-z])(?:rechnungs|beleg|ausstellungs|gutschrifts)-?datum|ausgestellt am/,
  /(?<![a-z])date (?:de (?:la )?)?(?:facture|facturation|l'avoir)|date d'emission|(?<![a-z])emise? le|en date du/,
  /(?<![a-z])(?:fa[ck]tuur|creditnota)-?datum/,
  /^(?:date|datum|dated)(?![a-z ]*[a-z])|^(?:date|datum)[ .]*:/,
];

/** Dates that say something else. */
const OTHER =
  /due|payable|deliver|order|period|paid|until|fallig|zahlbar|liefer|leistung|bestell|zeitraum|bis |echeance|livraison|commande|periode|payer|vervald|lever|betal|tot |before|avant/;

export function findIssued(lines: readonly Line[], order: DateOrder): string | null {
  const read = (text: string) => findDates(text, order)[0]?.iso ?? null;
  return findLabelled(lines, LABELS, read) ?? firstUnlabelled(lines, read);
}

/** As in `Lyon, le 14 mars 2026` or `INVOICE INV-7, 14 March 2026`. */
function firstUnlabelled(lines: readonly Line[], read: (text: string) => string | null): string | null {
  for (const line of lines) {
    if (line.some((cell) => OTHER.test(cell.folded))) continue;
    for (const cell of line) {
      const date = read(cell.text);
      if (date) return date;
    }
  }
  return null;
}
