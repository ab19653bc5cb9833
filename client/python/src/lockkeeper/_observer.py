# SPDX-License-Identifier: Apache-2.0
"""Observers: who leads, told at each change. By a thread for the blocking client, by a task for
asyncio; the stream of a watch is read by a thread for both."""

from __future__ import annotations

import _thread
import asyncio
import inspect
import threading
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import grpc

from . import _messages as messages
from ._core import Core
from ._flows import Done, Pause
from ._leader_view import LeaderView
from ._leadership import OnError, report
from ._loops import waker_of
from ._rules import BACKOFF_MAX, TRY_TIMEOUT, backoff, boot_clock
from ._threads import Timer
from .errors import ServiceError, service_error
from .options import Cancellation, Leader

if TYPE_CHECKING:
    from . import aio
    from .client import Client

# How long the first look waits for the stream to start. A daemon says within 2 s that it has; a
# proxy may pass no stream on.
_START_TIMEOUT = 5.0
# Messages that were read and not looked at yet. More of them are left to gRPC, and then to the
# daemon, which tells of a gap.
_UNREAD_MAX = 8
_NEVER = float("inf")

OnChange = Callable[[Leader | None], object]


@dataclass(slots=True)
class Look:
    """One call of GetLock."""

    call: Any


@dataclass(slots=True)
class Ended:
    """The end of the stream."""

    error: ServiceError


@dataclass(slots=True)
class Changed:
    """To be told to on_change."""

    leader: Leader | None


@dataclass(slots=True)
class Failed:
    """To be told to on_error."""

    error: ServiceError


class Inbox:
    """What happens to one watch. As a step of a flow it lasts until something has happened, or it
    is time."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._lock = threading.Lock()
        self._has_room = threading.Condition(self._lock)
        self._items: deque[Any] = deque()
        self._is_closed = False
        self._is_due = False
        self._wait_end = _NEVER
        self._done: Done | None = None
        self._timer: Timer | None = None
        self._timer_at = _NEVER

    def put(self, item: Any, waits: bool = False) -> None:
        """`waits`: while there are many."""
        with self._lock:
            if waits:
                self._has_room.wait_for(lambda: self._is_closed or len(self._items) < _UNREAD_MAX)
            self._items.append(item)
            done, self._done = self._done, None
        if done is not None:
            done()

    def take(self) -> Any:
        """The next item; None if there is none."""
        with self._lock:
            self._has_room.notify()
            return self._items.popleft() if self._items else None

    def until(self, time: float) -> Inbox:
        self._wait_end = time
        return self

    def start(self, done: Done) -> None:
        with self._lock:
            if not (self._items or self._is_due):
                self._done = done
                if self._wait_end < self._timer_at:
                    self._set_timer()
                return
            self._is_due = False
        done()

    def cancel(self) -> None:
        self._wake()

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._has_room.notify_all()
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _set_timer(self) -> None:
        # One that comes too early is harmless, and cheaper than a new one for each wait.
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = self._wait_end
        self._timer = self._core.timers.at(self._wait_end, self._on_time)

    def _on_time(self) -> None:
        with self._lock:
            self._timer, self._timer_at = None, _NEVER
        self._wake()

    def _wake(self) -> None:
        with self._lock:
            done, self._done = self._done, None
            self._is_due = done is None
        if done is not None:
            done()


class _Watch:
    """One stream, and the looks at the same daemon."""

    def __init__(self, core: Core, index: int, name: str, view: LeaderView) -> None:
        daemon = core.daemons[index]
        self._peer = daemon.address
        self._connection = daemon.watching
        self._name = name
        self._view = view
        self._inbox = Inbox(core)
        self._stream: Any = None
        self._look: Look | None = None
        self._look_at = boot_clock() + _START_TIMEOUT
        self.has_looked = False  # It serves: the next delay is short again.

    def follow(
        self, is_over: Callable[[], bool]
    ) -> Generator[Inbox | Changed, None, ServiceError | None]:
        """Until it ends; returns why. None: it is over."""
        try:
            self._open()
            while not is_over():
                while (item := self._inbox.take()) is not None:
                    error = yield from self._hear(item)
                    if error is not None:
                        return error
                if boot_clock() >= self._look_at and self._look is None:
                    self._send_look()
                # The answer to a look comes in time, or else its error does.
                yield self._inbox.until(self._look_at if self._look is None else _NEVER)
            return None
        except ValueError:  # The client is closed.
            return None
        finally:
            self._close()

    def _hear(self, item: Any) -> Generator[Changed, None, ServiceError | None]:
        """Returns the error that ends the watch, if it is one."""
        if isinstance(item, Ended):
            return item.error
        if isinstance(item, Look):
            return (yield from self._hear_look(item.call))
        for event in item.events:
            kind, about = messages.event_of(event)
            if self._view.on_event(kind, about):
                self._look_at = 0.0
            if self._view.take_change():
                yield Changed(self._view.leader)
        return None

    def _hear_look(self, call: Any) -> Generator[Changed, None, ServiceError | None]:
        self._look = None
        if call.code() is not grpc.StatusCode.OK:
            return self._error_of(call)
        self.has_looked = True
        after = self._view.on_look(*messages.looked(call.result()))
        self._look_at = min(self._look_at, boot_clock() + after)
        if self._view.take_change():
            yield Changed(self._view.leader)
        return None

    def _open(self) -> None:
        request = messages.WatchLocksRequest(name=self._name)
        open_stream = self._connection.call("WatchLocks")
        self._stream = open_stream(request, None, self._connection.metadata or None)
        threading.Thread(
            target=self._read, args=(self._stream,), name="lockkeeper-watch", daemon=True
        ).start()

    def _read(self, stream: Any) -> None:
        try:
            for message in stream:
                self._inbox.put(message, waits=True)
        except grpc.RpcError:
            pass
        self._inbox.put(Ended(self._error_of(stream)))

    def _send_look(self) -> None:
        self._look_at = _NEVER
        call = self._connection.call("GetLock")
        self._view.look_sent()
        request = messages.GetLockRequest(name=self._name)
        look = Look(call.future(request, TRY_TIMEOUT, self._connection.metadata or None))
        self._look = look
        look.call.add_done_callback(lambda _: self._inbox.put(look))

    def _error_of(self, call: Any) -> ServiceError:
        code = call.code()
        if code is grpc.StatusCode.OK:
            return service_error("UNAVAILABLE", f"{self._peer} has ended the watch")
        if code is grpc.StatusCode.UNAVAILABLE:
            self._connection.connect_again()
        return messages.error_of_call(call, self._peer)

    def _close(self) -> None:
        self._inbox.close()
        if self._stream is not None:
            self._stream.cancel()
        if self._look is not None:
            self._look.call.cancel()


_Steps = Generator[Inbox | Pause | Changed | Failed, None, None]


def _observation(core: Core, name: str, is_closed: Callable[[], bool]) -> _Steps:
    """One watch after the other, each at the next address.

    The client's own calls stay where they are: a watch that is refused says nothing about them.
    """

    def is_over() -> bool:
        return is_closed() or core.closed or core.forked

    view = LeaderView()
    index = core.daemons.current
    failures = 0
    while not is_over():
        watch = _Watch(core, index, name, view)
        error = yield from watch.follow(is_over)
        if error is None or is_over():
            return
        failures = 1 if watch.has_looked else failures + 1
        yield Failed(error)
        delay = backoff(failures, BACKOFF_MAX, core.jitter())
        yield Pause(core, max(delay, error.retry_delay or 0.0))
        index = (index + 1) % len(core.daemons)


class _Observing:
    """What the observers of both clients have in common."""

    def __init__(
        self,
        client: Client | aio.Client,
        name: str,
        on_change: OnChange | None,
        on_error: OnError | None,
    ) -> None:
        messages.set_text(messages.WatchLocksRequest(), "name", name)  # It checks it.
        self.name = name
        self._core = client._core()
        self._on_change = on_change
        self._on_error = on_error
        self._leader: Leader | None = None
        self._end = Cancellation()
        self._flow = _observation(self._core, name, lambda: self._end.requested)

    @property
    def leader(self) -> Leader | None:
        """The leader as it is known now; None if nobody leads, or nothing is known yet. A resource
        checks the fencing token all the same: the leader may have changed already."""
        return None if self._core.forked else self._leader

    def _report(self, error: Exception) -> None:
        report(f"observer of {self.name!r}", self._on_error, error)

    def _tell(self, step: Changed | Failed) -> Any:
        """Returns what on_change does."""
        if self._end.requested:
            return None
        if isinstance(step, Failed):
            self._report(step.error)
            return None
        self._leader = step.leader
        if self._on_change is None:
            return None
        try:
            return self._on_change(step.leader)
        except Exception as error:
            self._report(error)
            return None


class Observer(_Observing):
    """Knows who leads, until it is closed."""

    def __init__(
        self,
        client: Client,
        name: str,
        on_change: OnChange | None,
        on_error: OnError | None,
    ) -> None:
        super().__init__(client, name, on_change, on_error)
        self._client = client
        threading.Thread(
            target=self._run, name=f"lockkeeper-observe-{name}", daemon=True
        ).start()

    def close(self) -> None:
        """Ends it. A call of on_change that has begun goes on, and no other one begins."""
        self._client._observers.discard(self)
        if not self._core.forked:
            self._end.cancel()

    def _run(self) -> None:
        for step in self._flow:
            if isinstance(step, Changed | Failed):
                self._tell(step)
                continue
            waiter = _thread.allocate_lock()
            waiter.acquire()
            step.start(waiter.release)
            self._end._add(step.cancel)
            waiter.acquire()
            self._end._remove(step.cancel)


class AioObserver(_Observing):
    """The same for asyncio. on_change may be a coroutine function."""

    def __init__(
        self,
        client: aio.Client,
        name: str,
        on_change: OnChange | None,
        on_error: OnError | None,
    ) -> None:
        super().__init__(client, name, on_change, on_error)
        self._client = client
        self._is_telling = False
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"observe {name}")

    async def close(self) -> None:
        """As that of the blocking client."""
        self._client._observers.discard(self)
        self._end.cancel()
        if not self._is_telling:
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        waker = waker_of(loop)
        try:
            for step in self._flow:
                if isinstance(step, Changed | Failed):
                    await self._tell_and_wait(step)
                    continue
                future: asyncio.Future[None] = loop.create_future()
                step.start(lambda future=future: waker.wake(future))  # type: ignore[misc]
                self._end._add(step.cancel)
                try:
                    await future
                finally:
                    self._end._remove(step.cancel)
        finally:
            self._flow.close()

    async def _tell_and_wait(self, step: Changed | Failed) -> None:
        self._is_telling = True
        try:
            result = self._tell(step)
            if inspect.isawaitable(result):
                await result
        except Exception as error:
            self._report(error)
        finally:
            self._is_telling = False
