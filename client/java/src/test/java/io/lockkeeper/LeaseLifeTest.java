// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class LeaseLifeTest {
  private static final long TTL = 10 * Ticks.SECOND;

  private static LeaseLife lease(long stopMargin) {
    return new LeaseLife(TTL, 0, stopMargin, 0, TTL);
  }

  @Test
  void endIsCountedFromTheSendingWithAMargin() {
    final LeaseLife life = new LeaseLife(TTL, 0, 0, 5 * Ticks.SECOND, TTL);
    assertEquals(5 * Ticks.SECOND + TTL - 150 * Ticks.MILLISECOND, life.lostAt());
    assertTrue(life.renewsNext());
    assertEquals(5 * Ticks.SECOND + TTL / 3, life.nextAt());
  }

  @Test
  void stopMarginLeavesATwentiethOfTheTtl() {
    final LeaseLife life = lease(LeaseLife.stopMarginMax(TTL));
    assertEquals(TTL / 20, life.lostAt() - life.renewAt(), 2);
  }

  @Test
  void lostComesBeforeTheEndByTheStopMargin() {
    final LeaseLife life = lease(2 * Ticks.SECOND);
    final long end = TTL - 150 * Ticks.MILLISECOND;
    assertFalse(life.loseIfDue(end - 2 * Ticks.SECOND - 1));
    assertTrue(life.loseIfDue(end - 2 * Ticks.SECOND));
    assertTrue(life.loseIfDue(0), "lost is final");
  }

  @Test
  void extendWithoutAnAnswerChangesNothing() {
    final LeaseLife life = lease(0);
    final long before = life.lostAt();
    assertEquals((before - 4 * Ticks.SECOND) / 2, life.ask(4 * Ticks.SECOND));
    life.answer(5 * Ticks.SECOND, 4 * Ticks.SECOND, LeaseLife.Outcome.NO_ANSWER, 0, 1);
    assertEquals(before, life.lostAt());
    assertTrue(life.renewAt() <= 5 * Ticks.SECOND + Ticks.BACKOFF_MAX);
  }

  @Test
  void aLateAnswerIsIgnored() {
    final LeaseLife life = lease(0);
    life.ask(9 * Ticks.SECOND);
    life.answer(TTL, 9 * Ticks.SECOND, LeaseLife.Outcome.EXTENDED, TTL, 0);
    assertTrue(life.isLost());
  }

  @Test
  void anExtendNeverShortensAndALeaseAtItsMaxHoldIsNotRenewed() {
    final LeaseLife life = lease(0);
    final long before = life.lostAt();
    life.ask(Ticks.SECOND);
    life.answer(2 * Ticks.SECOND, Ticks.SECOND, LeaseLife.Outcome.EXTENDED, Ticks.SECOND, 0);
    assertEquals(before, life.lostAt());
    assertTrue(life.isCapped());
    assertFalse(life.renewsNext());
  }

  @Test
  void aHeartbeatRenewsOnlyWhatHasTimeForIt() {
    assertTrue(lease(0).mayBeat());
    assertTrue(lease(5 * Ticks.SECOND).mayBeat());
    assertFalse(lease(LeaseLife.stopMarginMax(TTL)).mayBeat());
    assertFalse(new LeaseLife(TTL, 3600 * Ticks.SECOND, 0, 0, TTL).mayBeat(), "a max_hold cuts what it gives");
    assertFalse(new LeaseLife(Ticks.SECOND / 2, 0, 0, 0, Ticks.SECOND / 2).mayBeat());
  }

  @Test
  void anOldGrantIsRenewedAtOnce() {
    assertEquals(Ticks.SECOND, new LeaseLife(TTL, 0, 0, Ticks.SECOND, TTL / 2).nextAt());
  }

  @Test
  void backoffDoublesUpToItsLimit() {
    assertEquals(25 * Ticks.MILLISECOND, Ticks.backoff(1, Ticks.BACKOFF_MAX, 0));
    assertEquals(100 * Ticks.MILLISECOND, Ticks.backoff(2, Ticks.BACKOFF_MAX, 1));
    assertEquals(Ticks.SECOND, Ticks.backoff(60, Ticks.BACKOFF_MAX, 1));
  }

  @Test
  void streamsThatAreCutSoonAreLeftAlone() {
    final SessionPolicy policy = new SessionPolicy();
    for (int i = 1; i <= SessionPolicy.SHORT_MAX; ++i) {
      assertTrue(policy.mayOpen(i * Ticks.SECOND));
      policy.opened(i * Ticks.SECOND);
      policy.ended(SessionPolicy.End.CUT, (i + 1) * Ticks.SECOND, 0);
    }
    final long last = (SessionPolicy.SHORT_MAX + 1) * Ticks.SECOND;
    assertFalse(policy.mayOpen(last + SessionPolicy.PAUSE_AFTER_CUTS - 1));
    assertTrue(policy.mayOpen(last + SessionPolicy.PAUSE_AFTER_CUTS));
    assertFalse(policy.mayWait());
  }

  @Test
  void allAddressesAreTriedBeforeItWaits() {
    final RetryRule rule = new RetryRule(10 * Ticks.SECOND, 2);
    final LockException away = LockException.unavailable("", "away");
    assertEquals(0, rule.delayAfter(away, 0, 1));
    assertTrue(rule.delayAfter(away, 0, 1) > 0);
    assertEquals(-1, rule.delayAfter(LockException.invalid("name", "is empty"), 0, 1));
  }
}
