# SPDX-License-Identifier: Apache-2.0
"""When leases are renewed and lost, and calls repeated: the pure rules, in virtual time."""

import unittest

from lockkeeper import LossCause, Reason
from lockkeeper._rules import (
    Due,
    Extended,
    LeaseLife,
    RetryRule,
    SessionEnd,
    SessionPolicy,
    backoff,
    lease_end,
    stop_margin_max,
)
from lockkeeper.errors import service_error

UNAVAILABLE = service_error("UNAVAILABLE", "away", Reason.STORE_UNAVAILABLE)


def life(ttl=30.0, max_hold=0.0, stop_margin=0.0, sent=100.0, remaining=None):
    return LeaseLife(ttl, max_hold, stop_margin, sent, ttl if remaining is None else remaining)


class LeaseLifeTest(unittest.TestCase):
    def test_end_is_counted_from_the_sending_with_a_margin(self):
        self.assertAlmostEqual(lease_end(100.0, 30.0), 100.0 + 30.0 - 0.3 - 0.05)
        self.assertAlmostEqual(life(stop_margin=2.0).lost_at, 129.65 - 2.0)

    def test_renewed_after_a_third_of_the_ttl(self):
        self.assertEqual(life().next(), (Due.EXTEND, 110.0))

    def test_old_lease_of_a_repeated_acquire_is_extended_at_once(self):
        self.assertEqual(life(remaining=20.0).next(), (Due.EXTEND, 100.0))

    def test_an_extend_waits_for_half_of_the_time_that_is_left(self):
        lease = life()
        self.assertAlmostEqual(lease.extend_sent(110.0), (129.65 - 110.0) / 2)
        self.assertEqual(lease.next()[0], Due.LOSE)

    def test_an_extend_moves_the_end_from_its_sending(self):
        lease = life()
        lease.extend_sent(110.0)
        lease.extend_answered(112.0, 110.0, Extended.YES, 30.0, 0.5)
        self.assertAlmostEqual(lease.end, 139.65)
        self.assertEqual(lease.next(), (Due.EXTEND, 120.0))

    def test_an_extend_never_shortens(self):
        lease = life()
        lease.extend_sent(110.0)
        lease.extend_answered(110.1, 110.0, Extended.YES, 1.0, 0.5)
        self.assertAlmostEqual(lease.end, 129.65)

    def test_a_missing_answer_leaves_the_old_end_and_is_repeated_soon(self):
        lease = life()
        lease.extend_sent(110.0)
        lease.extend_answered(119.0, 110.0, Extended.NO_ANSWER, 0.0, 1.0, UNAVAILABLE)
        self.assertAlmostEqual(lease.end, 129.65)
        due, at = lease.next()
        self.assertIs(due, Due.EXTEND)
        self.assertAlmostEqual(at, 119.05)

    def test_another_error_waits_for_the_next_regular_time(self):
        lease = life()
        lease.extend_sent(110.0)
        lease.extend_answered(111.0, 110.0, Extended.REFUSED, 0.0, 1.0, UNAVAILABLE)
        self.assertEqual(lease.next(), (Due.EXTEND, 121.0))

    def test_lease_lost_is_lost_at_once_and_for_good(self):
        lease = life()
        lease.extend_sent(110.0)
        lease.extend_answered(111.0, 110.0, Extended.LOST, 0.0, 1.0)
        self.assertIs(lease.cause, LossCause.LEASE_LOST)
        self.assertEqual(lease.remaining(111.0), 0.0)
        lease.extend_answered(112.0, 111.0, Extended.YES, 30.0, 1.0)
        self.assertIs(lease.cause, LossCause.LEASE_LOST)

    def test_an_answer_after_the_end_is_ignored(self):
        lease = life()
        lease.extend_sent(129.0)
        lease.extend_answered(129.7, 129.0, Extended.YES, 30.0, 1.0)
        self.assertIsNotNone(lease.cause)
        self.assertAlmostEqual(lease.end, 129.65)

    def test_causes_of_a_loss_in_time(self):
        paused = life()
        self.assertTrue(paused.lose_if_due(200.0))
        self.assertIs(paused.cause, LossCause.PAUSED)
        failed = life()
        failed.extend_answered(120.0, 110.0, Extended.NO_ANSWER, 0.0, 1.0, UNAVAILABLE)
        self.assertTrue(failed.lose_if_due(129.65))
        self.assertIs(failed.cause, LossCause.RENEWALS_FAILED)

    def test_a_lease_at_its_max_hold_is_not_renewed_any_more(self):
        lease = life(max_hold=40.0)
        lease.extend_sent(110.0)
        lease.extend_answered(110.1, 110.0, Extended.YES, 25.0, 1.0)
        due, at = lease.next()
        self.assertIs(due, Due.LOSE)
        lease.lose_if_due(at)
        self.assertIs(lease.cause, LossCause.MAX_HOLD)
        self.assertIs(life(max_hold=30.0).next()[0], Due.LOSE)

    def test_a_heartbeat_that_did_not_extend_is_followed_by_an_extend(self):
        lease = life()
        lease.extend_sent(110.0)
        lease.ask_again(110.1)
        self.assertEqual(lease.next(), (Due.EXTEND, 110.1))
        self.assertAlmostEqual(lease.end, 129.65)

    def test_stop_margin_leaves_a_twentieth_of_the_ttl(self):
        self.assertAlmostEqual(stop_margin_max(30.0), 30.0 - 0.35 - 10.0 - 1.5)
        self.assertEqual(stop_margin_max(0.05), 0.0)


class RetryRuleTest(unittest.TestCase):
    def test_delays_double_from_50_ms_to_1_s(self):
        self.assertEqual([backoff(n, 1.0, 1.0) for n in (1, 2, 3, 9)], [0.05, 0.1, 0.2, 1.0])
        self.assertEqual(backoff(10_000, 1.0, 0.0), 0.5)

    def test_all_addresses_are_tried_before_a_delay(self):
        rule = RetryRule(10.0, 3, lambda: 1.0)
        delays = [rule.delay_after(UNAVAILABLE, 0.0, 0.1) for _ in range(6)]
        self.assertEqual(delays, [0.0, 0.0, 0.05, 0.0, 0.0, 0.1])

    def test_a_delay_of_the_server_is_kept(self):
        rule = RetryRule(10.0, 1, lambda: 1.0)
        asked = service_error("UNAVAILABLE", "wait", Reason.STORE_QUARANTINED, retry_delay=3.0)
        self.assertEqual(rule.delay_after(asked, 0.0, 0.1), 3.0)
        self.assertIsNone(rule.delay_after(asked, 0.0, 7.5))

    def test_what_cannot_pass_is_not_repeated(self):
        rule = RetryRule(10.0, 1, lambda: 1.0)
        for code in ("INVALID_ARGUMENT", "PERMISSION_DENIED", "DATA_LOSS", "CANCELLED"):
            self.assertIsNone(rule.delay_after(service_error(code, "no"), 0.0, 0.1), code)
        limit = service_error("RESOURCE_EXHAUSTED", "later", Reason.RATE_LIMIT)
        self.assertIsNotNone(rule.delay_after(limit, 0.0, 0.1))

    def test_a_long_wait_in_line_starts_the_delays_anew(self):
        rule = RetryRule(100.0, 1, lambda: 1.0)
        for _ in range(5):
            rule.delay_after(UNAVAILABLE, 0.0, 0.1)
        self.assertEqual(rule.delay_after(UNAVAILABLE, 0.0, 5.0), 0.05)

    def test_an_attempt_waits_at_most_three_seconds(self):
        rule = RetryRule(10.0, 1, lambda: 1.0)
        self.assertEqual(rule.try_timeout(0.0), 3.0)
        self.assertEqual(rule.try_timeout(9.0), 1.0)


class SessionPolicyTest(unittest.TestCase):
    def test_a_server_without_sessions_is_asked_again_after_five_minutes(self):
        policy = SessionPolicy()
        policy.ended(SessionEnd.UNSUPPORTED, 10.0, 1.0)
        self.assertFalse(policy.may_open(309.0))
        self.assertTrue(policy.may_open(310.0))
        self.assertFalse(policy.may_wait)

    def test_three_short_sessions_in_a_row_are_a_proxy(self):
        policy = SessionPolicy()
        for now in (10.0, 11.0, 12.0):
            self.assertTrue(policy.may_open(now))
            policy.opened(now)
            policy.ended(SessionEnd.CUT, now + 0.5, 1.0)
        self.assertFalse(policy.may_open(72.0))
        self.assertTrue(policy.may_open(72.5))

    def test_a_long_session_ends_the_row(self):
        policy = SessionPolicy()
        for now, lasted in ((0.0, 1.0), (2.0, 1.0), (4.0, 20.0), (30.0, 1.0)):
            policy.opened(now)
            policy.ended(SessionEnd.CUT, now + lasted, 1.0)
        self.assertTrue(policy.may_open(31.0))
