/**
 * Claims of idle workers of this process. They ride along with an enqueue: what it brings is leased in the same transaction, and
 * the one sync of the disk is for both. A transaction is synchronous, so a claim is either made and told of, or still waits.
 */
import type { NewRequest } from '../../domain/accept.ts';
import type { Claimed, ClaimParams, StandingClaim } from '../../ports/job-store.ts';

interface Waiting {
  params: ClaimParams;
  resolve: (claimed: Claimed) => void;
}

export class StandingClaims {
  readonly #waiting = new Set<Waiting>();

  add(params: ClaimParams): StandingClaim {
    let waiting: Waiting | null = null;
    const claimed = new Promise<Claimed>((resolve) => {
      waiting = { params, resolve };
      this.#waiting.add(waiting);
    });
    return { claimed, withdraw: () => waiting !== null && this.#waiting.delete(waiting) };
  }

  /**
   * Makes those claims, within a transaction, that want something of what it has written.
   *
   * @returns what tells of them, once it is committed
   */
  ride(requests: readonly NewRequest[], claim: (params: ClaimParams) => Claimed): () => void {
    const made: (Waiting & { claimed: Claimed })[] = [];
    for (const waiting of this.#waiting) {
      if (!wants(waiting.params, requests)) continue;
      const claimed = claim(waiting.params);
      if (claimed.lost || claimed.moved.length > 0) made.push(Object.assign(waiting, { claimed }));
    }
    return () => {
      for (const waiting of made) {
        this.#waiting.delete(waiting);
        waiting.resolve(waiting.claimed);
      }
    };
  }
}

function wants({ lanes }: ClaimParams, requests: readonly NewRequest[]): boolean {
  return requests.some(({ jobs }) =>
    jobs.some(({ workflow, workflowVersion, outputSchemaSha256 }) =>
      lanes.some(
        (lane) =>
          lane.workflow === workflow &&
          lane.version === workflowVersion &&
          lane.outputSchemaSha256 === outputSchemaSha256,
      ),
    ),
  );
}
