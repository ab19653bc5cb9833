// SPDX-License-Identifier: Apache-2.0
//
// A lease: the time-bounded right to a lock. While the client lives and the lease is not released, the client renews it.
import { LeaseLostError, type LossCause } from './errors';
import type { Assurance, ExtendOptions } from './options';
import type { KeptLease } from './renewal/kept_lease';
import type { ReleaseResult } from './renewal/releaser';

/** What another client needs to adopt a lease. The lease id is a credential: do not log it. */
export interface DetachedLease {
  name: string;
  leaseId: string;
  fencingToken: number;
  reassertion: string;
}

/** What the service said when it granted the lease. */
export interface Grant {
  ttl: number;
  waited: number;
  previousLeaseExpired: boolean;
  assurance: Assurance | 'UNSPECIFIED';
}

/** What a lease needs of its client. */
export interface LeaseOwner {
  now(): number;
  check(lease: KeptLease): void;
  leave(lease: KeptLease): void;
  extend(lease: KeptLease, ttl: number | undefined): Promise<void>;
  releaseHeld(lease: KeptLease): Promise<ReleaseResult>;
}

// The signal is the holder's eye on the clock: asked after a pause, it must not answer from before. Node's own only changes when told.
export function askClockFirst(signal: AbortSignal, check: () => void): void {
  const own = Object.getOwnPropertyDescriptor(AbortSignal.prototype, 'aborted')!.get!;
  Object.defineProperties(signal, {
    aborted: {
      get: () => {
        check();
        return own.call(signal) as boolean;
      },
    },
    throwIfAborted: {
      value: () => {
        if (signal.aborted) throw signal.reason;
      },
    },
  });
}

/**
 * One lease.
 *
 * Its end is counted from the moment at which the granted request was sent, less a margin of 1 % + 50 ms. It is renewed every third of its
 * ttl. A renewal without an answer leaves the end as it was. It counts as lost at its end (less `stopMargin`), or at once when the service
 * says that it has ended; it is never held again after that.
 *
 * What it cannot prevent: a paused process may act after the end before it looks. Only a resource that checks the fencing token prevents that.
 */
export class Lease {
  readonly name: string;
  /** Higher than that of every earlier grant of the lock. Send it along with every access to what the lock guards. */
  readonly fencingToken: number;
  /** Length of the lease as granted. */
  readonly ttl: number;
  /** Time that the acquire stood in line. */
  readonly waited: number;
  /** The lease before this one ended without a release: what the lock guards may be half done. */
  readonly previousLeaseExpired: boolean;
  /** What the store had confirmed. */
  readonly assurance: Assurance | 'UNSPECIFIED';
  readonly #owner: LeaseOwner;
  readonly #kept: KeptLease;
  #loss: AbortController | null = null;
  #released: Promise<ReleaseResult> | null = null;
  #detached = false;

  /** For the client. */
  constructor(owner: LeaseOwner, kept: KeptLease, grant: Grant) {
    this.name = kept.name;
    this.fencingToken = kept.fencingToken;
    this.ttl = grant.ttl;
    this.waited = grant.waited;
    this.previousLeaseExpired = grant.previousLeaseExpired;
    this.assurance = grant.assurance;
    this.#owner = owner;
    this.#kept = kept;
  }

  get fencingTokenBigInt(): bigint {
    return BigInt(this.fencingToken);
  }

  /** Credential of the lease: whoever knows it can extend and release. Do not log it. */
  get leaseId(): string {
    return this.#kept.leaseId;
  }

  /** The newest proof of the lease, for `adopt`; each renewal brings a new one. */
  get reassertion(): string {
    return this.#kept.reassertion;
  }

  /** Whether the lock may be used now. Looks at the clock. */
  get held(): boolean {
    this.#owner.check(this.#kept);
    return this.#kept.state === 'held';
  }

  /** Aborted when the lease is lost, before it ends, with a LeaseLostError. A released lease is never lost. */
  get lost(): AbortSignal {
    if (!this.#loss) {
      const loss = new AbortController();
      this.#loss = loss;
      askClockFirst(loss.signal, () => this.#owner.check(this.#kept));
      const tell = () => loss.abort(new LeaseLostError(this.name, this.#kept.lossCause!, this.#kept.lastError ?? undefined));
      if (this.#kept.lossCause) tell();
      else if (this.#kept.state === 'held') this.#kept.onLost = tell;
    }
    this.#owner.check(this.#kept);
    return this.#loss.signal;
  }

  /** Why the lease is lost; null if it is not. */
  get lossCause(): LossCause | null {
    this.#owner.check(this.#kept);
    return this.#kept.lossCause;
  }

  /** Time until the end of the lease. 0 once it is released, or once the service said that it has ended. */
  remaining(): number {
    return this.#kept.state === 'dropped' ? 0 : this.#kept.life.remaining(this.#owner.now());
  }

  /** Throws the LeaseLostError if the lease is lost, or an error if it is released. */
  throwIfLost(): void {
    this.lost.throwIfAborted();
    if (!this.held) throw new LeaseLostError(this.name, 'LEASE_LOST');
  }

  /**
   * Extends the lease at once, besides the regular renewals, which go on: to now + ttl, never shortening it. A ttl below the regular one
   * counts as that. Resolves to the remaining time. Throws LeaseLostError if it has ended; another error leaves the end as it was.
   */
  async extend({ ttl }: ExtendOptions = {}): Promise<number> {
    this.throwIfLost();
    await this.#owner.extend(this.#kept, ttl);
    this.throwIfLost();
    return this.remaining();
  }

  /**
   * Releases the lock. May be called again, and then answers the same. `released` false is a warning: `reason` says why. Rejects if there is
   * no answer within the client's releaseTimeout; the release then goes on in the background.
   */
  release(): Promise<ReleaseResult> {
    if (this.#detached) return Promise.resolve({ released: false, reason: 'NOT_HOLDER' });
    this.#released ??= this.#owner.releaseHeld(this.#kept);
    return this.#released;
  }

  /** Stops renewing without releasing, to hand the lease to another client (see Client.adopt). It lives for the rest of its ttl. */
  detach(): DetachedLease {
    this.throwIfLost();
    this.#detached = true;
    this.#owner.leave(this.#kept);
    const { name, leaseId, fencingToken, reassertion } = this.#kept;
    return { name, leaseId, fencingToken, reassertion };
  }

  /** `await using lease = …`: releases when the block is left, and never hides its error. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release().catch(() => {});
  }
}
