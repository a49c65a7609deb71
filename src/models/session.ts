/** One attempt's models: what `model` is in a workflow's `run`, what its streams failed with, and the repair of its last answer. */
import type { Judgement } from '../domain/model-outcome.ts';
import type { ValidationIssue } from '../domain/record.ts';
import type { CallDesk, LanguageModel, ModelSession, OpenModels, RecordedModels } from '../ports/models.ts';
import { Answers } from './answers.ts';
import type { CallRoom } from './calls.ts';
import { recorded, recordedAnswer } from './middleware.ts';
import { mending } from './repair.ts';

/** @param own what `model()` is without an argument; null where the process was given none */
export function modelsOver(own: LanguageModel | null): OpenModels {
  return (desk, signal) => new Session(own, desk, signal);
}

class Session implements ModelSession {
  readonly model: RecordedModels;
  readonly #room: CallRoom;
  readonly #answers = new Answers();
  #failure: Judgement | null = null;

  constructor(own: LanguageModel | null, desk: CallDesk, signal: () => AbortSignal) {
    this.#room = { desk, signal };
    this.model = (model = own ?? undefined, { account = 'default' } = {}) =>
      recorded(checked(model), {
        room: this.#room,
        account,
        answers: this.#answers,
        onStreamFailed: (judgement) => void (this.#failure ??= judgement),
      });
  }

  failure(): Judgement | null {
    return this.#failure;
  }

  async repair(issues: readonly ValidationIssue[]): Promise<boolean> {
    const last = this.#answers.last();
    const params = last === null ? null : mending(last, issues);
    if (last === null || params === null) return false;
    const kind = { account: last.account, streamed: false, repair: true };
    const answer = await recordedAnswer(this.#room, last.model, params, kind);
    this.#answers.rewind(answer);
    this.#failure = null;
    return true;
  }
}

const NONE =
  'this workflow calls `model()`, and none was given: pass one to openClaimcheck({ model }), export one as `model` beside the ' +
  'workflows, or hand one over: model(openai("..."))';

/** @throws TypeError where it is no model of the AI SDK's present form */
function checked(model: LanguageModel | undefined): LanguageModel {
  if (model === undefined) throw new TypeError(NONE);
  const { specificationVersion } = model as { specificationVersion?: unknown };
  if (specificationVersion === 'v3') return model;
  throw new TypeError(
    'model() takes a language model of the AI SDK, v6, such as openai("gpt-5"): what it was given ' +
      (typeof model === 'string' ? 'is a name' : `has specification version ${String(specificationVersion)}`),
  );
}
