/** Why a call was not begun: the rules that error entries of `spending_limit` name, and what each has a person do. */

/** The limit that a call would have passed, by what it is a limit of. */
export const LIMIT_RULES = {
  job: 'money/limit_job',
  workflow: 'money/limit_workflow',
  day: 'money/limit_day',
} as const;

/** The model has no price, and its workflow no most that a call may cost. */
export const NO_PRICE = 'money/no_price';
/** Neither the call nor the price says how much the model may write. */
export const NO_MAXIMUM = 'money/no_maximum';
/** It is given files, whose tokens nobody can tell before. */
export const FILES = 'money/files';
/** The provider may bill what is not in the prompt: an earlier response, tools of its own, an option that is not known. */
export const UNBOUNDED = 'money/unbounded';
/** A replay from evidence came to a call that no stored response answers. */
export const NONE_STORED = 'evidence/none_stored';

export type StoppedBy = keyof typeof LIMIT_RULES;

/** Which limit stopped it, where the rule is one of a limit. */
export function stoppedBy(rule: string | undefined): StoppedBy | null {
  const scopes = Object.keys(LIMIT_RULES) as StoppedBy[];
  return scopes.find((scope) => LIMIT_RULES[scope] === rule) ?? null;
}
