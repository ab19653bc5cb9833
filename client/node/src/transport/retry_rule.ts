// SPDX-License-Identifier: Apache-2.0
//
// Whether a call is sent again, and after what delay. One rule for all calls that somebody waits for.
import { isUnanswered, type LockkeeperError } from '../errors';
import { backoffDelay, BACKOFF_MAX } from '../renewal/backoff';

/** Longest wait for the answer to one attempt, so that a daemon that hangs does not use up the whole call. */
export const TRY_TIMEOUT = 3_000;

export class RetryRule {
  readonly #deadline: number;
  readonly #addresses: number;
  #failures = 0;

  constructor(deadline: number, addresses: number) {
    this.#deadline = deadline;
    this.#addresses = addresses;
  }

  /** How long an attempt at `now` may take, without its wait in line. */
  tryTimeout(now: number): number {
    return Math.max(Math.min(this.#deadline - now, TRY_TIMEOUT), 1);
  }

  /**
   * The delay before the retry of an attempt that began at `began`. Null if there is none. The next address is tried without delay until
   * all were tried. The delays start again from the first after an attempt that lasted long, as in line: a long delay could cost it its place.
   */
  delayAfter(error: LockkeeperError, began: number, now: number): number | null {
    if (!isUnanswered(error) && error.reason !== 'RATE_LIMIT') return null;
    if (now - began > BACKOFF_MAX) this.#failures = 0;
    ++this.#failures;
    let delay = this.#failures % this.#addresses === 0 ? backoffDelay(this.#failures / this.#addresses) : 0;
    if (error.retryDelay !== undefined) delay = Math.max(delay, error.retryDelay);
    return now + delay >= this.#deadline ? null : delay;
  }
}
