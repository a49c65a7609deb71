/** What a call may cost and did cost, by the operator's prices and the workflow's word. Nothing is guessed: what has no price is not called. */
import { LIMIT_RULES } from '../domain/money-rules.ts';
import { dollars, nanoOf } from '../domain/dollars.ts';
import type { CallEnd, CallOpening } from '../domain/model-call.ts';
import type { Judgement } from '../domain/model-outcome.ts';
import type { NanoUsd, Price, SpendingPolicy } from '../domain/money.ts';
import { costOf, estimateOf, isUnbilled, priceOf } from '../domain/pricing.ts';
import type { Estimate } from '../domain/pricing.ts';
import type { LimitLine, LimitScope } from '../ports/ledger.ts';
import type { CallSize } from '../ports/models.ts';
import type { EngineSettings } from './settings.ts';

/** Why a call is not made, and the sentence that is shown for it. */
export interface MoneyRefusal {
  judgement: Judgement;
  message: string;
}

export class CallMoney {
  readonly limits: { workflow: NanoUsd | null; day: NanoUsd | null };
  readonly #prices: readonly Price[];
  readonly #perCallUsd: number | null;
  readonly #now: () => number;

  constructor(
    { perDayUsd, perCallUsd }: SpendingPolicy,
    { prices, dayLimit }: Pick<EngineSettings, 'prices' | 'dayLimit'>,
    now: () => number,
  ) {
    this.limits = { workflow: perDayUsd === undefined ? null : nanoOf(perDayUsd), day: dayLimit };
    this.#prices = prices;
    this.#perCallUsd = perCallUsd ?? null;
    this.#now = now;
  }

  /** The most that it can cost, which is held for it. */
  estimateOf({ provider, requestedModel }: CallOpening, size: CallSize): NanoUsd | MoneyRefusal {
    const price = this.#priceOf(provider, requestedModel);
    const estimate = estimateOf(size, price, this.#perCallUsd);
    if (estimate.refused === undefined) return estimate.nano;
    const message = WAYS_OUT[estimate.refused](`${provider}/${requestedModel}`);
    return { judgement: { code: 'spending_limit', rule: estimate.refused }, message };
  }

  /** `none` where nothing can have been billed, null where nobody knows what was. */
  costOf({ provider, requestedModel }: CallOpening, end: CallEnd): NanoUsd | 'none' | null {
    if (end.unsent === true || isUnbilled(end.httpStatus)) return 'none';
    if (this.#perCallUsd === 0) return 0; // the most that it can have cost
    const price = this.#priceOf(provider, end.servedModel ?? requestedModel);
    return end.usage === null || price === null ? null : costOf(end.usage, price);
  }

  overLimit({ scope, limit, spent, reserved }: LimitLine, estimate: NanoUsd): MoneyRefusal {
    const message =
      `The next call could cost ${dollars(estimate)}, and ${WHOSE[scope]} has ${dollars(limit ?? 0)} for its calls: ` +
      `${dollars(spent)} are spent and ${dollars(reserved)} held. Raise the limit and replay the job.`;
    return { judgement: { code: 'spending_limit', rule: LIMIT_RULES[scope] }, message };
  }

  #priceOf(provider: string, model: string): Price | null {
    const day = new Date(this.#now()).toISOString().slice(0, 'yyyy-mm-dd'.length);
    return priceOf(this.#prices, provider, model, day);
  }
}

const WHOSE: Readonly<Record<LimitScope, string>> = {
  job: 'the job',
  workflow: 'its workflow today',
  day: 'the deployment today',
};

type RefusedEstimate = NonNullable<Estimate['refused']>;

const WAYS_OUT: Readonly<Record<RefusedEstimate, (model: string) => string>> = {
  'money/no_price': (model) =>
    `Nobody said what ${model} costs, so it is not called: give it a price in the price file (CLAIMCHECK_PRICES, read at the start), or the workflow a spending.perCallUsd, and replay the job.`,
  'money/no_maximum': (model) =>
    `Nobody said how much ${model} may write, so nobody knows what the call could cost: set maxOutputTokens in the call, max_output_tokens in the price file, or the workflow's spending.perCallUsd, and replay the job.`,
  'money/files': () =>
    'The prompt holds a file, and nobody can tell before what that costs: give the workflow a spending.perCallUsd and replay the job.',
  'money/unbounded': () =>
    'The provider may bill what is not in the prompt (by an option of the call, or a tool that it runs itself), and nobody can tell before how much: give the workflow a spending.perCallUsd and replay the job.',
};
