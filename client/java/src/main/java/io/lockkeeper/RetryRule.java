// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

/** Whether a call is tried again, and when. Not thread-safe. */
final class RetryRule {
  /** Longest wait for the answer to one attempt, without its wait in line. */
  static final long TRY_TIMEOUT = 3 * Ticks.SECOND;

  private final long deadline;
  private final int addresses;
  private int failures;

  RetryRule(long deadline, int addresses) {
    this.deadline = deadline;
    this.addresses = addresses;
  }

  long tryTimeout(long now) {
    return Math.max(Ticks.MILLISECOND, Math.min(deadline - now, TRY_TIMEOUT));
  }

  /**
   * The delay before the next attempt, after one that began at `began` and failed; -1: there is none. The next address is tried at once
   * until all were tried. The delays begin again after an attempt that lasted long, as in line: a long delay could cost it its place.
   */
  long delayAfter(LockException error, long began, long now) {
    if (!error.mayPass()) return -1;
    if (now - began > Ticks.BACKOFF_MAX) failures = 0;
    ++failures;
    long delay = 0;
    if (failures % addresses == 0) delay = Ticks.backoff(failures / addresses, Ticks.BACKOFF_MAX, Ticks.jitter());
    delay = Math.max(delay, error.retryDelay().toNanos());
    return now + delay < deadline ? delay : -1;
  }
}
