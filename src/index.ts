/** Claimcheck: a queue for AI work. */
export { openClaimcheck, ClaimcheckError } from './main/claimcheck.ts';
export type {
  Claimcheck,
  ClaimcheckOptions,
  EnqueueOptions,
  JobLimits,
  LocalWorker,
  ReplayOptions,
  TicketJson,
} from './main/claimcheck.ts';
export { defineWorkflow } from './engine/define.ts';
export type { InputFile, RunContext, WorkflowDefinition } from './engine/workflow.ts';
export type { EngineSettings } from './engine/settings.ts';
export {
  IncompleteOutputError,
  InvalidInputError,
  InvalidRequestError,
  MalformedOutputError,
  OutputTooLargeError,
  RefusedError,
  RetryableError,
  SpendingLimitError,
} from './domain/thrown.ts';
export { AttemptEndedError } from './engine/ending.ts';
export type { JsonValue } from './domain/json.ts';
export type { ErrorCode } from './domain/failures.ts';
export type {
  ArtifactJson,
  BriefJson,
  DecisionJson,
  EventJson,
  RecordJson,
  StatusJson,
} from './domain/view.ts';
export type { LimitPolicy, RequestedLimits } from './domain/policy.ts';
export type { DoubtfulCall, Reconcile } from './engine/doubts.ts';
export type { ModelPrice } from './main/prices.ts';
export type { CallJson, SpendingJson } from './domain/call-view.ts';
export type { Scope } from './domain/scopes.ts';
export type { Status, ValidationIssue } from './domain/record.ts';
export type { LanguageModel, ModelOptions, RecordedModels } from './ports/models.ts';
export type { SpendingPolicy } from './domain/money.ts';
export type { Log } from './ports/telemetry.ts';
export type { Clock } from './ports/clock.ts';
