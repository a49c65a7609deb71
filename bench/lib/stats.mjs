/** The median of the repeats, and how far they lie apart. @param {readonly number[]} numbers */
export function spread(numbers) {
  return { median: median(numbers), min: Math.min(...numbers), max: Math.max(...numbers) };
}

/** @param {readonly number[]} numbers */
export function percentiles(numbers) {
  return { p50: percentile(numbers, 0.5), p95: percentile(numbers, 0.95), p99: percentile(numbers, 0.99) };
}

/** The middle one, or the mean of the middle two. @param {readonly number[]} numbers */
export function median(numbers) {
  return (percentile(numbers, 0.5) + percentile(numbers, 0.5 + Number.EPSILON)) / 2;
}

/** @param {readonly number[]} numbers */
export function sum(numbers) {
  return numbers.reduce((total, one) => total + one, 0);
}

/**
 * The smallest of them that at least this share does not exceed.
 *
 * @param {readonly number[]} numbers
 * @param {number} share
 */
function percentile(numbers, share) {
  const sorted = numbers.toSorted((a, b) => a - b);
  const found = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
  if (found === undefined) throw new Error('no numbers, no percentile');
  return found;
}
