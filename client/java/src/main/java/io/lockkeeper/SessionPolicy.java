// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

/** Decides whether to open a session to a daemon. Pure: times come as arguments. Not thread-safe. */
final class SessionPolicy {
  /** Some proxies forward nothing of a stream until it has ended. */
  static final long OPEN_TIMEOUT = 2 * Ticks.SECOND;

  /** A stream that lived so long was of use, even if it was cut then. */
  static final long LIFE_MIN = 10 * Ticks.SECOND;

  /** After so many shorter ones in a row, streams count as cut here. */
  static final int SHORT_MAX = 3;

  static final long PAUSE_AFTER_CUTS = 60 * Ticks.SECOND;
  static final long PAUSE_UNSUPPORTED = 300 * Ticks.SECOND;
  static final long PAUSE_NOT_OPENED_MAX = 60 * Ticks.SECOND;

  enum End {
    /** The server, or a proxy, does not know the rpc. */
    UNSUPPORTED,
    NOT_OPENED,
    /** It was open, and ended without our doing. */
    CUT,
    /** We closed it. */
    RETIRED
  }

  private long nextAt = Long.MIN_VALUE;
  private long openedAt;
  private int failures;
  private int shortInARow;

  boolean mayOpen(long now) {
    return now >= nextAt;
  }

  /** Whether operations may wait for the opening. Otherwise they go by unary calls until the session is open. */
  boolean mayWait() {
    return failures == 0;
  }

  void opened(long now) {
    openedAt = now;
    failures = 0;
  }

  void ended(End how, long now, double jitter) {
    switch (how) {
      case UNSUPPORTED -> {
        ++failures;
        nextAt = now + PAUSE_UNSUPPORTED;
      }
      case NOT_OPENED -> nextAt = now + Ticks.backoff(++failures, PAUSE_NOT_OPENED_MAX, jitter);
      case CUT -> {
        if (now - openedAt >= LIFE_MIN) {
          shortInARow = 0;
        } else if (++shortInARow >= SHORT_MAX) {
          ++failures;
          nextAt = now + PAUSE_AFTER_CUTS;
        }
      }
      case RETIRED -> {}
    }
  }
}
