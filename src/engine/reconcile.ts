/**
 * What a worker does after calls that were not answered. A claim may have been carried out all the same, and then its
 * session holds leases that nobody runs; a database that came back may be an older one, which thinks that attempts are
 * under way that have ended, and knows nothing of others. So before the worker claims again, it tells the store which
 * tokens it holds: all other leases of its session are released, and attempts whose lease is no more are ended.
 *
 * Claims are one after the other, and none is under way while this is asked, so no lease is on its way to the worker.
 */
import type { JobStore } from '../ports/job-store.ts';
import type { Announce } from './announce.ts';
import type { Slots } from './slots.ts';

export interface Reconciler {
  /** The number of the claim that is made next. */
  nextSerial(): number;
  /** A call was not answered. */
  doubt(): void;
  isInDoubt(): boolean;
  /** Asks where there is a doubt; it stays where this call is not answered either. */
  settle(session: string): Promise<void>;
}

export interface ReconcilerDeps {
  store: JobStore;
  announce: Announce;
  slots: Slots;
  onLost: (session: string) => void;
}

export function createReconciler({ store, announce, slots, onLost }: ReconcilerDeps): Reconciler {
  let serial = 0;
  let inDoubt = false;

  async function ask(session: string): Promise<void> {
    const { lost, gone, moved } = await store.reconcile({ session, serial, held: slots.tokens() });
    if (lost) onLost(session);
    announce(moved);
    slots.end(new Set(gone), 'revoked');
  }

  return {
    nextSerial: () => (serial += 1),
    doubt() {
      inDoubt = true;
    },
    isInDoubt: () => inDoubt,
    async settle(session) {
      if (!inDoubt) return;
      inDoubt = false;
      await ask(session).catch((error: unknown) => {
        inDoubt = true;
        throw error;
      });
    },
  };
}
