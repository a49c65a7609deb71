/**
 * The one suite that every store has to pass. It brings no test runner: it is handed `describe` and `it`.
 *
 * Each case gets an empty store of its own, and a clock that only it moves.
 */
import { acceptingCases } from './store/accepting.ts';
import { callingCases } from './store/calling.ts';
import { claimingCases } from './store/claiming.ts';
import { decidingCases } from './store/deciding.ts';
import { evidenceCases } from './store/evidence.ts';
import { Fixture } from './store/fixture.ts';
import type { Case, Cases, OpenedStore } from './store/fixture.ts';
import { passingTimeCases } from './store/passing-time.ts';
import { readingCases } from './store/reading.ts';
import { reconcilingCases } from './store/reconciling.ts';
import { settlingCases } from './store/settling.ts';
import { spendingCases } from './store/spending.ts';
import { suspectsCases } from './store/suspects.ts';

export interface TestRunner {
  describe: (this: void, name: string, body: () => void) => void;
  it: (this: void, name: string, body: () => Promise<void>) => void;
}

const ROOMS: Readonly<Record<string, Cases>> = {
  accepting: acceptingCases,
  claiming: claimingCases,
  settling: settlingCases,
  deciding: decidingCases,
  'passing time': passingTimeCases,
  suspects: suspectsCases,
  reconciling: reconcilingCases,
  reading: readingCases,
  calling: callingCases,
  spending: spendingCases,
  evidence: evidenceCases,
};

/** @param open opens an empty store for one case */
export function storeSuite(
  name: string,
  open: () => Promise<OpenedStore>,
  { describe, it }: TestRunner,
): void {
  describe(name, () => {
    for (const [room, cases] of Object.entries(ROOMS)) {
      describe(room, () => {
        for (const [sentence, body] of Object.entries(cases)) it(sentence, () => run(open, body));
      });
    }
  });
}

async function run(open: () => Promise<OpenedStore>, body: Case): Promise<void> {
  const opened = await open();
  try {
    await body(new Fixture(opened));
  } finally {
    await opened.dispose();
  }
}
