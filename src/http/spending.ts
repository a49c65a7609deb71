/** Routes about money: what was spent today, its limits, and what a call in doubt cost. */
import { accountJson } from '../domain/accounts.ts';
import { callJson } from '../domain/call-view.ts';
import { nanoOf } from '../domain/dollars.ts';
import type { NanoUsd } from '../domain/money.ts';
import { Call, Spending, SpendingLimit } from './answers.ts';
import { audit, endpoint, json } from './endpoint.ts';
import type { Endpoint } from './endpoint.ts';
import { problem } from './problems.ts';
import { SettleBody, SpendingLimitBody } from './schemas.ts';

const list = endpoint({
  method: 'get',
  path: '/spending',
  scope: 'spending',
  doc: {
    summary: 'What was spent today (UTC), what is held, and the limits',
    answers: {
      200: { description: 'The deployment’s account first, then those of workflows.', schema: Spending },
    },
    problems: [],
  },
  async handle({ caller }, { engine }) {
    return json({ accounts: (await engine.spending(caller)).map(accountJson) });
  },
});

const setLimit = endpoint({
  method: 'put',
  path: '/spending/limits',
  scope: 'spending',
  doc: {
    summary: 'Set what a workflow, or all of them together, may cost in a day; null lifts it',
    body: SpendingLimitBody,
    answers: { 200: { description: 'The account, as it is now.', schema: SpendingLimit } },
    problems: ['invalid_request', 'request_timeout', 'too_large', 'unsupported_media_type', 'storage_full'],
  },
  async handle({ c, caller, body }, surface) {
    const { scope, usd, reason } = body;
    const name = scope === 'workflow' ? body.name : null;
    const limit = usd === null ? null : amount(usd);
    const set = await surface.engine.setSpendingLimit(caller, { scope, name, limit, reason });
    if (!set.ok) return set;
    audit(c, surface, { scope, workflow: name, usd }, 'a spending limit was set');
    return json(accountJson(set.value));
  },
});

const settle = endpoint({
  method: 'post',
  path: '/ai-jobs/:id/calls/:n/settle',
  scope: 'spending',
  doc: {
    summary: 'Say what a call cost of which nobody knew it; what was held for it is let go',
    body: SettleBody,
    answers: { 200: { description: 'The call, as the record has it now.', schema: Call } },
    problems: [
      'invalid_request',
      'not_found',
      'call_not_unknown',
      'request_timeout',
      'too_large',
      'unsupported_media_type',
      'storage_full',
    ],
  },
  async handle({ c, caller, id, body }, surface) {
    const n = c.req.param('n') ?? '';
    if (!/^[1-9]\d{0,8}$/.test(n)) return problem('not_found', 'The job has no such call.');
    const said = { cost: amount(body.cost_usd), reason: body.reason };
    const settled = await surface.engine.settleCall(caller, id, Number(n), said);
    if (!settled.ok) return settled;
    audit(c, surface, { job_id: id, call: Number(n), usd: body.cost_usd }, 'the cost of a call was settled');
    return json(callJson(settled.value));
  },
});

export const spendingEndpoints: Endpoint[] = [list, setLimit, settle];

/** The schema has seen to it that it is one. */
function amount(usd: number): NanoUsd {
  const nano = nanoOf(usd);
  if (nano === null) throw new Error('an amount that was checked is none');
  return nano;
}
