/**
 * What the invoice is for: its grand total with tax, before anything paid on it already.
 *
 * A label that says "with tax" wins. Where none does, plain totals and amounts due are compared and the largest
 * counts: a plain total may be net of tax, and an amount due may have a deposit taken off, but neither
 * is ever more than the grand total.
 */
import { findAmounts, isAmounts, withoutAmounts } from './amounts.ts';
import type { Amount } from './amounts.ts';
import { cellsBelow, fold } from './lines.ts';
import type { Cell, Line } from './lines.ts';

type Kind = 'gross' | 'plain_or_due';

const DUE =
  /(?:amount|balance|total|sum) (?:now )?due|(?:amount|total) (?:to pay|payable)|please pay|zu zahlen|zahlbetrag|restbetrag|offener betrag|(?:net|reste|solde|total|montant) (?:a payer|du)|te betalen|te voldoen|openstaand|te ontvangen/;

const WITH_TAX = /incl|inkl|ttc|tvac|including|toutes taxes|mit (?:mwst|ust)|with (?:tax|vat)|tax included/;
const TAX = /(?<![a-z])(?:vat|tax|gst|mwst|ust|umsatzsteuer|mehrwertsteuer|tva|taxes?|btw)(?![a-z])/;
/** A total of something else: before tax, of a part, of what was paid. */
const PART =
  /sub-? ?total|zwischensumme|sous-? ?total|subtotaal|(?<![a-z])(?:net|netto|nettobetrag|ht|htva)(?![a-z])|netto(?:betrag|summe)|hors tax|excl|exkl|(?<![a-z])ohne(?![a-z])|before tax|zzgl|carried|brought|ubertrag|a reporter|transport|discount|rabatt|remise|korting|deposit|anzahlung|acompte|aanbetaling|paid|bezahlt|paye(?![a-z])|betaald|voldaan/;

const GROSS =
  /(?:grand|invoice|gross) total|total (?:gross|brutto)|invoice amount|gesamtbetrag|rechnungsbetrag|rechnungssumme|brutto(?:betrag|summe)|endbetrag|endsumme|gesamtsumme|(?:gesamt|summe) brutto|total general|montant total|montant ttc|eindtotaal|totaalbedrag|factuurbedrag|bruto totaal|totaal bruto/;
const PLAIN = /^(?:total|totaal|gesamt|summe|insgesamt|montant|total amount|total price)[ :]*$/;
const ANY_TOTAL = /total|totaal|gesamt|summe|betrag|montant|bedrag|amount/;

/** Words of the head of a table of items, where "Total" stands above the items' own amounts. */
const ITEM_HEAD =
  /(?<![a-z])(?:qty|quantity|description|item|unit price|rate|hours|menge|anzahl|beschreibung|bezeichnung|einzelpreis|artikel|leistung|qte|quantite|designation|prix unitaire|p\.u\.|aantal|omschrijving|stuksprijs|prijs)(?![a-z])/;

export function findTotal(lines: readonly Line[]): Amount | null {
  const gross: Amount[] = [];
  const others: Amount[] = [];
  for (const [row, line] of lines.entries()) {
    for (const [index, cell] of line.entries()) {
      const kind = mentionsTotal(cell.folded) ? kindOf(labelOf(cell)) : null;
      const amount = kind && amountOf(lines, row, index);
      if (amount) (kind === 'gross' ? gross : others).push(amount);
    }
  }
  return gross.at(-1) ?? largest(others);
}

function mentionsTotal(folded: string): boolean {
  return ANY_TOTAL.test(folded) || DUE.test(folded);
}

/** The words of a cell: the text without its amounts, rates and currencies. */
function labelOf(cell: Cell): string {
  const words = withoutAmounts(cell.text);
  return fold(words.replace(/\(?(?<!\p{L})[A-Z]{3}(?!\p{L})\)?|[$\u20ac\u00a3()]/gu, ' '))
    .replace(/\s+/g, ' ')
    .trim();
}

function kindOf(label: string): Kind | null {
  if (DUE.test(label)) return 'plain_or_due';
  if (PART.test(label)) return null;
  if (WITH_TAX.test(label)) return 'gross';
  if (TAX.test(label)) return null;
  if (GROSS.test(label)) return 'gross';
  return PLAIN.test(label) ? 'plain_or_due' : null;
}

/** After the label in its cell, in the cells to its right, or below it. */
function amountOf(lines: readonly Line[], row: number, index: number): Amount | null {
  const line = lines[row] as Line;
  const cell = line[index] as Cell;
  const right = [...findAmounts(cell.text)];
  for (const next of line.slice(index + 1)) {
    if (!isAmounts(next.text)) break;
    right.push(...findAmounts(next.text));
  }
  if (right.length > 0) return pick(right);
  if (line.some((one) => ITEM_HEAD.test(one.folded))) return null;
  const below = cellsBelow(lines, row, cell, 2).find((one) => isAmounts(one.text));
  return below ? pick(findAmounts(below.text)) : null;
}

/** Of a row of net, tax and gross the last one; where an amount is repeated in another currency, the first. */
function pick(amounts: readonly Amount[]): Amount | null {
  const first = amounts[0];
  const last = amounts.at(-1);
  if (!first || !last) return null;
  return first.currency && last.currency && first.currency !== last.currency ? first : last;
}

/** By size alone: the total of a credit note is below zero. */
function largest(amounts: readonly Amount[]): Amount | null {
  let best: Amount | null = null;
  for (const amount of amounts) {
    if (!best || sizeOf(amount) > sizeOf(best)) best = amount;
  }
  return best;
}

/** For comparing only. */
function sizeOf(amount: Amount): number {
  return Math.abs(Number(amount.number));
}
