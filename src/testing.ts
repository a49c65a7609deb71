/** Claimcheck for tests: a fake model, a fake provider of models, a clock that tests move, and the six cases for any workflow. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { openClaimcheck } from './main/claimcheck.ts';
import { sixCasesOn } from './testkit/six-cases.ts';
import type { Case, SixCasesOptions } from './testkit/six-cases.ts';

export { fakeModel } from './testkit/fake-model.ts';
export type { FakeModel, FakeReply, FakeRequest, FakeText } from './testkit/fake-model.ts';
export { manualClock } from './testkit/manual-clock.ts';
export type { ManualClock } from './testkit/manual-clock.ts';
export type { ProviderCall } from './testkit/provider/calls.ts';
export type {
  ProviderAnswer,
  ProviderApi,
  ProviderFault,
  ProviderReply,
  ProviderToolCall,
  ProviderUsage,
} from './testkit/provider/replies.ts';
export { startFakeProvider } from './testkit/provider/server.ts';
export type { FakeProvider, FakeProviderOptions } from './testkit/provider/server.ts';
export type { Case, SixCasesOptions } from './testkit/six-cases.ts';

/**
 * The six cases for a workflow of your own, each on a real queue in a temporary directory, with a fake model:
 * `for (const one of sixCases({ workflow, input, validText })) test(one.name, one.run);`
 */
export function sixCases<InputSchema extends StandardSchemaV1, OutputSchema extends StandardSchemaV1>(
  options: SixCasesOptions<InputSchema, OutputSchema>,
): Case[] {
  return sixCasesOn(openClaimcheck, options);
}
