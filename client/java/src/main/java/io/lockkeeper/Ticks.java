// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/** Time as nanoseconds since this class was loaded. Nobody can set it; on Linux it goes on while the machine sleeps. */
final class Ticks {
  static final long MILLISECOND = 1_000_000L;
  static final long SECOND = 1_000 * MILLISECOND;

  static final long BACKOFF_FIRST = 50 * MILLISECOND;
  static final long BACKOFF_MAX = SECOND;

  private static final long ORIGIN = System.nanoTime();
  private static final SleptTime SLEPT = SleptTime.ofThisMachine();

  private Ticks() {}

  static long now() {
    final long monotonic = System.nanoTime();
    return monotonic - ORIGIN + SLEPT.nanos(monotonic);
  }

  static Duration duration(long nanos) {
    return Duration.ofNanos(Math.max(0, nanos));
  }

  /** A random number in [0, 1). */
  static double jitter() {
    return ThreadLocalRandom.current().nextDouble();
  }

  /**
   * The delay after the failures-th failure in a row (1, 2, ...). It doubles up to max; jitter picks between half and all of it, so that
   * clients that failed together do not retry together.
   */
  static long backoff(int failures, long max, double jitter) {
    long delay = BACKOFF_FIRST;
    for (int i = 1; i < failures && delay < max; ++i) delay *= 2;
    delay = Math.min(delay, max);
    return delay / 2 + (long) (delay / 2 * jitter);
  }
}
