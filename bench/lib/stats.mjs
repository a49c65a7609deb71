/** @param {readonly number[]} numbers */
export function median(numbers) {
  return percentile(numbers, 0.5);
}

/** The median of the repeats, and how far they lie apart. @param {readonly number[]} numbers */
export function spread(numbers) {
  return { median: median(numbers), min: Math.min(...numbers), max: Math.max(...numbers) };
}

/** @param {readonly number[]} numbers in milliseconds */
export function percentiles(numbers) {
  return { p50: percentile(numbers, 0.5), p95: percentile(numbers, 0.95), p99: percentile(numbers, 0.99) };
}

/**
 * The smallest number that at least this share of them does not exceed; between the middle two for the median of an even count.
 *
 * @param {readonly number[]} numbers
 * @param {number} share
 */
function percentile(numbers, share) {
  if (numbers.length === 0) throw new Error('no numbers, no percentile');
  const sorted = numbers.toSorted((a, b) => a - b);
  const at = sorted.length * share;
  const upper = /** @type {number} */ (sorted[Math.max(0, Math.ceil(at) - 1)]);
  if (share !== 0.5 || !Number.isInteger(at)) return upper;
  return (upper + /** @type {number} */ (sorted[at])) / 2;
}
