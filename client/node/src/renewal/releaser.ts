// SPDX-License-Identifier: Apache-2.0
//
// Releases leases, and retries until there is an answer.
import { isUnanswered, LockkeeperError } from '../errors';
import type { Daemons } from '../transport/daemons';
import { notReleasedReasonName } from '../transport/messages';
import type { Operation } from '../transport/operation';
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
  #pending = 0;
  #onIdle: (() => void)[] = [];

  constructor(daemons: Daemons, clock: Clock) {
    this.#daemons = daemons;
    this.#clock = clock;
  }

  /**
   * Retries until `giveUpAt`. Rejects with the error of the last attempt, or after `patience`: then it goes on in the background.
   */
  async release(name: string, leaseId: string, giveUpAt: number, patience = Infinity): Promise<ReleaseResult> {
    const isCrowded = ++this.#pending > PENDING_MAX;
    const begin = this.#clock.now();
    const daemon = this.#daemons.current;
    const first = await this.#daemons.runOnce(daemon, { release: { name, leaseId } }, Math.min(RELEASE_TRY_TIMEOUT, patience));
    if (!first.error || !isUnanswered(first.error) || isCrowded) {
      this.#over();
      return resultOf(first, false);
    }
    this.#daemons.failed(daemon, first.error);
    const repeated = this.#repeat(name, leaseId, giveUpAt, first.error).finally(() => this.#over());
    if (patience === Infinity) return repeated;
    const result = await within(patience - (this.#clock.now() - begin), repeated);
    if (result) return result;
    throw new LockkeeperError('the release was not answered in time; it is retried in the background', { code: 'DEADLINE_EXCEEDED' });
  }

  async #repeat(name: string, leaseId: string, giveUpAt: number, error: LockkeeperError): Promise<ReleaseResult> {
    for (let failures = 1; ; ++failures) {
      const delay = backoffDelay(failures);
      if (this.#clock.now() + delay >= giveUpAt) throw error;
      await sleep(delay);
      const daemon = this.#daemons.current;
      const attempt = await this.#daemons.runOnce(daemon, { release: { name, leaseId } }, RELEASE_TRY_TIMEOUT);
      if (!attempt.error || !isUnanswered(attempt.error)) return resultOf(attempt, true);
      error = attempt.error;
      this.#daemons.failed(daemon, error);
    }
  }

  #over(): void {
    if (--this.#pending > 0) return;
    for (const tell of this.#onIdle.splice(0)) tell();
  }

  /** Resolves when no release is in flight, after at most `ms`. */
  async idle(ms: number): Promise<void> {
    if (this.#pending > 0) await within(ms, new Promise<void>((resolve) => this.#onIdle.push(resolve)));
  }
}

function resultOf({ error, result }: Operation, isRepeat: boolean): ReleaseResult {
  if (error) throw error;
  if (result?.release?.released === true) return { released: true, reason: '' };
  const reason = notReleasedReasonName(result?.release?.reason ?? 0) as NotReleasedReason;
  // The attempt without an answer has released it.
  return reason === 'NOT_HOLDER' && isRepeat ? { released: true, reason: '' } : { released: false, reason };
}

/** The result of `promise`; null if there is none within `ms`. */
function within<T>(ms: number, promise: Promise<T>): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(null), Math.max(ms, 0));
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
