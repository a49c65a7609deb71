/** A smoke check: the calls that a file pins, one after the other, as far as its spending limit pays for them. */
import type { NanoUsd } from '../domain/money.ts';
import type { SmokePins } from '../domain/smoke/pins.ts';
import { reportOf } from '../domain/smoke/report.ts';
import type { SmokeCall, SmokeReport, SmokeRun } from '../domain/smoke/report.ts';
import { smokeCall } from './smoke-call.ts';
import { loadProvider } from './smoke-provider.ts';

export interface SmokeParts {
  pins: SmokePins;
  /** Null where the server takes none. */
  apiKey: string | null;
  /** Of Claimcheck and of Node. */
  versions: Readonly<Record<string, string>>;
  /** The report as it stands after each call. */
  onCall: (report: SmokeReport) => Promise<void>;
}

/** Never throws for what a provider does: that is in the report. */
export async function runSmoke({ pins, apiKey, versions, onCall }: SmokeParts): Promise<SmokeReport> {
  const provider = await loadProvider(pins, apiKey);
  const calls: SmokeCall[] = [];
  const run: SmokeRun = {
    startedAt: Date.now(),
    endedAt: null,
    secrets: apiKey === null ? [] : [apiKey],
    versions: { ...versions, sdk: provider.sdk },
    held: 0,
    spent: 0,
    stopped: null,
  };
  while (calls.length < pins.calls) {
    if (wouldPass(pins, run)) {
      run.stopped = 'spending_limit';
      break;
    }
    const call = await smokeCall(pins, provider, calls.length + 1);
    calls.push(call);
    run.spent += call.cost ?? 0;
    run.held += call.cost === null ? pins.estimate : 0;
    await onCall(reportOf(pins, calls, run));
  }
  run.endedAt = Date.now();
  return reportOf(pins, calls, run);
}

/** What nobody knows the cost of counts as the most that it can be. */
function wouldPass({ estimate, spendingLimit }: SmokePins, run: { spent: NanoUsd; held: NanoUsd }): boolean {
  return run.spent + run.held + estimate > spendingLimit;
}
