// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import org.junit.jupiter.api.Test;

class SleptTimeTest {
  private long monotonic = 7 * Ticks.SECOND;
  private long uptime = 1_000 * Ticks.SECOND;
  private int reads;
  private boolean fails;
  private final SleptTime slept =
      new SleptTime(
          () -> monotonic,
          () -> {
            ++reads;
            if (fails) throw new IOException("gone");
            return uptime;
          });

  private void pass(long awake, long asleep) {
    monotonic += awake;
    uptime += awake + asleep;
  }

  private long nanos() {
    return slept.nanos(monotonic);
  }

  @Test
  void sleepIsCounted() {
    pass(Ticks.SECOND, 0);
    assertEquals(0, nanos());
    pass(SleptTime.READ_EVERY, 3_600 * Ticks.SECOND);
    assertEquals(3_600 * Ticks.SECOND, nanos());
    pass(Ticks.SECOND, 5 * Ticks.SECOND);
    assertEquals(3_605 * Ticks.SECOND, nanos());
  }

  @Test
  void theCoarseClockIsNoSleep() {
    pass(Ticks.SECOND, SleptTime.NOISE);
    assertEquals(0, nanos());
    pass(Ticks.SECOND, 5 * Ticks.SECOND);
    final long known = nanos();
    pass(Ticks.SECOND, -SleptTime.NOISE);
    assertEquals(known, nanos(), "it never goes back");
  }

  @Test
  void isReadNowAndThenOnly() {
    pass(Ticks.SECOND, 0);
    for (int i = 0; i < 1_000; ++i) nanos();
    assertEquals(2, reads);
    pass(SleptTime.READ_EVERY, 0);
    nanos();
    assertEquals(3, reads);
  }

  @Test
  void pauseBetweenTheClocksIsNoSleep() {
    final SleptTime paused =
        new SleptTime(
            () -> monotonic,
            () -> {
              if (++reads == 3) pass(10 * Ticks.SECOND, 0);
              return uptime;
            });
    pass(Ticks.SECOND, 0);
    assertEquals(0, paused.nanos(monotonic));
    assertTrue(reads > 3, "it was read again");
  }

  @Test
  void clocksThatNeverStandTogetherSayNothing() {
    final boolean[] isSlow = {true};
    final SleptTime paused =
        new SleptTime(
            () -> monotonic,
            () -> {
              final long told = uptime;
              if (isSlow[0]) pass(10 * Ticks.SECOND, 0);
              return told;
            });
    pass(Ticks.SECOND, 0);
    assertEquals(0, paused.nanos(monotonic));
    isSlow[0] = false;
    pass(Ticks.SECOND, 0);
    assertEquals(0, paused.nanos(monotonic), "from now on it is known");
    pass(Ticks.SECOND, 3 * Ticks.SECOND);
    assertEquals(3 * Ticks.SECOND, paused.nanos(monotonic));
  }

  @Test
  void withoutTheFileNothingHasSlept() {
    fails = true;
    pass(Ticks.SECOND, Ticks.SECOND);
    assertEquals(0, nanos());
    fails = false;
    pass(Ticks.SECOND, Ticks.SECOND);
    assertEquals(0, nanos());
  }

  @Test
  void thisMachineIsAwake() {
    final SleptTime machine = SleptTime.ofThisMachine();
    assertEquals(0, machine.nanos(System.nanoTime() + Ticks.SECOND), 2.0 * SleptTime.NOISE);
  }
}
