# SPDX-License-Identifier: Apache-2.0
"""The blocking client with a real daemon. What goes wrong on the way to it is in the conformance
suite."""

import gc
import signal
import threading
import time
import unittest
import unittest.mock
import warnings

import grpc
from lockkeeper import (
    Cancellation,
    Cancelled,
    Client,
    ContentionReason,
    InvalidArgument,
    Lease,
    LeaseLost,
    LeaseReleased,
    LossCause,
    NotAcquired,
    Reason,
    ReleaseResult,
    Verdict,
)
from lockkeeper.errors import service_error

from .daemon import DaemonTest

GRPC_KNOWS_FORK = [int(part) for part in grpc.__version__.split(".")[:2]] >= [1, 59]

PROGRAM = """
import ctypes, os, sys, time
from lockkeeper import Client, Forked, LeaseLost
address, name = sys.argv[1:3]
"""


class ClientTest(DaemonTest):
    def setUp(self):
        self.client = Client(self.address)
        self.addCleanup(self.client.close)

    def test_lock_is_held_in_the_block_and_free_after_it(self):
        with self.client.lock(self.name, ttl=5) as lease:
            self.assertGreater(lease.fencing_token, 0)
            self.assertTrue(0 < lease.remaining() < 5)
            lease.check()
            self.assertIsNone(self.client.acquire(self.name))
        self.assertFalse(lease.held)
        self.assertFalse(lease.lost.is_set())
        with self.assertRaises(LeaseReleased):
            lease.check()
        with self.client.lock(self.name, ttl=5) as again:
            self.assertGreater(again.fencing_token, lease.fencing_token)

    def test_contention_says_who_holds_the_lock(self):
        with self.client.lock(self.name, ttl=5, owner="somebody"):
            with self.assertRaises(NotAcquired) as caught:
                self.client.require(self.name)
        contention = caught.exception.contention
        self.assertEqual(contention.holder_owner, "somebody")
        self.assertIs(contention.reason, ContentionReason.HELD)
        self.assertTrue(0 < contention.remaining <= 5)
        self.assertIn("somebody", str(caught.exception))

    def test_error_of_the_body_comes_through(self):
        with self.assertRaises(ZeroDivisionError):
            with self.client.lock(self.name, ttl=5):
                1 / 0
        self.client.require(self.name).release()

    def test_release_that_fails_hides_no_error_of_the_body_and_is_none(self):
        failed = service_error("UNAVAILABLE", "gone")
        with unittest.mock.patch.object(Lease, "release", side_effect=failed) as release:
            with self.assertRaises(ZeroDivisionError):
                with self.client.lock(self.name, ttl=5):
                    1 / 0
            with self.client.lock(self.name + "/other", ttl=5):
                pass
        self.assertEqual(release.call_count, 2)

    def test_waiter_gets_the_lock_when_it_is_released(self):
        held = self.client.require(self.name, ttl=5)
        got = []
        waiter = threading.Thread(
            target=lambda: got.append(self.client.require(self.name, ttl=5, wait=20))
        )
        waiter.start()
        time.sleep(0.2)  # likely in line; if not, the test is only easier
        held.release()
        waiter.join()
        self.assertGreater(got[0].fencing_token, held.fencing_token)
        got[0].release()

    def test_release_tells_what_it_found(self):
        lease = self.client.require(self.name, ttl=5)
        self.assertIs(self.client.release(self.name, lease.lease_id), ReleaseResult.RELEASED)
        self.assertIs(
            self.client.release(self.name, "0" * 31 + "1"), ReleaseResult.NOT_HOLDER
        )
        self.assertFalse(ReleaseResult.NOT_HOLDER)
        lease.release()

    def test_fence_tells_old_tokens(self):
        first = self.client.require(self.name, ttl=5)
        self.assertTrue(self.client.fence(self.name, first.fencing_token))
        first.release()
        self.client.require(self.name, ttl=5).release()
        stale = self.client.fence(self.name, first.fencing_token)
        self.assertFalse(stale)
        self.assertIs(stale.verdict, Verdict.STALE)
        self.assertGreater(stale.newest_fencing_token, first.fencing_token)

    def test_extend_moves_the_end(self):
        lease = self.client.require(self.name, ttl=5)
        self.assertGreater(lease.extend(30), 25)
        self.assertGreater(lease.remaining(), 25)
        lease.release()
        with self.assertRaises(LeaseReleased):
            lease.extend()

    def test_errors_of_the_service_have_types_and_reasons(self):
        with self.assertRaises(InvalidArgument) as caught:
            self.client.acquire("a{b}")
        self.assertIs(caught.exception.reason, Reason.INVALID_FIELD)
        self.assertEqual(caught.exception.field, "name")
        with self.assertRaisesRegex(InvalidArgument, "ttl"):
            self.client.acquire(self.name, ttl=3600)

    def test_detached_lease_is_adopted_by_another_client(self):
        with Client(self.address) as other:
            lease = other.require(self.name, ttl=2)
            lease_id = lease.detach()
        self.assertFalse(lease.held)
        adopted = self.client.adopt(
            self.name, lease_id, fencing_token=lease.fencing_token, reassertion=lease.reassertion
        )
        self.assertEqual(adopted.fencing_token, lease.fencing_token)
        time.sleep(2.5)  # longer than the ttl
        adopted.check()
        self.assertTrue(adopted.release())

    def test_one_heartbeat_keeps_many_leases(self):
        begin = time.monotonic()
        leases = [self.client.require(f"{self.name}/{i}", ttl=2) for i in range(100)]
        time.sleep(5)  # longer than two ttls
        for lease in leases:
            lease.check()
            self.assertGreater(lease.remaining(), 0.3)
            self.assertTrue(self.client.fence(lease.name, lease.fencing_token, require_live_lease=True))
        link = leases[0]._kept.link
        self.assertTrue(all(lease._kept.link is link for lease in leases))
        heartbeats_a_second = 24 / 2  # a 24th of the ttl apart
        self.assertLess(link._beat_number, (time.monotonic() - begin) * heartbeats_a_second + 10)
        for lease in leases:
            self.assertTrue(lease.release())

    def test_dropped_lease_is_released(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.client.require(self.name, ttl=60)
            gc.collect()
        self.assertTrue(any(w.category is ResourceWarning for w in caught))
        self.client.require(self.name, ttl=5, wait=10).release()

    def test_loss_is_told_to_callbacks_and_waiters(self):
        lease = self.client.require(self.name, ttl=2)
        told = threading.Event()
        lease.on_lost(told.set)
        lease.on_lost(lambda: 1 / 0)  # only logged
        self.assertFalse(lease.lost.wait(0.01))
        with self.assertLogs("lockkeeper"):
            self.client.release(self.name, lease.lease_id)
            self.assertTrue(lease.lost.wait(10))
            self.assertTrue(told.wait(10))
            self.until(lambda: not lease._kept._callbacks_running and not lease._kept._on_lost_user)
        self.assertIs(lease.loss, LossCause.LEASE_LOST)
        with self.assertRaises(LeaseLost) as caught:
            lease.check()
        self.assertIs(caught.exception.cause, LossCause.LEASE_LOST)
        self.assertIs(lease.release(), ReleaseResult.EXPIRED)

    def test_cancelled_acquire_leaves_the_line(self):
        held = self.client.require(self.name, ttl=30)
        cancel = Cancellation()
        threading.Timer(0.3, cancel.cancel).start()
        with self.assertRaises(Cancelled):
            self.client.acquire(self.name, wait=60, cancel=cancel)
        with self.assertRaises(Cancelled):
            self.client.acquire(self.name, wait=60, cancel=cancel)  # already requested
        held.release()
        self.client.require(self.name, ttl=5, wait=10).release()

    def test_interrupt_leaves_the_line(self):
        # A program that was started in the background of a shell ignores the signal.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        held = self.client.require(self.name, ttl=30)
        main = threading.main_thread().ident
        threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            self.client.acquire(self.name, wait=60)
        held.release()
        self.client.require(self.name, ttl=5, wait=10).release()

    def test_close_releases_and_ends_the_threads(self):
        client = Client(self.address)
        lease = client.require(self.name, ttl=60)
        client.close()
        client.close()
        self.assertFalse(lease.held)
        with self.assertRaises(Cancelled):
            client.acquire(self.name)
        self.client.require(self.name, ttl=5).release()
        names = {t.name for t in threading.enumerate() if t.name.startswith("lockkeeper")}
        self.client.close()
        self.until(
            lambda: not [t for t in threading.enumerate() if t.name.startswith("lockkeeper")]
        )
        self.assertTrue(names)

    def test_many_threads_share_a_client(self):
        counts = []

        def work():
            for _ in range(10):
                with self.client.lock(self.name, ttl=5, wait=60):
                    counts.append(len(counts))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(counts, list(range(80)))

    def test_unary_calls_alone_do_the_same(self):
        with Client(self.address, use_sessions=False) as client:
            lease = client.require(self.name, ttl=1)
            time.sleep(5)  # longer than the ttl
            lease.check()
            self.assertIsNone(lease._kept.link)
            self.assertTrue(lease.release())


class ProcessTest(DaemonTest):
    def test_program_that_forgets_to_close_ends_and_releases(self):
        self.run_program(PROGRAM + "client = Client(address); lease = client.require(name, ttl=60)")
        with Client(self.address) as client:
            client.require(self.name, ttl=5, wait=10).release()

    def test_call_that_keeps_the_interpreter_is_noticed_right_after_it(self):
        said = self.run_program(
            PROGRAM
            + """
client = Client(address)
lease = client.require(name, ttl=1)
ctypes.PyDLL(None).usleep(2_000_000)  # keeps the interpreter for two ttls
print(lease.lost.is_set(), lease.remaining(), lease.loss)
"""
        )
        self.assertEqual(said.split(), ["True", "0.0", "PAUSED"])

    def test_child_of_a_fork_does_not_hold_its_parents_lease(self):
        said = self.run_program(
            PROGRAM
            + """
client = Client(address)
with client.lock(name, ttl=3) as lease:
    child = os.fork()
    if child == 0:
        assert not lease.held and lease.remaining() == 0.0
        for act in (lease.check, lease.release, client.acquire):
            try:
                act("other") if act == client.acquire else act()
            except (LeaseLost, Forked) as error:
                print(type(error).__name__, flush=True)
        sys.exit(3)  # by the end of the block, and by the end of the program
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    session = lease._kept.link
    time.sleep(4)  # longer than the ttl
    lease.check()
    assert client.fence(name, lease.fencing_token, require_live_lease=True)
    assert session is lease._kept.link, "the child has cut the session"
    print("held")
"""
        )
        self.assertEqual(said.split(), ["LeaseLost", "Forked", "Forked", "held"])

    CHILD = """
client = Client(address)
lease = client.require(name, ttl=10) if sys.argv[3:] else None
child = os.fork()
if child == 0:
    with client.lock(name + "/child", ttl=4) as own:
        time.sleep(5)  # longer than the ttl
        own.check()
    print("child", flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(client.require(name + "/child", ttl=5).release())
if lease:
    print(lease.release())
"""

    def test_child_can_use_a_client_that_its_parent_has_not_used(self):
        said = self.run_program(PROGRAM + self.CHILD)
        self.assertEqual(said.split(), ["child", "RELEASED"])

    @unittest.skipUnless(GRPC_KNOWS_FORK, "the child of an older grpcio may get no answers")
    def test_child_can_use_a_client_with_the_fork_support_of_grpc(self):
        text = "import sys; sys.argv.append('used')" + PROGRAM + self.CHILD
        said = self.run_program(text, GRPC_ENABLE_FORK_SUPPORT="true")
        self.assertEqual(said.split(), ["child", "RELEASED", "RELEASED"])

    @unittest.skipIf(GRPC_KNOWS_FORK, "its fork support works")
    def test_child_is_told_that_an_old_grpc_does_not_know_forks(self):
        # gRPC does not hear of it: what such a version does in a fork may hang on a busy machine.
        said = self.run_program(
            """
import grpc, os
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "true"
"""
            + PROGRAM
            + """
del os.environ["GRPC_ENABLE_FORK_SUPPORT"]
client = Client(address)
client.require(name, ttl=10).release()
child = os.fork()
if child == 0:
    try:
        client.acquire(name)
    except Forked as error:
        print("1.59" in str(error), flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""
        )
        self.assertEqual(said.split(), ["True"])


if __name__ == "__main__":
    unittest.main()
