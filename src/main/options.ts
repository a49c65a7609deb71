/** What an app hands to `openClaimcheck`, checked once: JavaScript has no compiler to notice a misspelt name. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DEFAULT_SETTINGS } from '../engine/settings.ts';
import { didYouMean } from '../domain/did-you-mean.ts';
import { SETTINGS, allowedOf } from './setting-table.ts';
import type { Setting } from './setting-table.ts';

/** @throws TypeError that names the option, its value and what is allowed */
export function checkOptions(options: object, names: readonly string[]): void {
  refuseStray('', options, names);
  const { settings, workflows, workflowsModule, reconcile } = options as Record<string, unknown>;
  if (!Array.isArray(workflows)) throw problem('`workflows` must be an array of what defineWorkflow returns');
  if (reconcile !== undefined && typeof reconcile !== 'function')
    throw problem('`reconcile` must be a function');
  if (workflowsModule !== undefined) checkModule(workflowsModule);
  if (settings !== undefined) checkSettings(settings);
}

function checkModule(module: unknown): void {
  const isNamed = module instanceof URL || typeof module === 'string';
  const file = isNamed ? pathOf(module) : null;
  if (file === null) throw problem('`workflowsModule` must be the path of a module, or its file URL');
  if (!existsSync(file)) throw problem(`\`workflowsModule\` names ${file}, which does not exist`);
}

/** Where a module is. */
export function pathOf(module: string | URL): string {
  return module instanceof URL || module.startsWith('file:') ? fileURLToPath(module) : resolve(module);
}

function checkSettings(settings: unknown): void {
  if (settings === null || typeof settings !== 'object') throw problem('`settings` must be an object');
  refuseStray('settings.', settings, Object.keys(DEFAULT_SETTINGS));
  for (const [name, value] of Object.entries(settings)) {
    const setting = (SETTINGS as Record<string, Setting>)[name];
    if (value === undefined || setting?.kind !== 'integer') continue;
    if (!Number.isInteger(value) || value < setting.min || value > setting.max) {
      throw problem(`\`settings.${name}\` is ${JSON.stringify(value)}; it takes ${allowedOf(setting)}`);
    }
  }
}

function refuseStray(path: string, given: object, names: readonly string[]): void {
  const stray = Object.keys(given).find((name) => !names.includes(name));
  if (stray === undefined) return;
  const near = didYouMean(stray, names);
  throw problem(`\`${path}${stray}\` is no option${near === null ? '' : `; did you mean ${path}${near}?`}`);
}

function problem(sentence: string): TypeError {
  return new TypeError(`openClaimcheck: ${sentence}`);
}
