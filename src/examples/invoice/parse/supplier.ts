/** Who sent the invoice: by a label, or the first name on it that is neither a title nor the customer's. */
import { findAmounts } from './amounts.ts';
import { findDates } from './dates.ts';
import { findLabelled } from './labelled.ts';
import { cellsBelow, fold } from './lines.ts';
import type { Cell, Line } from './lines.ts';

const LABELS = [
  /^(?:from|seller|supplier|vendor|issued by|invoice from|sold by)(?: ?:|$)/,
  /^(?:von|verkaufer|lieferant|rechnungssteller|aussteller|absender)(?: ?:|$)/,
  /^(?:de|vendeur|fournisseur|emetteur|emis par|prestataire)(?: ?:|$)/,
  /^(?:van|verkoper|leverancier|afzender)(?: ?:|$)/,
];

const CUSTOMER =
  /^(?:bill(?:ed)? to|invoice to|sold to|ship to|customer|client|to|buyer|attn|rechnung an|rechnungsempfanger|kunde|an|empfanger|kaufer|lieferadresse|facture a|adresse(?: de facturation)?|destinataire|acheteur|factuur aan|klant|aan|koper|factuuradres|t\.a\.v\.?)(?: ?:|$)/;

const LEGAL_FORM =
  /(?<!\p{L})(?:GmbH|mbH|AG|KG|OHG|UG|e\.\s?K\.|GbR|SE|Ltd\.?|Limited|LLC|LLP|Inc\.?|Corp\.?|PLC|plc|S\.?A\.?R\.?L\.?|SAS|SASU|EURL|S\.A\.S?\.?|SA|SRL|SPRL|B\.?V\.?|N\.?V\.?|V\.?O\.?F\.?|BVBA|Co\.)(?!\p{L})/u;

/** First words of lines at the top of invoices that are no name, whatever follows. */
const TITLE =
  /^(?:(?:tax |pro ?forma |sales |commercial )?invoice|rechnung|facture|fa[ck]tuur|credit note|gutschrift|avoir|creditnota|vat|ust|tva|btw|iban|bic|siret|kvk|tel|fax|e-?mail|www|https?)(?![a-z])|^(?:invoice|rechnungs|factuur|kunden|klant)/;

/** First words that are no name unless a legal form makes them one. */
const LABEL =
  /^(?:date|datum|page|seite|pagina|original|copy|kopie|duplicata|no|nr|number|nummer|n\u00b0|phone|web|total|totaal|gesamt|summe|amount|balance|betrag|montant|due|fallig|echeance|verval|payment|terms|order|your|ihre?|votre|uw|bestell)(?![a-z])/;

/** How far down a letterhead reaches. */
const TOP_LINES = 15;

export function findSupplier(lines: readonly Line[]): string | null {
  const labelled = findLabelled(lines, LABELS, readName);
  if (labelled) return labelled;
  const top = lines.slice(0, TOP_LINES);
  const customers = customerCells(top);
  const names = top
    .flat()
    .filter((cell) => !customers.has(cell))
    .flatMap((cell) => readName(cell.text) ?? []);
  return names.find((name) => LEGAL_FORM.test(name)) ?? names[0] ?? null;
}

/** How many lines of an address follow its label at most; an empty one ends it. */
const ADDRESS_LINES = 4;

function customerCells(lines: readonly Line[]): Set<Cell> {
  const customers = new Set<Cell>();
  for (const [row, line] of lines.entries()) {
    for (const cell of line) {
      if (!CUSTOMER.test(cell.folded)) continue;
      customers.add(cell);
      const gap = lines.findIndex((later, at) => at > row + 1 && later.length === 0);
      const depth = gap < 0 ? ADDRESS_LINES : Math.min(gap - row - 1, ADDRESS_LINES);
      for (const below of cellsBelow(lines, row, cell, depth)) customers.add(below);
    }
  }
  return customers;
}

/** The name of a line such as `Muster GmbH · Hauptstr. 1 · 10115 Berlin`. */
function readName(text: string): string | null {
  const name = (text.split(/ [|\u00b7\u2022\u2013\u2014-] |, (?=.*\d)/u)[0] ?? '').trim();
  if (!/\p{L}{2}/u.test(name) || name.length > 80 || name.includes('@')) return null;
  if (name.includes(':') || TITLE.test(fold(name)) || CUSTOMER.test(fold(name))) return null;
  if (LEGAL_FORM.test(name)) return name;
  const other = LABEL.test(fold(name)) || findAmounts(name).length > 0;
  return other || findDates(name, 'day_first').length > 0 ? null : name;
}
