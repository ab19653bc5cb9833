// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.lockkeeper.admin.v1.GetLockResponse;
import io.lockkeeper.admin.v1.Lock;
import io.lockkeeper.admin.v1.LockEvent;
import io.lockkeeper.admin.v1.LockState;
import org.jspecify.annotations.Nullable;

/**
 * The rules of "Observing a leader" in client/README.md: events and the answers of looks go in, and come out as who leads and when to look.
 * Pure: they take the time as an argument. Not thread-safe.
 */
final class LeaderRules {
  static final long LOOK_EVERY = 10 * Ticks.SECOND;

  /** How long the first look waits for the stream to start. A daemon says within 2 s that it has; a proxy may pass no stream on. */
  static final long START_TIMEOUT = 5 * Ticks.SECOND;

  static final long NEVER = Long.MAX_VALUE;

  private boolean known; // whether anybody leads
  private @Nullable Leader leader; // null: nobody
  private long token; // the highest that was seen
  private boolean ended; // the end of its lease was seen

  private long lookAt = NEVER;
  private boolean looking; // a look is in flight
  private boolean passed; // an event has overtaken it

  /** Null: nobody leads, or it is not known yet. */
  @Nullable Leader leader() {
    return leader;
  }

  /** When to look next. The answer to a look comes in time, or else its error does. */
  long lookAt() {
    return looking ? NEVER : lookAt;
  }

  /** A stream is opened. What was seen before stays true. */
  void begin(long now) {
    looking = false;
    lookAt = now + START_TIMEOUT;
  }

  boolean mustLook(long now) {
    return lookAt() <= now;
  }

  /** A look is sent. */
  void look(long now) {
    looking = true;
    passed = false;
    lookAt = now + LOOK_EVERY;
  }

  /** Takes an event of the stream. Returns whether what it says of the leader is new. */
  boolean event(long now, LockEvent event) {
    switch (event.getKind()) {
      case LOCK_EVENT_KIND_STARTED, LOCK_EVENT_KIND_GAP, LOCK_EVENT_KIND_QUARANTINE_ENDED -> {
        return lookNow(now);
      }
      case LOCK_EVENT_KIND_QUARANTINE_BEGAN, LOCK_EVENT_KIND_WAITING, LOCK_EVENT_KIND_LEFT -> {
        return false;
      }
      default -> {}
    }
    final long its = event.getFencingToken();
    if (its <= 0) return lookNow(now); // of which lease is not known
    if (its < token) return false;
    final boolean higher = its > token;
    return switch (event.getKind()) {
      case LOCK_EVENT_KIND_GRANTED -> (higher || !ended) && granted(now, new Leader(its, event.getOwner(), event.getPrincipal()));
      case LOCK_EVENT_KIND_OFFERED -> higher && offered(its);
      case LOCK_EVENT_KIND_RELEASED, LOCK_EVENT_KIND_EXPIRED, LOCK_EVENT_KIND_TAKEN_BACK, LOCK_EVENT_KIND_FORCED -> over(its);
      case LOCK_EVENT_KIND_EXTENDED -> !isLeading(its) && extended(now, its);
      default -> lookNow(now); // the token of a LOST counts for nothing: any client can have made it up
    };
  }

  private boolean lookNow(long now) {
    lookAt = now;
    return false;
  }

  private boolean isLeading(long its) {
    return leader != null && leader.fencingToken() == its;
  }

  private boolean granted(long now, Leader who) {
    raise(who.fencingToken());
    if (isLeading(who.fencingToken())) return false;
    passed = true; // a look may have seen its offer
    // Without an owner its daemon has not seen the acquire: the store knows.
    return who.owner().isEmpty() ? lookNow(now) : leads(who);
  }

  private boolean offered(long its) {
    raise(its);
    return leads(null);
  }

  private boolean over(long its) {
    raise(its);
    passed |= !ended;
    ended = true;
    return leads(null);
  }

  private boolean extended(long now, long its) {
    raise(its);
    return lookNow(now);
  }

  private void raise(long seen) {
    if (seen <= token) return;
    token = seen;
    ended = false;
    passed = true;
  }

  /** Takes the answer of the look in flight. Returns whether what it says of the leader is new. */
  boolean looked(long now, GetLockResponse said) {
    looking = false;
    if (passed) return lookNow(now);
    final Lock lock = said.getLock();
    final long its = lock.getFencingToken();
    final boolean held = lock.getState() == LockState.LOCK_STATE_HELD;
    if (held && its < token) return false; // the daemon reads from a store that is behind
    raise(its);
    if (held) {
      ended = false;
      return leads(new Leader(its, lock.getOwner(), lock.getPrincipal()));
    }
    if (said.hasQuarantineLeft()) {
      lookAt = Math.min(lookAt, now + Math.max(Ticks.BACKOFF_FIRST, Protos.nanos(said.getQuarantineLeft())));
      return false;
    }
    if (lock.getState() == LockState.LOCK_STATE_UNPROVEN) return false; // the end of the quarantine is told
    if (lock.getState() != LockState.LOCK_STATE_OFFERED || its < token) ended = true;
    return leads(null);
  }

  /** Returns whether it is new. */
  private boolean leads(@Nullable Leader who) {
    if (known && (who == null ? leader == null : isLeading(who.fencingToken()))) return false;
    known = true;
    leader = who;
    return true;
  }
}
