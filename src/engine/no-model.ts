import type { Model } from '../ports/model.ts';

/** Stands where no model was given: a workflow that asks it is told so, as a defect of the set-up. */
export const noModel: Model = {
  generate: () =>
    Promise.reject(
      new Error('this workflow calls `model`, and none was given: pass one to openClaimcheck({ model })'),
    ),
};
