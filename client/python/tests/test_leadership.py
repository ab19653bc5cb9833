# SPDX-License-Identifier: Apache-2.0
"""Leader election with a real daemon, by threads and by asyncio."""

import asyncio
import threading
import time
import unittest

from lockkeeper import Client, InvalidArgument, LeaseLost, LossCause, NotAcquired
from lockkeeper import aio

from .daemon import DaemonTest


class Told:
    """What a candidate was told."""

    def __init__(self):
        self.leases, self.losses, self.errors = [], [], []
        self.callbacks = {"on_lost": self.losses.append, "on_error": self.errors.append, "ttl": 5}

    @property
    def terms(self):
        return [lease.fencing_token for lease in self.leases]


class LeadershipTest(DaemonTest):
    def setUp(self):
        self.client = Client(self.address)
        self.addCleanup(self.client.close)

    def lead(self, work=None, **options):
        told = Told()

        def on_elected(lease):
            told.leases.append(lease)
            if work is not None:
                work(lease)

        return self.client.lead(self.name, on_elected, **(told.callbacks | options)), told

    def waiters(self):
        try:
            self.client.require(self.name).release()
        except NotAcquired as contention:
            return contention.contention.waiters
        return 0

    def test_next_in_line_takes_over_when_the_leader_resigns(self):
        first, told = self.lead()
        self.until(lambda: told.terms)
        self.assertTrue(first.is_leader)
        self.assertEqual(first.term, told.terms[0])
        second, told_second = self.lead()
        self.until(lambda: self.waiters() == 1)
        self.assertIsNone(second.term)
        first.resign()
        self.until(lambda: told_second.terms)
        self.assertFalse(told.leases[0].held)
        self.assertGreater(told_second.terms[0], told.terms[0])
        second.close()
        self.until(lambda: len(told.terms) == 2)  # It has campaigned again.
        first.close()
        self.assertEqual(told.losses + told.errors + told_second.losses + told_second.errors, [])
        self.client.require(self.name).release()

    def test_loss_is_told_and_terms_do_not_overlap(self):
        end_work = threading.Event()
        leadership, told = self.lead(lambda lease: end_work.wait(), ttl=1)
        self.until(lambda: told.terms)
        self.client.release(self.name, told.leases[0].lease_id)
        self.until(lambda: told.losses)
        self.assertIsInstance(told.losses[0], LeaseLost)
        self.assertIs(told.losses[0].cause, LossCause.LEASE_LOST)
        self.assertFalse(leadership.is_leader)
        self.client.require(self.name, wait=10).release()
        self.assertEqual(len(told.terms), 1)
        end_work.set()
        self.until(lambda: len(told.terms) == 2)
        leadership.close()
        self.assertEqual(told.errors, [])

    def test_who_fails_as_leader_resigns_and_tries_again_after_one_ttl(self):
        failing, told = self.lead(lambda lease: 1 / 0, ttl=3)
        self.until(lambda: told.errors)
        failed = time.monotonic()
        other, told_other = self.lead()
        self.until(lambda: told_other.terms)
        other.close()
        self.until(lambda: len(told.errors) == 2)
        self.assertGreater(time.monotonic() - failed, 2.5)
        failing.close()
        self.assertEqual([type(error) for error in told.errors], [ZeroDivisionError] * 2)
        self.assertEqual(told.losses, [])

    def test_work_that_the_end_of_its_term_stops_has_not_failed(self):
        def work(lease):
            while True:
                lease.check()
                time.sleep(0.01)  # between two looks

        leadership, told = self.lead(work)
        self.until(lambda: told.terms)
        leadership.resign()
        self.until(lambda: len(told.terms) == 2)
        leadership.close()
        self.assertEqual(told.errors, [])

    def test_errors_of_the_campaign_are_told_and_it_goes_on(self):
        told = Told()
        leadership = self.client.lead("x" * 513, told.leases.append, **told.callbacks)
        self.until(lambda: len(told.errors) >= 2)
        leadership.close()
        self.assertEqual({error.field for error in told.errors}, {"name"})
        with self.assertRaises(InvalidArgument):
            self.client.lead(self.name, print, wait=3)

    def test_closing_the_client_ends_terms_and_campaigns(self):
        with Client(self.address) as client:
            leads, waits = Told(), Told()
            client.lead(self.name, leads.leases.append, **leads.callbacks)
            self.until(lambda: leads.terms)
            client.lead(self.name, waits.leases.append, **waits.callbacks)
        self.assertFalse(leads.leases[0].held)
        self.client.require(self.name).release()
        self.assertEqual(leads.losses + leads.errors + waits.terms + waits.errors, [])

    def test_program_that_forgets_to_close_ends(self):
        said = self.run_program(
            "import sys, threading\n"
            "from lockkeeper import Client\n"
            "elected = threading.Event()\n"
            "client = Client(sys.argv[1])\n"
            "client.lead(sys.argv[2], lambda lease: elected.set())\n"
            "print(elected.wait(10))"
        )
        self.assertEqual(said, "True\n")
        self.client.require(self.name).release()


class AioLeadershipTest(DaemonTest, unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.client = aio.Client(self.address)
        self.addAsyncCleanup(self.client.close)

    def lead(self, work=None, **options):
        told = Told()

        async def on_elected(lease):
            told.leases.append(lease)
            if work is not None:
                await work()

        return self.client.lead(self.name, on_elected, **(told.callbacks | options)), told

    async def eventually(self, condition):
        async with asyncio.timeout(15):
            while not condition():
                await asyncio.sleep(0.01)  # between two looks

    async def test_next_in_line_takes_over_when_the_leader_resigns(self):
        cancelled = []

        async def work():
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.append(1)
                raise

        first, told = self.lead(work)
        await self.eventually(lambda: told.terms)
        self.assertEqual(first.term, told.terms[0])
        second, told_second = self.lead()
        while await self.waiters() != 1:
            await asyncio.sleep(0.01)  # between two looks
        await first.resign()
        await self.eventually(lambda: told_second.terms)
        self.assertEqual(cancelled, [1])
        self.assertGreater(told_second.terms[0], told.terms[0])
        await second.close()
        await self.eventually(lambda: len(told.terms) == 2)
        await first.close()
        self.assertEqual(told.losses + told.errors + told_second.losses + told_second.errors, [])
        await (await self.client.require(self.name)).release()

    async def waiters(self):
        try:
            await (await self.client.require(self.name)).release()
        except NotAcquired as contention:
            return contention.contention.waiters
        return 0

    async def test_loss_is_told_and_the_candidate_campaigns_again(self):
        leadership, told = self.lead(ttl=1)
        await self.eventually(lambda: told.terms)
        await self.client.release(self.name, told.leases[0].lease_id)
        await self.eventually(lambda: len(told.terms) == 2)
        self.assertEqual([loss.cause for loss in told.losses], [LossCause.LEASE_LOST])
        await leadership.close()

    async def test_who_fails_as_leader_resigns_and_tries_again_after_one_ttl(self):
        async def work():
            raise ZeroDivisionError

        failing, told = self.lead(work, ttl=3)
        await self.eventually(lambda: told.errors)
        failed = time.monotonic()
        other, told_other = self.lead()
        await self.eventually(lambda: told_other.terms)
        await other.close()
        await self.eventually(lambda: len(told.errors) == 2)
        self.assertGreater(time.monotonic() - failed, 2.5)
        await failing.close()

    async def test_closing_the_client_ends_terms_and_campaigns(self):
        async with aio.Client(self.address) as client:
            leads, waits = Told(), Told()

            async def work(lease):
                leads.leases.append(lease)
                await asyncio.sleep(60)

            client.lead(self.name, work, **leads.callbacks)
            await self.eventually(lambda: leads.terms)
            client.lead(self.name, work, **waits.callbacks)
        self.assertFalse(leads.leases[0].held)
        await (await self.client.require(self.name)).release()
        self.assertEqual(leads.losses + leads.errors + waits.errors, [])
