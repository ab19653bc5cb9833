# SPDX-License-Identifier: Apache-2.0
"""The blocking client. Thread-safe: one is enough for a process."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable, Generator
from types import TracebackType
from typing import Self, TypeVar, Unpack

from . import _flows
from ._handle import Handle
from ._leadership import Leadership, OnError, OnLost
from ._leases import KeptLease
from ._lease_view import LeaseView
from ._observer import Observer
from .errors import LockkeeperError, NotAcquired
from .options import (
    AcquireOptions,
    AdoptOptions,
    Cancellation,
    ClientOptions,
    FenceResult,
    Leader,
    ReleaseResult,
    Seconds,
    seconds,
)

T = TypeVar("T")


def _drive(flow: Generator[_flows.Step, None, T], cancel: Cancellation | None = None) -> T:
    """Carries a flow out in this thread."""
    try:
        step = next(flow)
        while True:
            waiter = _thread.allocate_lock()
            waiter.acquire()
            step.start(waiter.release)
            if cancel is not None:
                cancel._add(step.cancel)
            try:
                waiter.acquire()
            except BaseException:  # KeyboardInterrupt
                step.cancel()
                flow.close()
                raise
            finally:
                if cancel is not None:
                    cancel._remove(step.cancel)
            step = flow.send(None)
    except StopIteration as end:
        result: T = end.value
        return result


class Lost:
    """Whether a lease is lost, like a threading.Event. It looks at the clock."""

    def __init__(self, kept: KeptLease) -> None:
        self._kept = kept

    def is_set(self) -> bool:
        return self._kept.cause is not None

    __bool__ = is_set

    def wait(self, timeout: Seconds | None = None) -> bool:
        """Waits until it is lost, or for `timeout`. Returns whether it is lost. A released lease
        never is."""
        told = threading.Event()
        self._kept.on_lost(told.set)
        told.wait(None if timeout is None else seconds("timeout", timeout))
        return self.is_set()


class Lease(LeaseView):
    """A lease, kept until it is released or lost. As a context manager it is released at the end,
    without hiding an error of the body."""

    __slots__ = ()

    @property
    def lost(self) -> Lost:
        """Like a threading.Event that is set when the lease is lost."""
        return Lost(self._kept)

    def extend(self, ttl: Seconds | None = None) -> float:
        """Sets the end to now + ttl, never to an earlier time. The regular ttl of the lease is the
        default and the least. Returns the seconds that are left. Renewals go on as before."""
        return _drive(_flows.extend(self._kept, ttl))

    def release(self) -> ReleaseResult:
        """Releases the lock. Blocks for at most release_timeout; after that the client goes on in
        the background, and DeadlineExceeded is raised. A second call returns the first outcome."""
        return _drive(_flows.release(self._kept))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _release_quietly(self)


def _release_quietly(lease: Lease) -> None:
    """The lease ends by its ttl at the latest; the error of the body, if any, is what counts."""
    if lease._kept.core.forked:
        return
    if lease.loss is not None:  # Its holder has to hear of it now, also while no daemon answers.
        _flows.begin_release(lease._kept)
        return
    try:
        lease.release()
    except LockkeeperError:
        pass


class Lock:
    """A lock to be held in a `with` block, any number of times one after the other."""

    def __init__(self, client: Client, name: str, options: AcquireOptions) -> None:
        self._client = client
        self._name = name
        self._options = options
        self._lease: Lease | None = None

    def __enter__(self) -> Lease:
        if self._lease is not None:
            raise RuntimeError(f"this Lock of {self._name!r} is held; make another one")
        self._lease = self._client.require(self._name, **self._options)
        return self._lease

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        lease, self._lease = self._lease, None
        if lease is not None:
            _release_quietly(lease)


class Client(Handle):
    """Connections to one service.

        with Client("127.0.0.1:7600") as client:
            with client.lock("report", ttl=30, wait=60) as lease:
                ...

    `addresses`: `host:port`, `[v6]:port`, `unix:/path` or `tls://host:port`, daemons of one
    service. The first that answers is used, the next when it is unavailable or stopping.

    A child after `fork` does not hold the leases of its parent. It can use the client if its parent
    has not used any before, or was started with GRPC_ENABLE_FORK_SUPPORT=true and has grpcio 1.59
    or later.
    """

    def __init__(self, *addresses: str, **options: Unpack[ClientOptions]) -> None:
        super().__init__(*addresses, **options)
        self._leaderships: set[Leadership] = set()
        self._observers: set[Observer] = set()

    def acquire(self, name: str, **options: Unpack[AcquireOptions]) -> Lease | None:
        """Acquires the lock; None if it is not free (within `wait`)."""
        try:
            return self.require(name, **options)
        except NotAcquired:
            return None

    def require(self, name: str, **options: Unpack[AcquireOptions]) -> Lease:
        """Acquires the lock, or raises NotAcquired, which says who has it."""
        acquire = _flows.Acquire(self._core(), name, options)
        return Lease(_drive(acquire.flow(), options.get("cancel")), self)

    def lock(self, name: str, **options: Unpack[AcquireOptions]) -> Lock:
        """For a `with` block: acquires the lock, or raises NotAcquired, and releases it."""
        return Lock(self, name, options)

    def lead(
        self,
        name: str,
        on_elected: Callable[[Lease], object],
        *,
        on_lost: OnLost | None = None,
        on_error: OnError | None = None,
        **options: Unpack[AcquireOptions],
    ) -> Leadership:
        """Campaigns for the lock, and returns at once. `on_elected` runs once in each term, on a
        thread of its own, with the lease: its fencing_token is the term, and `lease.held` turns
        false when the term ends. If it raises, `on_error` is told, and this candidate resigns and
        campaigns again after one ttl. `on_lost` is called before a lost lease ends, `on_error` also
        with each error of the campaign (default: the log). The options are those of acquire, but
        wait, cancel and lease_id."""
        leadership = Leadership(self, name, on_elected, on_lost, on_error, options)
        self._leaderships.add(leadership)
        return leadership

    def observe(
        self,
        name: str,
        on_change: Callable[[Leader | None], object] | None = None,
        *,
        on_error: OnError | None = None,
    ) -> Observer:
        """Tells who leads, which is who holds the lock: `on_change` runs on a thread of its own,
        once that is known and at each change, with None while nobody leads; one call after the
        other. `on_error` is told each error (default: the log), and none of them ends it. Returns at
        once. Needs the right `inspect` on the name."""
        observer = Observer(self, name, on_change, on_error)
        self._observers.add(observer)
        return observer

    def adopt(self, name: str, lease_id: str, **options: Unpack[AdoptOptions]) -> Lease:
        """Takes over a lease that another client has detached."""
        return Lease(_drive(_flows.adopt(self._core(), name, lease_id, options)), self)

    def release(self, name: str, lease_id: str) -> ReleaseResult:
        """Releases a lease, or leaves the line, by the lease id."""
        return _drive(_flows.release_by_id(self._core(), name, lease_id))

    def fence(
        self, name: str, fencing_token: int, *, require_live_lease: bool = False
    ) -> FenceResult:
        """Asks whether the token is the newest of the lock. Reject the access unless the result is
        true."""
        return _drive(_flows.fence(self._core(), name, fencing_token, require_live_lease))

    def close(self) -> None:
        """Ends observers and campaigns, releases all leases, for at most release_timeout, and ends the
        connections."""
        for observer in list(self._observers):
            observer.close()
        # Campaigns first: none of them is to win what another one gives up.
        for leadership in sorted(self._leaderships, key=lambda each: each.is_leader):
            try:
                leadership.close()
            except LockkeeperError:
                pass  # Its release goes on below.
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
