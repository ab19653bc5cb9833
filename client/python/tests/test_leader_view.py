# SPDX-License-Identifier: Apache-2.0
"""Who leads by what events and looks tell: the pure rules of an observer."""

import unittest

from lockkeeper import Leader
from lockkeeper._leader_view import LOOK_AGAIN_MIN, LOOK_EVERY, LeaderView


def lease(token, owner="somebody"):
    return Leader(token, owner, "")


NOTHING = lease(0, "")


class LeaderViewTest(unittest.TestCase):
    def setUp(self):
        self.view = LeaderView()

    def event(self, kind, token=0):
        """Whether to look."""
        return self.view.on_event(kind, lease(token))

    def look(self, state="", token=0, left=None):
        """Seconds until the next look."""
        self.view.look_sent()
        return self.view.on_look(state, lease(token) if token else NOTHING, left)

    def assert_told(self, token):
        """That this one leads is new; None: that nobody does."""
        self.assertTrue(self.view.take_change())
        self.assert_leads(token)

    def assert_leads(self, token):
        self.assertFalse(self.view.take_change())
        self.assertEqual(self.view.leader, None if token is None else lease(token))

    def lead(self, token):
        self.event("GRANTED", token)
        self.assert_told(token)

    def test_nothing_is_known_before_the_first_look(self):
        self.assertTrue(self.event("STARTED"))
        self.assertFalse(self.view.is_known)
        self.assert_leads(None)

    def test_first_look_is_told_also_if_nobody_leads(self):
        self.assertEqual(self.look(), LOOK_EVERY)
        self.assertTrue(self.view.is_known)
        self.assert_told(None)
        self.look()
        self.assert_leads(None)

    def test_first_look_tells_the_holder(self):
        self.assertEqual(self.look("HELD", 5), LOOK_EVERY)
        self.assert_told(5)

    def test_what_needs_a_look(self):
        self.lead(5)
        for kind in ("STARTED", "GAP", "QUARANTINE_ENDED", "", "OF_A_NEWER_DAEMON"):
            self.assertTrue(self.event(kind), kind)
        for kind in ("WAITING", "LEFT", "QUARANTINE_BEGAN"):
            self.assertFalse(self.event(kind, 9), kind)
        self.assert_leads(5)

    def test_what_has_no_token_needs_a_look(self):
        self.lead(5)
        for kind in ("GRANTED", "OFFERED", "EXTENDED", "RELEASED", "EXPIRED", "LOST", "FORCED",
                     "TAKEN_BACK"):  # fmt: skip
            self.assertTrue(self.event(kind, 0), kind)
        self.assert_leads(5)

    def test_granted_leads_and_is_told_once(self):
        self.assertFalse(self.event("GRANTED", 5))
        self.assert_told(5)
        self.assertFalse(self.event("GRANTED", 5))
        self.assert_leads(5)
        self.event("GRANTED", 6)
        self.assert_told(6)

    def test_a_grant_without_an_owner_is_looked_up(self):
        self.lead(5)
        self.assertTrue(self.view.on_event("GRANTED", Leader(6, "", "")))
        self.assert_leads(5)
        self.look("HELD", 6)
        self.assert_told(6)
        self.assertFalse(self.view.on_event("GRANTED", Leader(6, "", "")))

    def test_a_grant_overtakes_a_look_at_its_offer(self):
        self.lead(5)
        self.event("OFFERED", 6)
        self.assert_told(None)
        self.view.look_sent()
        self.event("GRANTED", 6)
        self.assertEqual(self.view.on_look("OFFERED", lease(6), None), 0)
        self.assert_told(6)

    def test_an_offer_has_no_leader_until_it_is_granted(self):
        self.lead(5)
        self.assertFalse(self.event("OFFERED", 6))
        self.assert_told(None)
        self.assertFalse(self.event("GRANTED", 6))
        self.assert_told(6)
        self.assertFalse(self.event("OFFERED", 6))
        self.assert_leads(6)

    def test_an_end_leaves_nobody_until_a_higher_token_is_granted(self):
        for token, kind in enumerate(("RELEASED", "EXPIRED", "TAKEN_BACK", "FORCED"), 5):
            self.lead(token)
            self.assertFalse(self.event(kind, token), kind)
            self.assert_told(None)
            self.event(kind, token)
            self.event("GRANTED", token)
            self.assert_leads(None)

    def test_an_end_by_force_tells_a_higher_token(self):
        self.lead(5)
        self.event("FORCED", 6)
        self.assert_told(None)
        self.event("GRANTED", 5)
        self.event("GRANTED", 6)
        self.assert_leads(None)
        self.lead(7)

    def test_an_end_that_comes_before_its_grant(self):
        self.lead(5)
        self.event("EXPIRED", 6)
        self.assert_told(None)
        self.event("GRANTED", 6)
        self.assert_leads(None)

    def test_a_lower_token_is_old(self):
        self.lead(5)
        for kind in ("GRANTED", "OFFERED", "EXTENDED", "RELEASED", "EXPIRED", "LOST", "FORCED",
                     "TAKEN_BACK"):  # fmt: skip
            self.assertFalse(self.event(kind, 4), kind)
        self.look("HELD", 4)
        self.assert_leads(5)

    def test_a_renewal_of_the_leader_says_nothing(self):
        self.lead(5)
        self.assertFalse(self.event("EXTENDED", 5))
        self.assert_leads(5)

    def test_a_renewal_of_another_lease_needs_a_look(self):
        self.lead(5)
        self.assertTrue(self.event("EXTENDED", 6))
        self.assert_leads(5)
        self.event("RELEASED", 5)
        self.assert_leads(5)  # It is old: the newer lease says so.
        self.look("HELD", 6)
        self.assert_told(6)

    def test_a_renewal_of_a_lease_that_was_not_proved_needs_a_look(self):
        self.look("UNPROVEN", 5, left=3)
        self.assertTrue(self.event("EXTENDED", 5))

    def test_a_refused_renewal_needs_a_look_and_its_token_is_not_believed(self):
        self.lead(5)
        self.assertTrue(self.event("LOST", 5))
        self.assertTrue(self.event("LOST", 2**53 - 1))
        self.assert_leads(5)
        self.look("HELD", 6)
        self.assert_told(6)
        self.lead(7)

    def test_no_lease_in_a_look_is_no_leader_whatever_the_token(self):
        for state, token in (("ENDED", 9), ("OFFERED", 9), ("ENDED", 3), ("OFFERED", 3), ("", 0)):
            self.view = LeaderView()
            self.lead(5)
            self.assertEqual(self.look(state, token), LOOK_EVERY)
            self.assert_told(None)

    def test_a_state_of_a_newer_daemon_is_no_leader(self):
        self.lead(5)
        self.look("", 5)
        self.assert_told(None)

    def test_an_old_grant_after_a_look_brings_no_leader_back(self):
        for state, token in (("ENDED", 5), ("ENDED", 7), ("", 0)):
            self.view = LeaderView()
            self.lead(5)
            self.look(state, token)
            self.assert_told(None)
            self.event("GRANTED", 5)
            self.event("GRANTED", token)
            self.assert_leads(None)
            self.lead(8)

    def test_an_offer_that_a_look_has_seen_may_be_granted(self):
        self.look("OFFERED", 5)
        self.assert_told(None)
        self.lead(5)

    def test_a_lease_that_came_back_leads_again(self):
        self.lead(5)
        self.event("EXPIRED", 5)
        self.assert_told(None)
        self.look("HELD", 5)
        self.assert_told(5)
        self.event("RELEASED", 5)
        self.assert_told(None)

    def test_a_look_from_before_a_newer_token_does_not_count(self):
        for kind, leads in (("GRANTED", 6), ("OFFERED", None), ("EXTENDED", 5), ("RELEASED", None)):
            self.view = LeaderView()
            self.lead(5)
            self.view.look_sent()
            self.event(kind, 6)
            self.view.take_change()
            self.assertEqual(self.view.on_look("ENDED", lease(5), None), 0.0, kind)
            self.assert_leads(leads)
            self.assertEqual(self.look("HELD", 7), LOOK_EVERY)
            self.assert_told(7)

    def test_a_look_from_before_the_end_of_the_lease_does_not_count(self):
        self.lead(5)
        self.view.look_sent()
        self.event("RELEASED", 5)
        self.assert_told(None)
        self.assertEqual(self.view.on_look("HELD", lease(5), None), 0.0)
        self.assert_leads(None)

    def test_what_is_old_or_says_nothing_does_not_spoil_a_look(self):
        self.lead(5)
        self.view.look_sent()
        for kind, token in (("GRANTED", 5), ("EXTENDED", 5), ("RELEASED", 4), ("LOST", 9),
                            ("WAITING", 0), ("GAP", 0)):  # fmt: skip
            self.event(kind, token)
        self.assertEqual(self.view.on_look("HELD", lease(6), None), LOOK_EVERY)
        self.assert_told(6)

    def test_unproven_keeps_the_leader_until_the_quarantine_is_over(self):
        self.lead(5)
        self.assertEqual(self.look("UNPROVEN", 5, left=4.0), 4.0)
        self.assertEqual(self.look("", 0, left=3.0), 3.0)
        self.assertEqual(self.look("ENDED", 5, left=2.0), 2.0)
        self.assertEqual(self.look("OFFERED", 6, left=1.0), 1.0)
        self.assertEqual(self.look("UNPROVEN", 5, left=60.0), LOOK_EVERY)
        self.assertEqual(self.look("UNPROVEN", 5, left=0.0), LOOK_AGAIN_MIN)
        self.assertEqual(self.look("UNPROVEN", 5), LOOK_EVERY)
        self.assert_leads(5)
        self.look("ENDED", 6)
        self.assert_told(None)

    def test_unproven_at_first_is_not_known(self):
        self.look("UNPROVEN", 5, left=4.0)
        self.assertFalse(self.view.is_known)
        self.assert_leads(None)
        self.look("HELD", 5, left=1.0)
        self.assert_told(5)

    def test_a_holder_in_a_quarantine_is_certain(self):
        self.assertEqual(self.look("HELD", 5, left=4.0), LOOK_EVERY)
        self.assert_told(5)


if __name__ == "__main__":
    unittest.main()
