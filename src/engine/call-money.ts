/** What a call may cost and did cost, by the operator's prices and the workflow's word. Nothing is guessed: what has no price is not called. */
import type { CallEnd, CallOpening } from '../domain/model-call.ts';
import type { Judgement } from '../domain/model-outcome.ts';
import type { NanoUsd, SpendingPolicy } from '../domain/money.ts';
import type { LimitLine } from '../ports/ledger.ts';
import type { CallSize } from '../ports/models.ts';
import type { EngineSettings } from './settings.ts';

export class CallMoney {
  constructor(_spending: SpendingPolicy, _settings: Pick<EngineSettings, 'prices' | 'dayLimit'>) {}
  get limits(): { workflow: NanoUsd | null; day: NanoUsd | null } {
    return { workflow: null, day: null };
  }
  estimateOf(_opening: CallOpening, _size: CallSize): NanoUsd | { judgement: Judgement; message: string } {
    return 0;
  }
  costOf(_opening: CallOpening, _end: CallEnd): NanoUsd | 'none' | null {
    return 0;
  }
  overLimit(_line: LimitLine): { judgement: Judgement; message: string } {
    return { judgement: { code: 'spending_limit', rule: 'money/over_limit' }, message: '' };
  }
}
