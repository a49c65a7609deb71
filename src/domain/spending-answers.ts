/** What a record's answers say about money: what was spent, what is in doubt, which limit stopped it and what to do. */
import { dollars } from './dollars.ts';
import type { ModelCall } from './model-call.ts';
import { FILES, NONE_STORED, NO_MAXIMUM, NO_PRICE, UNBOUNDED, stoppedBy } from './money-rules.ts';
import type { Job } from './record.ts';

/** Calls whose cost nobody knows, and that are not under way any more. One that can have cost nothing is none of them. */
function inDoubt(calls: readonly ModelCall[]): ModelCall[] {
  return calls.filter(({ billing, reserved }) => billing === 'unknown' && reserved > 0);
}

/** What the calls of all attempts cost; empty where there were none. */
export function spentSoFar({ calls, spending }: Job): string {
  if (calls.length === 0) return '';
  const reused = calls.filter(({ reusedFrom }) => reusedFrom !== null).length;
  const answered = reused === 0 ? '' : ` (${reused} answered by stored responses)`;
  const limit = spending.limit === null ? '' : `, of at most ${dollars(spending.limit)}`;
  const made = calls.length === 1 ? 'call' : `${calls.length} calls`;
  const cost = `Its ${made} to models${answered} cost ${dollars(spending.spent)}${limit}`;
  return ` ${cost}${underWay(calls)}.${doubt(calls)}`;
}

function underWay(calls: readonly ModelCall[]): string {
  const open = calls.filter(({ billing }) => billing === null);
  return open.length === 0 ? '' : `, and ${dollars(held(open))} are held for ${open.length} under way`;
}

function doubt(calls: readonly ModelCall[]): string {
  const unknown = inDoubt(calls);
  if (unknown.length === 0) return '';
  return ` What ${named(unknown)} cost is not known: ${dollars(held(unknown))} are held for it.`;
}

/** Empty where no call is in doubt. */
export function toSettle({ calls }: Job): string {
  const unknown = inDoubt(calls);
  if (unknown.length === 0) return '';
  return ` Find out what ${named(unknown)} cost and settle it: until then ${dollars(held(unknown))} count as spent.`;
}

/** Of a job that stopped at a spending limit: which one, and the way on; empty where nothing more is known. */
export function whatStoppedIt({ errors, spending, workflow }: Job): string {
  const rule = errors.findLast(({ code }) => code === 'spending_limit')?.rule;
  switch (stoppedBy(rule)) {
    case 'job': {
      const limit = spending.limit === null ? '' : `, ${dollars(spending.limit)},`;
      const used = `${dollars(spending.spent)} are spent and ${dollars(spending.reserved)} held`;
      return `The job's own limit${limit} has no room for the next call: ${used}. `;
    }
    case 'workflow':
      return `What ${workflow} may cost in a day has no room for the next call. `;
    case 'day':
      return 'What all workflows together may cost in a day has no room for the next call. ';
    case null:
      return STOPPED[rule ?? ''] ?? (rule?.startsWith('models-') === true ? PROVIDER : '');
  }
}

const PROVIDER = "It was the provider's account that was out, not a limit here. ";

const STOPPED: Readonly<Record<string, string>> = {
  [NO_PRICE]:
    'There is no price for the model: put one into the price file, or say in the workflow what a call may cost at most (perCallUsd). ',
  [NO_MAXIMUM]:
    'Nothing says how much the call may cost at most: give it maxOutputTokens, its price max_output_tokens, or the workflow perCallUsd. ',
  [FILES]:
    'The call is given files, and nobody can tell before what they cost: say in the workflow what a call may cost at most (perCallUsd). ',
  [UNBOUNDED]:
    'The provider may bill what is not in the prompt of the call, and nobody can tell before how much: say in the workflow what a call may cost at most (perCallUsd). ',
  [NONE_STORED]: 'No stored response answers one of its calls: replay it without from_evidence. ',
};

function named(calls: readonly ModelCall[]): string {
  const places = calls.map(({ n }) => n);
  const shown = places.length > 5 ? `${places.slice(0, 5).join(', ')}, ...` : places.join(', ');
  return places.length === 1 ? `call ${shown}` : `the calls ${shown}`;
}

function held(calls: readonly ModelCall[]): number {
  return calls.reduce((sum, { reserved }) => sum + reserved, 0);
}
