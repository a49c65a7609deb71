/** The command line of the bench. */
import { parseArgs } from 'node:util';
import { CASES } from '../cases/index.mjs';
import { SYSTEMS } from '../systems/index.mjs';

/** @typedef {import('../cases/index.mjs').Store} Store */

const STORES = /** @type {const} */ (['postgres', 'sqlite']);

/**
 * @param {string[]} args
 * @returns {{ quick: boolean, json: string | null, jsonOfAll: string, cases: string[], stores: Store[], systems: string[] | null }}
 * @throws Error with a sentence
 */
export function readOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      json: { type: 'string' },
      case: { type: 'string' },
      store: { type: 'string' },
      systems: { type: 'string' },
    },
  });
  return {
    quick: values.quick,
    json: values.json ?? null,
    jsonOfAll: (values.json ?? '').replace(/(\.json)?$/, '.all.json'),
    cases: among('case', values.case, Object.keys(CASES)),
    stores: among('store', values.store, STORES),
    systems: values.systems === undefined ? null : among('systems', values.systems, Object.keys(SYSTEMS)),
  };
}

/**
 * Those that are named, or all.
 *
 * @template {string} Name
 * @param {string} option
 * @param {string | undefined} given names with commas between
 * @param {readonly Name[]} known
 */
function among(option, given, known) {
  const names = given?.split(',');
  const stray = names?.find((name) => !known.some((one) => one === name));
  if (stray !== undefined) throw new Error(`--${option} takes ${known.join(', ')}; ${stray} is none of them`);
  return known.filter((name) => names?.includes(name) ?? true);
}
