// SPDX-License-Identifier: Apache-2.0
//
// Releases leases, and retries until there is an answer.
import { isUnanswered } from '../errors';
import type { Daemons } from '../transport/daemons';
import { notReleasedReasonName } from '../transport/messages';
import { sleep } from '../transport/sleep';
import { backoffDelay } from './backoff';
import type { Clock } from './clock';

const RELEASE_TRY_TIMEOUT = 1_000;
// Beyond so many releases in flight another one is tried once only.
const PENDING_MAX = 10_000;

/** Why a release freed nothing. Empty if it did. */
export type NotReleasedReason = '' | 'EXPIRED' | 'NOT_HOLDER' | 'WAITER_REMOVED';

export interface ReleaseResult {
  /** Whether the lease held the lock until this release. */
  released: boolean;
  /** EXPIRED: the lease had ended before, so that its holder may have worked unprotected. */
  reason: NotReleasedReason;
}

export class Releaser {
  readonly #daemons: Daemons;
  readonly #clock: Clock;
  readonly #pending = new Set<Promise<unknown>>();

  constructor(daemons: Daemons, clock: Clock) {
    this.#daemons = daemons;
    this.#clock = clock;
  }

  /** Retries until `giveUpAt`. Then it rejects with the last error. */
  release(name: string, leaseId: string, giveUpAt: number): Promise<ReleaseResult> {
    const released = this.#release(name, leaseId, this.#pending.size < PENDING_MAX ? giveUpAt : 0);
    this.#pending.add(released);
    const over = () => this.#pending.delete(released);
    released.then(over, over);
    return released;
  }

  async #release(name: string, leaseId: string, giveUpAt: number): Promise<ReleaseResult> {
    for (let failures = 0; ; ) {
      const daemon = this.#daemons.current;
      const { error, result } = await this.#daemons.runOnce(daemon, { release: { name, leaseId } }, RELEASE_TRY_TIMEOUT);
      if (!error) {
        const released = result?.release?.released === true;
        const reason = released ? '' : notReleasedReasonName(result?.release?.reason ?? 0) as NotReleasedReason;
        // The attempt without an answer has released it.
        return reason === 'NOT_HOLDER' && failures > 0 ? { released: true, reason: '' } : { released, reason };
      }
      if (!isUnanswered(error)) throw error;
      this.#daemons.failed(daemon, error);
      const delay = backoffDelay(++failures);
      if (this.#clock.now() + delay >= giveUpAt) throw error;
      await sleep(delay);
    }
  }

  /** Resolves when no release is in flight. */
  async idle(): Promise<void> {
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending);
  }
}
