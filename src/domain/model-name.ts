/** Names of models: which of them name one version, and which a provider may point somewhere else tomorrow. */

/** A date (`2025-08-07`, `20250929`, `0613`, `2411`) or a number of three digits (`002`), as a part of its own. */
const VERSION = /[-@_.](?:\d{4}-\d{2}-\d{2}|\d{8}|\d{6}|\d{3,4})(?=$|[-@_.:])/;

const LATEST = /[-:]latest$/;

/** `gpt-5-2025-08-07` does, `gpt-5` and `mistral-large-latest` do not. */
export function namesVersion(model: string): boolean {
  return VERSION.test(model) && !LATEST.test(model);
}

/** Whether `served` is a version of the name `alias`: the name itself, or the name and a version after it. */
export function isVersionOf(served: string, alias: string): boolean {
  if (served === alias) return true;
  const stem = alias.replace(LATEST, '');
  const rest = served.startsWith(stem) ? served.slice(stem.length) : '';
  return VERSION.exec(rest)?.index === 0;
}
