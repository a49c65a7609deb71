/** Claimcheck for tests: a fake model, a fake provider, a clock that tests move, and the six cases for any workflow. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { openClaimcheck } from './main/claimcheck.ts';
import { sixCasesOn } from './testkit/six-cases.ts';
import type { Case, SixCasesOptions } from './testkit/six-cases.ts';

export { fakeModel } from './testkit/fake-model.ts';
export type { FakeModel, FakeReply } from './testkit/fake-model.ts';
export { startFakeProvider } from './testkit/fake-provider.ts';
export type { FakeProvider, ProviderCall, ProviderReply } from './testkit/fake-provider.ts';
export { manualClock } from './testkit/manual-clock.ts';
export type { ManualClock } from './testkit/manual-clock.ts';
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
