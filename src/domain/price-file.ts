/**
 * The operator's price file. A mistake in it is told with its place, all of them at once, and none of its prices counts: a price that
 * was dropped in silence would stop every call of its model.
 *
 * `{"prices":[{"model":"openai/gpt-5","from":"2026-01-01","usd_per_million":{"input":1.25,"cached_input":0.125,"output":10}}]}`
 */
import { didYouMean } from './did-you-mean.ts';
import { ALLOWED_USD, nanoOf } from './dollars.ts';
import { pointer } from './json.ts';
import type { NanoUsd, Price } from './money.ts';
import type { ValidationIssue } from './record.ts';

export type PriceFile = { prices: Price[]; issues?: never } | { prices?: never; issues: ValidationIssue[] };

const BUCKETS = {
  input: 'input',
  cached_input: 'cachedInput',
  cache_write: 'cacheWrite',
  output: 'output',
  reasoning: 'reasoning',
} as const;
const BUCKET_NAMES = Object.keys(BUCKETS) as (keyof typeof BUCKETS)[];

/** Total: whatever the text is, its prices or every issue with its place. */
export function parsePriceFile(text: string): PriceFile {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch (error) {
    return { issues: [{ path: '', message: `is not JSON: ${(error as Error).message}` }] };
  }
  const reader = new Reader();
  const prices = reader.file(file);
  return reader.issues.length > 0 ? { issues: reader.issues } : { prices };
}

type Fields = Record<string, unknown>;

class Reader {
  readonly issues: ValidationIssue[] = [];

  file(file: unknown): Price[] {
    const fields = this.#fields(file, '', ['prices']);
    if (fields === null) return [];
    const { prices } = fields;
    if (!Array.isArray(prices)) return this.#tell('/prices', 'must be a list of prices', []);
    const read = prices.map((price, index) => this.#price(price, `/prices/${index}`));
    this.#refuseTwins(read);
    return read.filter((price) => price !== null);
  }

  #price(price: unknown, path: string): Price | null {
    const fields = this.#fields(price, path, ['model', 'from', 'usd_per_million', 'max_output_tokens']);
    if (fields === null) return null;
    const model = this.#model(fields['model'], `${path}/model`);
    const from = this.#day(fields['from'], `${path}/from`);
    const rates = this.#rates(fields['usd_per_million'], `${path}/usd_per_million`);
    const maxOutputTokens = this.#tokens(fields['max_output_tokens'], `${path}/max_output_tokens`);
    if (model === null || from === null || rates === null) return null;
    return { model, from, ...rates, ...(maxOutputTokens === null ? {} : { maxOutputTokens }) };
  }

  #model(model: unknown, path: string): string | null {
    if (typeof model === 'string' && /^[^/\s]+\/\S+$/.test(model)) return model;
    return this.#tell(path, 'must be a provider and a model, as "openai/gpt-5"', null);
  }

  #day(from: unknown, path: string): string | null {
    if (typeof from === 'string' && isDay(from)) return from;
    return this.#tell(path, 'must be a day (UTC), as "2026-01-31"', null);
  }

  #rates(rates: unknown, path: string): Omit<Price, 'model' | 'from'> | null {
    const fields = this.#fields(rates, path, BUCKET_NAMES);
    if (fields === null) return null;
    for (const name of ['input', 'output']) {
      if (fields[name] === undefined) this.#tell(`${path}/${name}`, 'is missing', null);
    }
    const found: Partial<Record<keyof Omit<Price, 'model' | 'from'>, NanoUsd>> = {};
    for (const name of BUCKET_NAMES) {
      if (fields[name] === undefined) continue;
      const nano = nanoOf(fields[name]);
      if (nano === null) this.#tell(`${path}/${name}`, `must be ${ALLOWED_USD}`, null);
      else found[BUCKETS[name]] = nano;
    }
    const { input, output, ...others } = found;
    return input === undefined || output === undefined ? null : { input, output, ...others };
  }

  #tokens(tokens: unknown, path: string): number | null {
    if (tokens === undefined) return null;
    if (typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens >= 1) return tokens;
    return this.#tell(path, 'must be a whole number of tokens from 1 on', null);
  }

  /** Two prices of one day would leave it to chance which of them counts. */
  #refuseTwins(prices: readonly (Price | null)[]): void {
    const first = new Map<string, number>();
    for (const [index, price] of prices.entries()) {
      if (price === null) continue;
      const name = `${price.model} from ${price.from}`;
      const before = first.get(name);
      if (before === undefined) first.set(name, index);
      else this.#tell(`/prices/${index}`, `is a second price of ${name}, beside /prices/${before}`, null);
    }
  }

  #fields(value: unknown, path: string, known: readonly string[]): Fields | null {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return this.#tell(path, value === undefined ? 'is missing' : 'must be an object', null);
    for (const name of Object.keys(value).filter((one) => !known.includes(one))) {
      const near = didYouMean(name, known);
      const guess = near === null ? `it may have ${known.join(', ')}` : `did you mean ${near}?`;
      this.#tell(pointer(path, name), `is not known here; ${guess}`, null);
    }
    return value as Fields;
  }

  #tell<Instead>(path: string, message: string, instead: Instead): Instead {
    this.issues.push({ path, message });
    return instead;
  }
}

function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const at = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}
