/**
 * Arrays as parameters: one statement takes many rows, a column at a time, and `unnest` puts them together again.
 *
 * Texts travel joined by U+001E, which no JSON text contains, and are parted by `string_to_array` with '' for null: an array
 * literal would have every quote of the JSON escaped on one side and unescaped on the other.
 *
 * A column of nulls alone travels as an empty one, which `unnest` fills up beside the others: so each statement has one that is never
 * null.
 */
const SEPARATOR = '\u001e';

/** For `string_to_array(:name, E'\x1e', '')`. An empty text arrives as null. */
export function texts(values: readonly (string | null)[]): string {
  const joined = values.join(SEPARATOR); // which makes '' of null
  return joined.length < values.length ? '' : joined;
}

/**
 * Texts of which many are the same: each different one once, as `texts` has them, and for each value the place where it stands there.
 */
export function repeated(values: readonly string[]): { different: string; places: string } {
  const places = new Map<string, number>();
  const numbered = values.map((value) => {
    const place = places.get(value) ?? places.size + 1;
    if (place > places.size) places.set(value, place);
    return place;
  });
  return { different: texts([...places.keys()]), places: numbers(numbered) };
}

/** As `texts`, for values that are no JSON: names that the server made itself. */
export function names(values: readonly string[]): string {
  const joined = texts(values);
  if (!isPlain(joined) || values.some((value) => value.includes(SEPARATOR))) {
    const bad = values.find((value) => !isName(value));
    throw new Error(`${JSON.stringify(bad)} is no name that the server made`);
  }
  return joined;
}

/** Whether a text may be one of `names`; what may not is the name of nothing. */
export function isName(text: string): boolean {
  return isPlain(text) && !text.includes(SEPARATOR);
}

/** For `:name::bigint[]` and the like. */
export function numbers(values: readonly (number | null)[]): string {
  if (values.every((value) => value === null)) return '{}';
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`;
}

/** Whether PostgreSQL can hold this text as it is; what it cannot hold is not in any of its rows. */
export function isPlain(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}

/** The id of the job whose bytes these are, as URIs have it; of others, what is the id of none. */
export function jobIn(uri: string): string {
  const from = uri.indexOf('/') + 1;
  const to = uri.indexOf('/', from);
  return from === 0 ? '' : uri.slice(from, to === -1 ? uri.length : to);
}
