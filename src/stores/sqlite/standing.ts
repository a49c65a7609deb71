/**
 * Claims of idle workers of this process. They ride along with an enqueue: what it brings is leased in the same transaction, and
 * the one sync of the disk is for both. A transaction is synchronous, so a claim is either made and told of, or still waits.
 */
import type { NewRequest } from '../../domain/accept.ts';
import type { Claimed, ClaimParams, StandingClaim } from '../../ports/job-store.ts';
import type { Claiming, Claims } from './claim.ts';
import type { Connection } from './connection.ts';
import { asStoreError } from './errors.ts';

interface Waiting {
  params: ClaimParams;
  resolve: (claimed: Claimed) => void;
}

export class StandingClaims {
  readonly #connection: Connection;
  readonly #claims: Claims;
  readonly #waiting = new Set<Waiting>();

  constructor(connection: Connection, claims: Claims) {
    this.#connection = connection;
    this.#claims = claims;
  }

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
  ride(requests: readonly NewRequest[]): () => void {
    const made: [Waiting, Claiming][] = [];
    for (const waiting of this.#waiting) {
      if (!wants(waiting.params, requests)) continue;
      const claiming = this.#make(waiting.params);
      if (claiming !== null) made.push([waiting, claiming]);
    }
    return () => {
      for (const [waiting, claiming] of made) {
        this.#waiting.delete(waiting);
        waiting.resolve(this.#claims.told(claiming, waiting.params));
      }
    };
  }

  /** Null where it brings nothing, or has a fault of its own: an enqueue is not to suffer from it, and the worker finds it soon enough. */
  #make(params: ClaimParams): Claiming | null {
    let claiming: Claiming | null = null;
    const isMade = this.#connection.attempt(() => {
      try {
        claiming = this.#claims.claim(params);
        return broughtAny(claiming);
      } catch (error) {
        if (asStoreError(error) !== error) throw error;
        return false;
      }
    });
    return isMade ? claiming : null;
  }
}

function broughtAny({ lost, taken, moved }: Claiming): boolean {
  return lost || taken.length > 0 || moved.length > 0;
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
