/** The command line of the bench. */
import { closeSync, openSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { CASES } from '../cases/index.mjs';
import { SYSTEMS } from '../systems/index.mjs';

/** @import { Case, Store } from '../cases/index.mjs' */

const STORES = /** @type {const} */ (['postgres', 'sqlite']);

/**
 * @typedef {object} Options
 * @property {boolean} quick
 * @property {string | null} json where the rows are written
 * @property {string} jsonOfAll and every measurement
 * @property {Case[]} cases
 * @property {Store[]} stores
 * @property {string[] | null} systems those that take part; null for all
 */

/**
 * @param {string[]} args
 * @returns {Options}
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
  const { quick, json = null } = values;
  return {
    quick,
    json,
    jsonOfAll: (json ?? '').replace(/(\.json)?$/, '.all.json'),
    cases: among('case', values.case, Object.keys(CASES)).map((name) => /** @type {Case} */ (CASES[name])),
    stores: among('store', values.store, STORES),
    systems: values.systems === undefined ? null : among('systems', values.systems, Object.keys(SYSTEMS)),
  };
}

/**
 * @param {string} file what is in it stays there
 * @throws Error with a sentence
 */
export function refuseUnwritable(file) {
  try {
    closeSync(openSync(file, 'a'));
  } catch (error) {
    throw new Error(`--json: ${file} cannot be written`, { cause: error });
  }
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
  if (stray !== undefined)
    throw new Error(`--${option} takes ${known.join(', ')}; ${stray || 'an empty name'} is none of them`);
  return known.filter((name) => names?.includes(name) ?? true);
}
