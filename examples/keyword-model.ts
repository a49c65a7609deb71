/** A model is any object with `generate`. This one needs no provider; put a client of yours in its place. */
import type { Model } from 'claimcheck';

export const keywordModel: Model = {
  async generate({ prompt }, { signal }) {
    signal.throwIfAborted();
    const team = /invoice|refund|paid/i.test(prompt) ? 'billing' : 'other';
    const urgency = /today|urgent/i.test(prompt) ? 'high' : 'normal';
    return {
      text: JSON.stringify({ team, urgency }),
      finishReason: 'stop',
      provider: 'example',
      model: 'keywords',
      usage: null,
    };
  },
};
