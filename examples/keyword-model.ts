/** A model that needs no provider, for the examples. Put one of the AI SDK's in its place: `openai('gpt-5')`. */
import { fakeModel } from 'claimcheck/testing';

export const keywordModel = fakeModel({
  mode: 'success',
  text(prompt) {
    const team = /invoice|refund|paid/i.test(prompt) ? 'billing' : 'other';
    const urgency = /today|urgent/i.test(prompt) ? 'high' : 'normal';
    return JSON.stringify({ team, urgency });
  },
});
