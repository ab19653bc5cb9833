// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

/**
 * The rules of "The end of a lease" in client/README.md as pure code: times come as arguments. Not thread-safe.
 */
final class LeaseLife {
  /** A heartbeat is not exact enough for shorter leases. */
  private static final long BEAT_TTL_MIN = Ticks.SECOND;

  private static final long BEAT_LAG_MAX = 50 * Ticks.MILLISECOND;

  enum Outcome {
    EXTENDED,
    /** The service says that the lease has ended. */
    ENDED,
    /** Changes nothing: the old end stands. */
    NO_ANSWER,
    /** Another error. */
    REFUSED
  }

  private final long ttl;
  private final long maxHold;
  private final long stopMargin;
  private long end;
  private long renewAt;
  private boolean asking;
  private boolean capped;
  private boolean lost;
  private int failures;

  LeaseLife(long ttl, long maxHold, long stopMargin, long sent, long remaining) {
    this.ttl = ttl;
    this.maxHold = maxHold;
    this.stopMargin = stopMargin;
    end = endOf(sent, remaining);
    // The lease of a repeated acquire may be old already. Then it is extended at once.
    renewAt = isCut(remaining) ? sent : sent + ttl / 3;
    capped = maxHold > 0 && maxHold <= ttl;
  }

  static long marginOf(long remaining) {
    return remaining / 100 + 50 * Ticks.MILLISECOND;
  }

  /** Counts from the moment at which the request was sent, never from its answer. */
  static long endOf(long sent, long remaining) {
    return sent + remaining - marginOf(remaining);
  }

  /** Leaves ttl/20 between the regular renewal and the loss. */
  static long stopMarginMax(long ttl) {
    return Math.max(0, ttl - marginOf(ttl) - ttl / 3 - ttl / 20);
  }

  private boolean isCut(long remaining) {
    return remaining < ttl - ttl / 10;
  }

  long ttl() {
    return ttl;
  }

  long lostAt() {
    return end - stopMargin;
  }

  boolean isAsking() {
    return asking;
  }

  boolean isCapped() {
    return capped;
  }

  boolean isLost() {
    return lost;
  }

  long renewAt() {
    return renewAt;
  }

  void renewAt(long at) {
    renewAt = at;
  }

  /** Whether the next thing due is a renewal; else it is the loss. */
  boolean renewsNext() {
    return !asking && !capped && renewAt < lostAt();
  }

  long nextAt() {
    return renewsNext() ? renewAt : lostAt();
  }

  /** Notes that a renewal is sent, and returns how long its answer may take. */
  long ask(long now) {
    asking = true;
    return Math.max(Ticks.MILLISECOND, (lostAt() - now) / 2);
  }

  void stopAsking() {
    asking = false;
  }

  /** Takes the answer of a renewal that was sent at `sent`. */
  void answer(long now, long sent, Outcome outcome, long remaining, double jitter) {
    asking = false;
    if (loseIfDue(now)) return;
    switch (outcome) {
      case EXTENDED -> {
        failures = 0;
        moveEnd(endOf(sent, remaining));
        capped = isCut(remaining);
        renewAt = sent + ttl / 3;
      }
      case ENDED -> {
        lost = true;
        end = Math.min(end, now);
      }
      case NO_ANSWER -> renewAt = now + Ticks.backoff(++failures, Math.min(Ticks.BACKOFF_MAX, ttl / 10), jitter);
      case REFUSED -> renewAt = now + ttl / 3;
    }
  }

  /** Whether a heartbeat may renew it: whether there is time for what a heartbeat takes longer than an extend. */
  boolean mayBeat() {
    return ttl >= BEAT_TTL_MIN && maxHold == 0 && ttl - marginOf(ttl) - stopMargin - ttl / 3 >= ttl / 10;
  }

  /**
   * How much later than an extend a heartbeat is due. The daemon extends what has less than two thirds of its ttl left by its own count,
   * which began a little later.
   */
  long beatLag() {
    return Math.min(BEAT_LAG_MAX, ttl / 30);
  }

  /** An extend never shortens. */
  void moveEnd(long to) {
    end = Math.max(end, to);
  }

  boolean loseIfDue(long now) {
    lost = lost || now >= lostAt();
    return lost;
  }

  long remaining(long now) {
    return Math.max(0, end - now);
  }
}
