/** What a key may do. */

/**
 * `jobs`: hand in, look at, cancel and replay, with their files and artifacts. `evidence`: the bytes that explain attempts,
 * raw responses of models among them. `spending`: limits of money, and what a call in doubt cost. `admin`: all of it, and keys.
 */
export const SCOPES = ['jobs', 'evidence', 'spending', 'admin'] as const;

export type Scope = (typeof SCOPES)[number];

/** Whether a holder of these may do what needs that one. */
export function permits(held: readonly string[], needed: Scope): boolean {
  return held.includes(needed) || held.includes('admin');
}
