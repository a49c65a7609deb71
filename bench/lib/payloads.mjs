/** @import { Payload } from '../types.ts' */

/** A job of 302 bytes as JSON. @returns {Payload} */
export function payload() {
  return { text: 'x'.repeat(291) };
}

/** @param {number} count @returns {Payload[]} */
export function payloads(count) {
  return Array.from({ length: count }, payload);
}
