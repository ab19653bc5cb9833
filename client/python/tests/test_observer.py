# SPDX-License-Identifier: Apache-2.0
"""Observers of both clients: with a daemon that says what the test tells it, and with a real one.
What they make of each event is in test_leader_view.py and in the conformance suite."""

import asyncio
import logging
import queue
import tempfile
import threading
import time
import unittest
from unittest import mock

import grpc
from lockkeeper import Cancelled, Client, InvalidArgument, Leader, PermissionDenied, Unavailable
from lockkeeper import _observer, aio

from .daemon import DaemonTest
from .fake_admin import LIMIT, FakeAdmin


def threads_of_observers():
    names = ("lockkeeper-observe", "lockkeeper-watch")
    return [each for each in threading.enumerate() if each.name.startswith(names)]


class Told:
    """What on_change and on_error were told, and whether at the same time."""

    def __init__(self):
        self.leaders, self.errors = queue.Queue(), queue.Queue()
        self._running = threading.Lock()

    def on_change(self, leader):
        assert self._running.acquire(blocking=False), "told at the same time"
        self.leaders.put(leader and leader.fencing_token)
        self._running.release()

    def next(self):
        return self.leaders.get(timeout=LIMIT)

    def error(self):
        return self.errors.get(timeout=LIMIT)


class ObserverTest(unittest.TestCase):
    def setUp(self):
        self.first, self.second = FakeAdmin(), FakeAdmin()
        self.addCleanup(self.first.stop)
        self.addCleanup(self.second.stop)
        self.client = Client(self.first.address, self.second.address, use_sessions=False)
        self.addCleanup(self.assert_nothing_is_left)
        self.addCleanup(self.client.close)
        self.told = Told()

    def observe(self, **options):
        options = {"on_error": self.told.errors.put} | options
        return self.client.observe("job", self.told.on_change, **options)

    def until(self, condition):
        end = time.monotonic() + LIMIT
        while not condition():
            self.assertLess(time.monotonic(), end, threads_of_observers())
            time.sleep(0.01)  # between two looks

    def assert_nothing_is_left(self):
        self.until(lambda: not threads_of_observers())

    def test_leader_is_told_in_order_and_kept(self):
        observer = self.observe()
        self.assertIsNone(observer.leader)
        watch = self.first.watch()
        self.assertEqual(watch.name, "job")
        watch.start()
        self.first.look().held(5, "me")
        self.assertEqual(self.told.next(), 5)
        self.assertEqual(observer.leader, Leader(5, "me", ""))
        watch.tell(("RELEASED", 5), ("GRANTED", 6), ("RELEASED", 6), ("GRANTED", 7, "you"))
        self.assertEqual([self.told.next() for _ in range(4)], [None, 6, None, 7])
        self.assertEqual(observer.leader, Leader(7, "you", ""))
        self.assertTrue(self.told.errors.empty())

    def test_end_of_the_stream_goes_on_at_the_next_address(self):
        observer = self.observe()
        watch = self.first.watch()
        watch.start()
        self.first.look().held(5)
        self.assertEqual(self.told.next(), 5)
        watch.end()
        self.assertIsInstance(self.told.error(), Unavailable)
        watch = self.second.watch()
        self.assertEqual(observer.leader.fencing_token, 5)
        watch.start()
        self.second.look().held(6)
        self.assertEqual(self.told.next(), 6)
        watch.end(grpc.StatusCode.PERMISSION_DENIED)
        self.assertIsInstance(self.told.error(), PermissionDenied)
        self.first.watch().start()
        self.first.look().nobody()
        self.assertIsNone(self.told.next())

    def test_look_that_fails_is_an_error_of_the_connection(self):
        self.observe()
        watch = self.first.watch()
        watch.start()
        self.first.look().fail(grpc.StatusCode.UNAVAILABLE)
        self.assertIsInstance(self.told.error(), Unavailable)
        self.assertTrue(watch.gone.wait(LIMIT))
        self.second.watch().start()
        self.second.look().held(5)
        self.assertEqual(self.told.next(), 5)

    def test_look_that_is_late_is_an_error_of_the_connection(self):
        with mock.patch.object(_observer, "TRY_TIMEOUT", 0.2):
            self.observe()
            self.first.watch().start()
            look = self.first.look()
            self.assertEqual(self.told.error().code, "DEADLINE_EXCEEDED")
            self.assertTrue(look.gone.wait(LIMIT))
            self.second.watch()

    def test_watch_that_does_not_start_is_looked_behind(self):
        with mock.patch.object(_observer, "_START_TIMEOUT", 0.2):
            self.observe()
            watch = self.first.watch()
            self.first.look().held(5)
            self.assertEqual(self.told.next(), 5)
            watch.start()
            self.first.look().held(6)
            self.assertEqual(self.told.next(), 6)

    def test_delays_grow_until_a_look_is_answered(self):
        delays = []
        real = _observer.Pause
        pause = lambda core, delay: delays.append(delay) or real(core, delay)  # noqa: E731
        with mock.patch.object(_observer, "Pause", pause):
            self.observe()
            for daemon, answer in ((self.first, None), (self.second, None), (self.first, "error"),
                                   (self.second, "error"), (self.first, "look")):  # fmt: skip
                watch = daemon.watch()
                if answer is None:
                    watch.end(grpc.StatusCode.UNAVAILABLE)
                else:
                    watch.start()
                    look = daemon.look()
                    look.nobody() if answer == "look" else look.fail(grpc.StatusCode.UNAVAILABLE)
                    if answer == "look":
                        self.told.next()
                        watch.end()
                self.told.error()
            self.second.watch()
        for delay, longest in zip(delays, (0.05, 0.1, 0.2, 0.4, 0.05), strict=True):
            self.assertTrue(longest / 2 <= delay <= longest, delays)

    def test_address_where_nobody_listens_is_passed_over(self):
        self.first.stop()
        self.observe()
        self.assertIsInstance(self.told.error(), Unavailable)
        self.second.watch().start()
        self.second.look().held(5)
        self.assertEqual(self.told.next(), 5)

    def test_errors_do_not_move_the_calls_of_the_client(self):
        self.observe()
        self.first.watch().end(grpc.StatusCode.PERMISSION_DENIED)
        self.told.error()
        self.second.watch()
        self.assertEqual(self.client._core().daemons.current, 0)

    def test_what_on_change_raises_is_told_and_the_observer_goes_on(self):
        failed = []

        def fail_once(leader):
            self.told.on_change(leader)
            if not failed:
                failed.append(1)
                raise ZeroDivisionError

        self.client.observe("job", fail_once, on_error=self.told.errors.put)
        watch = self.first.watch()
        watch.start()
        self.first.look().held(5)
        self.assertEqual(self.told.next(), 5)
        self.assertIsInstance(self.told.error(), ZeroDivisionError)
        watch.tell(("RELEASED", 5))
        self.assertIsNone(self.told.next())

    def test_errors_go_to_the_log_if_nobody_hears_them_or_if_on_error_fails(self):
        with self.assertLogs("lockkeeper") as logged:
            self.observe(on_error=None)
            self.first.watch().end()
            self.second.watch()
            self.client.observe("other", on_error=lambda error: 1 / 0)
            self.first.watch().end()
            self.second.watch()
        self.assertIn("observer of 'job'", logged.output[0])
        self.assertIn("on_error of the observer of 'other' failed", logged.output[1])

    def test_slow_on_change_holds_the_stream_up_and_gets_all_in_order(self):
        go_on = threading.Event()
        begun = threading.Event()

        def slow(leader):
            begun.set()
            go_on.wait(LIMIT)
            self.told.on_change(leader)

        inboxes = []
        real = _observer.Inbox
        inbox = lambda core: inboxes.append(real(core)) or inboxes[-1]  # noqa: E731
        with mock.patch.object(_observer, "Inbox", inbox):
            self.client.observe("job", slow, on_error=self.told.errors.put)
            watch = self.first.watch()
        watch.start()
        self.first.look().nobody()
        begun.wait(LIMIT)
        for token in range(1, 300):
            watch.tell(("GRANTED", token))
        self.until(lambda: len(inboxes[0]._items) >= _observer._UNREAD_MAX)
        self.assertEqual(len(inboxes[0]._items), _observer._UNREAD_MAX)
        go_on.set()
        self.assertEqual([self.told.next() for _ in range(300)], [None, *range(1, 300)])

    def test_close_ends_the_stream_and_tells_nothing_more(self):
        observer = self.observe()
        watch = self.first.watch()
        watch.start()
        self.first.look().held(5)
        self.told.next()
        observer.close()
        observer.close()
        self.assertTrue(watch.gone.wait(LIMIT))
        self.assertEqual(observer.leader.fencing_token, 5)
        self.assert_nothing_is_left()
        self.assertTrue(self.told.errors.empty() and self.told.leaders.empty())

    def test_close_before_the_watch_has_started(self):
        observer = self.observe()
        watch = self.first.watch()
        observer.close()
        self.assertTrue(watch.gone.wait(LIMIT))
        self.assert_nothing_is_left()
        self.assertTrue(self.told.errors.empty())

    def test_close_during_a_look(self):
        observer = self.observe()
        self.first.watch().start()
        look = self.first.look()
        observer.close()
        self.assertTrue(look.gone.wait(LIMIT))
        self.assert_nothing_is_left()
        self.assertTrue(self.told.errors.empty())

    def test_close_during_a_delay(self):
        with mock.patch.object(_observer, "backoff", lambda *_: 60.0):
            observer = self.observe()
            self.first.watch().end()
            self.told.error()
            observer.close()
            self.assert_nothing_is_left()

    def test_close_by_on_change_and_by_on_error(self):
        closed = threading.Event()
        observers = []

        def close(_):
            observers[0].close()
            closed.set()

        for options in ({"on_change": close}, {"on_error": close}):
            closed.clear()
            observers[:] = [self.client.observe("job", **options)]
            watch = self.first.watch()
            watch.start()
            look = self.first.look()
            look.nobody() if "on_change" in options else look.fail(grpc.StatusCode.UNAVAILABLE)
            self.assertTrue(closed.wait(LIMIT))
            self.assertTrue(watch.gone.wait(LIMIT))
            self.assert_nothing_is_left()

    def test_closing_the_client_ends_observers(self):
        self.observe()
        watch = self.first.watch()
        watch.start()
        self.first.look()
        self.client.close()
        self.assertTrue(watch.gone.wait(LIMIT))
        self.assert_nothing_is_left()
        self.assertTrue(self.told.errors.empty())
        with self.assertRaises(Cancelled):
            self.observe()

    def test_child_after_fork_knows_no_leader_and_leaves_the_stream_alone(self):
        observer = self.observe()
        watch = self.first.watch()
        watch.start()
        self.first.look().held(5)
        self.assertEqual(self.told.next(), 5)
        core = self.client._core()
        with mock.patch.object(core, "forked", True):  # What a child sees of it.
            self.assertIsNone(observer.leader)
            observer.close()
        self.assertEqual(observer.leader.fencing_token, 5)
        watch.tell(("GRANTED", 6))
        self.assertEqual(self.told.next(), 6)
        observer._end.cancel()

    def test_name_is_checked_at_once(self):
        for name in (7, "\ud800"):
            with self.assertRaises(InvalidArgument):
                self.client.observe(name)

    def test_watch_and_look_carry_the_token(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("secret\n")
            file.flush()
            with Client(self.first.address, token_file=file.name) as client:
                client.observe("job")
                self.assertEqual(self.first.watch().metadata["authorization"], "Bearer secret")


class AioObserverTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        logging.getLogger("asyncio").setLevel(logging.ERROR)  # Not of a machine that is busy.
        self.first, self.second = FakeAdmin(), FakeAdmin()
        self.addCleanup(self.first.stop)
        self.addCleanup(self.second.stop)
        self.client = aio.Client(self.first.address, self.second.address, use_sessions=False)
        self.addAsyncCleanup(self.client.close)
        self.leaders, self.errors = asyncio.Queue(), asyncio.Queue()

    async def soon(self, call, *arguments):
        """A blocking call of the fake daemon."""
        return await asyncio.get_running_loop().run_in_executor(None, call, *arguments)

    async def next(self, of):
        leader = await asyncio.wait_for(of.get(), LIMIT)
        return leader.fencing_token if isinstance(leader, Leader) else leader

    async def test_coroutine_function_is_awaited_before_the_next_change(self):
        running = []

        async def on_change(leader):
            running.append(1)
            await asyncio.sleep(0)
            self.assertEqual(len(running), 1)
            self.leaders.put_nowait(leader)
            running.pop()
            if leader is None:
                raise ZeroDivisionError

        observer = self.client.observe("job", on_change, on_error=self.errors.put_nowait)
        watch = await self.soon(self.first.watch)
        watch.start()
        (await self.soon(self.first.look)).held(5)
        self.assertEqual(await self.next(self.leaders), 5)
        watch.tell(("RELEASED", 5), ("GRANTED", 6))
        self.assertIsNone(await self.next(self.leaders))
        self.assertEqual(await self.next(self.leaders), 6)
        self.assertIsInstance(await self.next(self.errors), ZeroDivisionError)
        self.assertEqual(observer.leader.fencing_token, 6)
        watch.end()
        self.assertIsInstance(await self.next(self.errors), Unavailable)
        (await self.soon(self.second.watch)).start()
        (await self.soon(self.second.look)).held(7)
        self.assertEqual(await self.next(self.leaders), 7)

    async def test_close_in_each_phase(self):
        observer = self.client.observe("job", on_error=self.errors.put_nowait)
        await observer.close()  # before it has begun
        observer = self.client.observe("job", on_error=self.errors.put_nowait)
        watch = await self.soon(self.first.watch)
        await observer.close()  # before it has started
        self.assertTrue(await self.soon(watch.gone.wait, LIMIT))
        observer = self.client.observe("job", on_error=self.errors.put_nowait)
        watch = await self.soon(self.first.watch)
        watch.start()
        look = await self.soon(self.first.look)
        await observer.close()
        self.assertTrue(await self.soon(look.gone.wait, LIMIT))
        self.assertTrue(await self.soon(watch.gone.wait, LIMIT))
        self.assertTrue(self.errors.empty())
        with mock.patch.object(_observer, "backoff", lambda *_: 60.0):
            observer = self.client.observe("job", on_error=self.errors.put_nowait)
            (await self.soon(self.first.watch)).end()
            await self.next(self.errors)
            await observer.close()

    async def test_close_by_on_change(self):
        async def close(_):
            await observer.close()
            await asyncio.sleep(0)
            self.leaders.put_nowait("closed")

        observer = self.client.observe("job", close, on_error=self.errors.put_nowait)
        watch = await self.soon(self.first.watch)
        watch.start()
        (await self.soon(self.first.look)).nobody()
        self.assertEqual(await self.next(self.leaders), "closed")
        self.assertTrue(await self.soon(watch.gone.wait, LIMIT))

    async def test_closing_the_client_ends_observers(self):
        self.client.observe("job", on_error=self.errors.put_nowait)
        watch = await self.soon(self.first.watch)
        await self.client.close()
        self.assertTrue(await self.soon(watch.gone.wait, LIMIT))
        self.assertTrue(self.errors.empty())
        with self.assertRaises(Cancelled):
            self.client.observe("job")


class RealDaemonTest(DaemonTest):
    def test_changes_of_a_real_lock_are_told(self):
        told = Told()
        with Client(self.address) as client:
            client.observe(self.name, told.on_change, on_error=told.errors.put)
            self.assertIsNone(told.next())
            for _ in range(3):
                with client.lock(self.name, ttl=5) as lease:
                    self.assertEqual(told.next(), lease.fencing_token)
                self.assertIsNone(told.next())
        self.assertTrue(told.errors.empty())

    def test_program_that_forgets_to_close_ends(self):
        said = self.run_program(
            "import sys, threading\n"
            "from lockkeeper import Client\n"
            "known = threading.Event()\n"
            "client = Client(sys.argv[1])\n"
            "observer = client.observe(sys.argv[2], lambda leader: known.set())\n"
            "print(known.wait(10))"
        )
        self.assertEqual(said, "True\n")

    def test_program_for_asyncio_that_forgets_to_close_ends(self):
        said = self.run_program(
            "import asyncio, sys\n"
            "from lockkeeper.aio import Client\n"
            "async def main():\n"
            "    known = asyncio.Event()\n"
            "    client = Client(sys.argv[1])\n"
            "    client.observe(sys.argv[2], lambda leader: known.set())\n"
            "    print(await asyncio.wait_for(known.wait(), 10))\n"
            "asyncio.run(main())"
        )
        self.assertEqual(said, "True\n")


if __name__ == "__main__":
    unittest.main()
