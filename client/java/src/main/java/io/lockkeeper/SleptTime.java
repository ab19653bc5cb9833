// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.util.function.LongSupplier;

/**
 * How long the machine has slept since this object was made, in nanoseconds: Java's own clock stands still meanwhile. Linux tells in
 * /proc/uptime, to 10 ms. Reading it takes some 10 µs, and is done at most every 5 ms. Elsewhere it is always 0. Thread-safe.
 */
final class SleptTime {
  /** Nanoseconds since the machine was started, with those that it slept. */
  interface Uptime {
    long nanos() throws IOException;
  }

  static final long READ_EVERY = 5 * Ticks.MILLISECOND;
  static final long NOISE = 25 * Ticks.MILLISECOND;

  private static final long UNKNOWN = Long.MIN_VALUE;

  private final LongSupplier monotonic;
  private final Uptime uptime;
  private volatile long slept;
  private volatile long readAt; // Written after `slept`, which it says to be as of then.
  private long base = UNKNOWN; // What the uptime is ahead of the clock while the machine has not slept.
  private volatile boolean isGone;

  SleptTime(LongSupplier monotonic, Uptime uptime) {
    this.monotonic = monotonic;
    this.uptime = uptime;
    read();
  }

  static SleptTime ofThisMachine() {
    try {
      return new SleptTime(System::nanoTime, uptimeOfLinux());
    } catch (IOException | SecurityException none) {
      return new SleptTime(System::nanoTime, () -> { throw new IOException(none); });
    }
  }

  /** As of the reading `now` of the clock. */
  long nanos(long now) {
    if (isGone || now - readAt < READ_EVERY) return slept;
    synchronized (this) {
      if (now - readAt >= READ_EVERY) read();
    }
    return slept;
  }

  private void read() {
    try {
      final long ahead = ahead();
      if (base == UNKNOWN) base = ahead;
      if (ahead != UNKNOWN && ahead - base > slept + NOISE) slept = ahead - base;
    } catch (IOException gone) {
      isGone = true;
    }
    readAt = monotonic.getAsLong();
  }

  /** Unknown if the thread was paused between the two clocks each time: the difference says nothing. */
  private long ahead() throws IOException {
    for (int tries = 0; tries < 3; ++tries) {
      final long before = monotonic.getAsLong();
      final long ahead = uptime.nanos() - before;
      if (monotonic.getAsLong() - before <= Ticks.MILLISECOND) return ahead;
    }
    return UNKNOWN;
  }

  private static Uptime uptimeOfLinux() throws IOException {
    final RandomAccessFile file = new RandomAccessFile("/proc/uptime", "r");
    final byte[] bytes = new byte[64];
    return () -> {
      file.seek(0);
      final int length = Math.max(0, file.read(bytes));
      final String[] numbers = new String(bytes, 0, length, StandardCharsets.US_ASCII).trim().split(" ");
      // gVisor has no idle time, and an uptime that follows the wall clock, which may be set.
      if (numbers.length != 2 || numbers[1].equals("0.00")) throw new IOException("not the uptime of Linux");
      try {
        return (long) (Double.parseDouble(numbers[0]) * Ticks.SECOND);
      } catch (NumberFormatException unknown) {
        throw new IOException(unknown);
      }
    };
  }
}
