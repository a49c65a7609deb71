/** The number that the supplier gave the invoice. */
import { findDates } from './dates.ts';
import { findLabelled } from './labelled.ts';
import type { Line } from './lines.ts';

/** "Number" in its many short forms. */
const NO = '(?:no|nr|nbr|num|number|nummer|numero|n\\u00b0|#|id|ref(?:erence)?)(?![a-z])';

const LABELS = [
  // English, and "Invoice #"
  new RegExp(`(?<![a-z])(?:tax |sales |commercial )?(?:invoice|inv|bill|credit note)[ .-]*${NO}`),
  // German
  new RegExp(`(?<![a-z])(?:rechnungs?|rechn|rg|re|beleg|gutschrifts?)[ .-]*(?:-)?${NO}`),
  // French: "Facture n°", "N° de facture"
  new RegExp(`(?<![a-z])(?:facture|avoir)[ .-]*${NO}`),
  new RegExp(`(?<![a-z])${NO}[ .]*(?:de |de la |d'|du )?(?:facture|avoir)`),
  // Dutch
  new RegExp(`(?<![a-z])(?:fa[ck]tuur|creditnota)[ .-]*${NO}`),
  // The document's title with the number right after it, or a bare "No." below it
  /^(?:tax |sales |commercial )?(?:invoice|rechnung|facture|fa[ck]tuur)(?![a-z])/,
  new RegExp(`^${NO}$|^${NO}[ .]*:`),
];

/** Capitals and digits with the separators that numbers have, at least one digit, in at most three pieces. */
const NUMBER = /^(?:[A-Z]{1,6}[ ])?(?=[A-Za-z\d./_-]*\d)[A-Za-z\d]+(?:[./_-]+[A-Za-z\d]+)*(?: ?[/-] ?\d+)?/;

export function findNumber(lines: readonly Line[]): string | null {
  return findLabelled(lines, LABELS, readNumber);
}

function readNumber(text: string, whole: boolean): string | null {
  const value = text.replace(/^[#\s]+/, '');
  const number = NUMBER.exec(value)?.[0];
  if (number === undefined || (whole && number !== value)) return null;
  const date = findDates(value, 'day_first')[0];
  return date && date.start < number.length ? null : number;
}
