# SPDX-License-Identifier: Apache-2.0
"""The client for asyncio with a real daemon."""

import asyncio
import logging
import time
import unittest

from lockkeeper import Cancelled, LeaseLost, LossCause, NotAcquired
from lockkeeper.aio import Client

from .daemon import DaemonTest


class AioTest(DaemonTest, unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        logging.getLogger("asyncio").setLevel(logging.ERROR)  # Tests block their loop on purpose.
        self.client = Client(self.address)
        self.addAsyncCleanup(self.client.close)

    async def test_lock_is_held_in_the_block_and_free_after_it(self):
        async with self.client.lock(self.name, ttl=5) as lease:
            lease.check()
            self.assertIsNone(await self.client.acquire(self.name))
            with self.assertRaises(NotAcquired):
                async with self.client.lock(self.name):
                    pass
        self.assertFalse(lease.held)
        async with self.client.lock(self.name, ttl=5) as again:
            self.assertGreater(again.fencing_token, lease.fencing_token)
            self.assertTrue(await self.client.fence(self.name, again.fencing_token))

    async def test_tasks_take_turns(self):
        inside = []

        async def work():
            async with self.client.lock(self.name, ttl=5, wait=60):
                inside.append(1)
                self.assertEqual(len(inside), 1)
                await asyncio.sleep(0)
                inside.pop()

        await asyncio.gather(*(work() for _ in range(20)))

    async def test_cancelled_task_leaves_the_line(self):
        held = await self.client.require(self.name, ttl=30)
        task = asyncio.create_task(self.client.acquire(self.name, wait=60))
        await asyncio.sleep(0.3)  # likely in line; if not, the test is only easier
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        await held.release()
        await (await self.client.require(self.name, ttl=5, wait=10)).release()

    async def test_loss_cancels_the_block(self):
        with self.assertRaises(LeaseLost) as caught:
            async with self.client.lock(self.name, ttl=2) as lease:
                await self.client.release(self.name, lease.lease_id)
                await asyncio.sleep(30)
        self.assertIs(caught.exception.cause, LossCause.LEASE_LOST)
        await asyncio.sleep(0)  # the task itself is not cancelled

    async def test_cancelling_from_outside_stays_a_cancellation(self):
        async def work():
            async with self.client.lock(self.name, ttl=5):
                started.set()
                await asyncio.sleep(30)

        started = asyncio.Event()
        task = asyncio.create_task(work())
        await started.wait()
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        await (await self.client.require(self.name, ttl=5)).release()

    async def test_loss_can_be_awaited(self):
        lease = await self.client.require(self.name, ttl=2)
        await self.client.release(self.name, lease.lease_id)
        self.assertTrue(await asyncio.wait_for(lease.lost.wait(), 10))
        await lease.release()

    async def test_blocked_loop_keeps_its_lease(self):
        async with self.client.lock(self.name, ttl=1) as lease:
            time.sleep(2)  # blocks the loop for two ttls, but not the client's threads
            lease.check()
            self.assertTrue(
                await self.client.fence(self.name, lease.fencing_token, require_live_lease=True)
            )

    async def test_closed_client_says_so(self):
        await self.client.close()
        with self.assertRaises(Cancelled):
            await self.client.acquire(self.name)

    async def test_many_leases_in_one_loop(self):
        leases = await asyncio.gather(
            *(self.client.require(f"{self.name}/{i}", ttl=5) for i in range(300))
        )
        self.assertEqual(len({lease.lease_id for lease in leases}), 300)
        self.assertTrue(all(await asyncio.gather(*(lease.release() for lease in leases))))


if __name__ == "__main__":
    unittest.main()
