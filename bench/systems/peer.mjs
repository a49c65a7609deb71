/** Peers are packages of bench/package.json, which the project itself does not have: TypeScript is told what is used of them. */

/**
 * @template Module
 * @param {string} name
 */
export async function peer(name) {
  return /** @type {Module} */ (await import(name));
}
