# SPDX-License-Identifier: Apache-2.0
"""The client for asyncio: the calls of the blocking one, awaited.

Renewals run on threads of the client, so that a loop that is blocked for a while loses nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from types import TracebackType
from typing import Self, TypeVar, Unpack

from . import _flows
from ._handle import Handle
from ._leadership import AioLeadership as Leadership
from ._leadership import OnError, OnLost
from ._leases import KeptLease
from ._lease_view import LeaseView
from ._loops import run_later, waker_of
from ._observer import AioObserver as Observer
from .errors import LeaseLost, LockkeeperError, NotAcquired
from .options import (
    AcquireOptions,
    AdoptOptions,
    Cancellation,
    ClientOptions,
    FenceResult,
    Leader,
    ReleaseResult,
    Seconds,
)

__all__ = ["Client", "Leadership", "Lease", "Lock", "Observer"]

T = TypeVar("T")


async def _drive(flow: Generator[_flows.Step, None, T], cancel: Cancellation | None = None) -> T:
    """Carries a flow out in this task."""
    loop = asyncio.get_running_loop()
    waker = waker_of(loop)
    try:
        step = next(flow)
        while True:
            future: asyncio.Future[None] = loop.create_future()
            step.start(lambda future=future: waker.wake(future))  # type: ignore[misc]
            if cancel is not None:
                cancel._add(step.cancel)
            try:
                await future
            except BaseException:  # The task was cancelled.
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
    """Whether a lease is lost, like an asyncio.Event. It looks at the clock."""

    def __init__(self, kept: KeptLease) -> None:
        self._kept = kept

    def is_set(self) -> bool:
        return self._kept.cause is not None

    __bool__ = is_set

    async def wait(self) -> bool:
        """Waits until it is lost."""
        loop = asyncio.get_running_loop()
        waker = waker_of(loop)
        future: asyncio.Future[None] = loop.create_future()
        self._kept.on_lost(lambda: waker.wake(future))
        await future
        return self.is_set()


class Lease(LeaseView):
    """A lease, kept until it is released or lost.

    `async with` releases it at the end. When it is lost meanwhile, the body is cancelled at its
    next `await`, and LeaseLost is raised in its place.
    """

    __slots__ = ("_guard",)

    def __init__(self, kept: KeptLease, owner: object) -> None:
        super().__init__(kept, owner)
        self._guard: _Guard | None = None

    @property
    def lost(self) -> Lost:
        """Like an asyncio.Event that is set when the lease is lost."""
        return Lost(self._kept)

    async def extend(self, ttl: Seconds | None = None) -> float:
        """As that of the blocking client."""
        return await _drive(_flows.extend(self._kept, ttl))

    async def release(self) -> ReleaseResult:
        """As that of the blocking client."""
        return await _drive(_flows.release(self._kept))

    async def __aenter__(self) -> Self:
        self._guard = _Guard(self._kept)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        guard, self._guard = self._guard, None
        assert guard is not None
        was_ours = guard.end(error)
        cause = self._kept.cause
        if cause is not None:
            if not self._kept.core.forked:  # Its holder has to hear of it now.
                _flows.begin_release(self._kept)
        else:
            try:
                await self.release()
            except LockkeeperError:
                pass  # It ends by its ttl; the error of the body, if any, is what counts.
        if was_ours and cause is not None:
            raise LeaseLost(self.name, cause, self._kept.life.last_error) from error


class _Guard:
    """Cancels the task of an `async with` block when the lease is lost, as asyncio.timeout does."""

    def __init__(self, kept: KeptLease) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._cancelled_before = task.cancelling()
        self._has_ended = False
        self._did_cancel = False
        loop = asyncio.get_running_loop()

        def lost() -> None:
            try:
                loop.call_soon_threadsafe(self._cancel)
            except RuntimeError:
                pass  # The loop is closed.

        kept.on_lost(lost)

    def _cancel(self) -> None:
        if not self._has_ended:
            self._did_cancel = True
            self._task.cancel()

    def end(self, error: BaseException | None) -> bool:
        """Whether the body ended by our cancelling, and not by somebody else's."""
        self._has_ended = True
        if not self._did_cancel:
            return False
        by_us_alone = self._task.uncancel() <= self._cancelled_before
        return by_us_alone and isinstance(error, asyncio.CancelledError)


class Lock:
    """A lock to be held in an `async with` block, any number of times one after the other."""

    def __init__(self, client: Client, name: str, options: AcquireOptions) -> None:
        self._client = client
        self._name = name
        self._options = options
        self._lease: Lease | None = None

    async def __aenter__(self) -> Lease:
        if self._lease is not None:
            raise RuntimeError(f"this Lock of {self._name!r} is held; make another one")
        lease = self._lease = await self._client.require(self._name, **self._options)
        return await lease.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        lease, self._lease = self._lease, None
        if lease is not None:
            await lease.__aexit__(kind, error, traceback)


class Client(Handle):
    """Connections to one service; see lockkeeper.Client. One is enough for a process, and may be
    used in several loops.

        async with Client("127.0.0.1:7600") as client:
            async with client.lock("report", ttl=30, wait=60) as lease:
                ...
    """

    _later = staticmethod(run_later)

    def __init__(self, *addresses: str, **options: Unpack[ClientOptions]) -> None:
        super().__init__(*addresses, **options)
        self._leaderships: set[Leadership] = set()
        self._observers: set[Observer] = set()

    async def acquire(self, name: str, **options: Unpack[AcquireOptions]) -> Lease | None:
        """Acquires the lock; None if it is not free (within `wait`)."""
        try:
            return await self.require(name, **options)
        except NotAcquired:
            return None

    async def require(self, name: str, **options: Unpack[AcquireOptions]) -> Lease:
        """Acquires the lock, or raises NotAcquired, which says who has it."""
        acquire = _flows.Acquire(self._core(), name, options)
        return Lease(await _drive(acquire.flow(), options.get("cancel")), self)

    def lock(self, name: str, **options: Unpack[AcquireOptions]) -> Lock:
        """For an `async with` block: acquires the lock, or raises NotAcquired, and releases it."""
        return Lock(self, name, options)

    def lead(
        self,
        name: str,
        on_elected: Callable[[Lease], Awaitable[object]],
        *,
        on_lost: OnLost | None = None,
        on_error: OnError | None = None,
        **options: Unpack[AcquireOptions],
    ) -> Leadership:
        """As that of the blocking client, in the running loop. `on_elected` is a coroutine
        function, and is cancelled when its term ends."""
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
        """As that of the blocking client, in the running loop. `on_change` may be a coroutine
        function; then the next change is told when it has ended."""
        observer = Observer(self, name, on_change, on_error)
        self._observers.add(observer)
        return observer

    async def adopt(self, name: str, lease_id: str, **options: Unpack[AdoptOptions]) -> Lease:
        """Takes over a lease that another client has detached."""
        return Lease(await _drive(_flows.adopt(self._core(), name, lease_id, options)), self)

    async def release(self, name: str, lease_id: str) -> ReleaseResult:
        """Releases a lease, or leaves the line, by the lease id."""
        return await _drive(_flows.release_by_id(self._core(), name, lease_id))

    async def fence(
        self, name: str, fencing_token: int, *, require_live_lease: bool = False
    ) -> FenceResult:
        """Asks whether the token is the newest of the lock. Reject the access unless the result is
        true."""
        return await _drive(_flows.fence(self._core(), name, fencing_token, require_live_lease))

    async def close(self) -> None:
        """As that of the blocking client."""
        for observer in list(self._observers):
            await observer.close()
        # Campaigns first: none of them is to win what another one gives up.
        for leadership in sorted(self._leaderships, key=lambda each: each.is_leader):
            try:
                await leadership.close()
            except LockkeeperError:
                pass  # Its release goes on below.
        await asyncio.get_running_loop().run_in_executor(None, self._close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
