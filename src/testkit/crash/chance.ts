/** Choices that a seed makes again. */

/** Uniform in [0, 1). Xorshift (Marsaglia): plenty for choosing whom to kill. */
export function seeded(seed: number): () => number {
  let state = (seed ^ 0x9e37_79b9) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

export function pick<Item>(items: readonly Item[], random: () => number): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('there is nothing to pick from');
  return item;
}
