// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

/**
 * The rules of "The end of a lease" in client/README.md as pure code: times come as arguments. Not thread-safe.
 */
final class LeaseLife {
  /** What a heartbeat's answer may be off by. */
  static final long BEAT_TOLERANCE = 10 * Ticks.MILLISECOND;

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

  /**
   * What a lease has left after a heartbeat that does not name it, counted from when the heartbeat was sent. The server may have found that
   * it had enough, so it need not be more.
   */
  static long beatGives(long ttl) {
    return ttl * 2 / 3 - BEAT_TOLERANCE;
  }

  /** Whether a heartbeat may renew it: whether the end that one gives leaves time for the next one before the loss. */
  boolean mayBeat() {
    final long left = beatGives(ttl);
    return maxHold == 0 && left - marginOf(left) - stopMargin - ttl / 3 >= ttl / 20;
  }

  /** Takes the answer of a heartbeat that does not name the lease. */
  void beaten(long now, long sent) {
    asking = false;
    if (loseIfDue(now)) return;
    failures = 0;
    moveEnd(endOf(sent, beatGives(ttl)));
    renewAt = sent + ttl / 3;
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
