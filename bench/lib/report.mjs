/** What a run prints. */
import { statfsSync } from 'node:fs';
import { cpus, loadavg, tmpdir, totalmem } from 'node:os';
import { POSTGRES_SETTINGS } from './places.mjs';
import { SYSTEMS } from '../systems/index.mjs';
import { medianOf } from './judge.mjs';
import { spread } from './stats.mjs';

/** @import { Row } from './judge.mjs' */
/** @import { Outcome } from './race.mjs' */

const TMPFS = 0x0102_1994;

/** The machine and the settings that a run's numbers belong to. @param {{ quick: boolean }} options */
export function machine({ quick }) {
  const date = new Date().toISOString().slice(0, 10);
  const [cpu] = cpus();
  const memory = Math.round(totalmem() / 1024 ** 3);
  const settings = Object.entries(POSTGRES_SETTINGS).map(([name, value]) => `${name} ${value}`);
  const lines = [
    `${date}, ${quick ? 'quick run' : 'full run'}: ${cpus().length} x ${cpu?.model.trim() ?? 'unknown'}, ${memory} GB, Node ${process.version}, load ${loadavg()[0]?.toFixed(1)}`,
    `PostgreSQL: ${settings.join(', ')}; all else as it comes`,
  ];
  const inMemory = statfsSync(tmpdir()).type === TMPFS;
  if (inMemory)
    lines.push(`${tmpdir()} is in memory: nothing is synced, and no number means anything. Set TMPDIR.`);
  return lines.join('\n');
}

/** The first metric with its spread, and the medians of the others. @param {Outcome} outcome */
export function outcomeTable(outcome) {
  const systems = Object.keys(outcome.numbers);
  const metrics = [...new Set(systems.flatMap((system) => Object.keys(outcome.numbers[system]?.[0] ?? {})))];
  const [main = '', ...others] = metrics;
  const rows = systems.map((system) => {
    const values = (outcome.numbers[system] ?? [])
      .map((one) => one[main] ?? null)
      .filter((one) => one !== null);
    const { median = null, min = null, max = null } = values.length === 0 ? {} : spread(values);
    const rest = others.map((metric) => short(medianOf(outcome, system, metric)));
    return [system, short(median), `${short(min)} - ${short(max)}`, ...rest];
  });
  const failures = Object.entries(outcome.failures).map(
    ([system, why]) => `  ${system} is left out: ${why.split('\n')[0]}`,
  );
  const title = `${outcome.name}, ${outcome.store}`;
  return [title, ...columns([['', main, 'min - max', ...others], ...rows]), ...failures].join('\n');
}

/** @param {readonly Row[]} rows */
export function rowTable(rows) {
  const head = ['case', 'store', 'metric', 'ours', 'best peer', 'ratio', 'floor', 'ratio', 'goal', ''];
  const lines = rows.map((row) => [
    row.case,
    row.store,
    row.metric,
    short(row.ours),
    row.best_peer === null ? '-' : `${short(row.best_peer.value)} ${row.best_peer.name}`,
    short(row.ratio_peer),
    short(row.floor),
    short(row.ratio_floor),
    row.goal ?? '-',
    row.holds === null ? '' : row.holds ? 'holds' : 'FALLS SHORT',
  ]);
  return columns([head, ...lines]).join('\n');
}

/** What each system of a run keeps, and what it does not. @param {readonly Outcome[]} outcomes */
export function keepings(outcomes) {
  const names = new Set(outcomes.flatMap(({ numbers }) => Object.keys(numbers)));
  return Object.entries(SYSTEMS)
    .filter(([name]) => names.has(name))
    .map(([name, { keeps, lacks }]) => `${name}: keeps ${keeps}${lacks === '' ? '' : `; not ${lacks}`}`)
    .join('\n');
}

/** Three digits that matter. @param {number | null} value */
function short(value) {
  if (value === null) return '-';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en');
  return String(Number(value.toPrecision(3)));
}

/** @param {readonly (readonly string[])[]} rows */
function columns(rows) {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
