# SPDX-License-Identifier: Apache-2.0
"""Sessions: operations that share one stream, and the heartbeat that keeps their leases alive.

A Link is one stream. Operations that arrive while a message is being written go together in the
next one. A Link writes on gRPC's thread, which asks it for messages, and reads on one of its own.
All state is guarded by the lock of the client; operations are answered without it.
"""

from __future__ import annotations

import heapq
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import grpc

from . import _messages as messages
from ._connections import Answer, Connection, Operation, UnaryCalls
from ._rules import Jitter, SessionEnd, SessionPolicy, boot_clock
from ._threads import Timer, TimerThread, Work
from ._tracing import bytes_of_trace
from .errors import service_error

if TYPE_CHECKING:
    from ._leases import KeptLease

# The server's limits are 1,024 operations and 64 KiB; a message is longer than its operations.
_BATCH_MAX = 1_024
_BATCH_BYTES_MAX = 60 * 1_024
_OPERATION_HEAD_BYTES = 16
_OPERATION_BYTES_MAX = _BATCH_BYTES_MAX // 4
_OWNER_BYTES_MAX = 256
_OUTSTANDING_DEFAULT = 1_024
_OPEN_TIMEOUT = 2.0  # Some proxies forward nothing of a stream until it has ended.
_GOOD_END_TIMEOUT = 0.2

_Done = list[tuple[Operation, Answer]]


def _answer_all(answered: _Done) -> None:
    for operation, answer in answered:
        operation.finish(answer)


class Link:
    """One stream: opening, open, retiring (takes no more), ended."""

    def __init__(self, sessions: Sessions, owner: str) -> None:
        self._sessions = sessions
        self._lock = sessions.lock
        self._timers = sessions.timers
        self._call: Any = None
        self._state = "opening"
        self._was_open = False
        self._is_broken = False  # By us.
        self._must_end = False
        self._writes_closed = False
        self._open_message = messages.SessionRequest()
        self._open_message.open.owner = owner if len(owner.encode()) <= _OWNER_BYTES_MAX else ""

        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._is_awake = False
        self._last_number = 0
        self._entries: dict[int, Operation | None] = {}  # None: nobody waits for it any more.
        self._waiting: set[int] = set()  # Entries that may stand in line.
        self._sent: set[int] = set()
        self._sent_max = 0
        self._queue: deque[Operation] = deque()
        self._cancels: deque[int] = deque()
        self._to_forget: deque[Any] = deque()
        self._to_adopt: deque[Operation] = deque()
        # Without an answer, by lease id. None: nobody waits for it any more.
        self._adopting: dict[str, tuple[Operation, Timer] | None] = {}
        self._deadlines: list[tuple[float, int]] = []  # A heap; has numbers answered meanwhile too.
        self._looks_at = float("inf")
        self._look_timer: Timer | None = None
        self._ended_early: set[str] = set()  # Lease ids named as lost before their grant came.

        self._heard_at = 0.0
        self._is_suspect = False  # An answer is late, and nothing was received meanwhile.

        self._leases: dict[str, KeptLease] = {}  # Those that the server keeps in this session.
        self._due: list[KeptLease] = []  # They wait for the next heartbeat.
        self._beating: list[KeptLease] | None = None  # They wait for the answer to this one.
        self._beat_number = 0
        self._beat_sent_at = 0.0
        self._beat_at = 0.0  # Not before this is the next one sent.
        self._beat_timer: Timer | None = None

    # The stream.

    def open(self, connection: Connection) -> None:
        """Begins the stream. Without the lock."""
        self._open_timer = self._timers.at(boot_clock() + _OPEN_TIMEOUT, self._open_is_late)
        try:
            call = connection.call("Session")(self._messages(), None, connection.metadata or None)
        except ValueError:  # The channel is closed.
            self._on_end(None)
            return
        with self._lock:
            self._call = call
            must_end = self._must_end
        if must_end:
            call.cancel()
        threading.Thread(
            target=self._read, args=(call, connection), name="lockkeeper-session", daemon=True
        ).start()

    def _messages(self) -> Iterator[Any]:
        yield self._open_message
        while True:
            self._wake.get()
            with self._lock:
                self._is_awake = False
                message = self._next_message()
                if message is None and self._may_close_writes():
                    self._writes_closed = True
                    return
                if message is not None:
                    self._wake_up()  # There may be more.
            if message is not None:
                yield message

    def _read(self, call: Any, connection: Connection) -> None:
        try:
            for message in call:
                self._on_message(message)
        except grpc.RpcError:
            pass
        if call.code() is grpc.StatusCode.UNAVAILABLE:
            connection.connect_again()
        self._on_end(call.code())

    def _open_is_late(self) -> None:
        if not self._was_open:
            self.break_off(retired=False)

    def break_off(self, retired: bool = True) -> None:
        with self._lock:
            self._must_end = True
            self._is_broken = retired
            if not retired and self._state == "opening":
                self._state = "retiring"
            call = self._call
        if call is not None:
            call.cancel()

    def retire(self) -> None:
        """Takes no new operations, and closes the stream once all are answered."""
        with self._lock:
            if self._state != "ended":
                self._state = "retiring"
                self._leases_leave()
                self._wake_up()

    def _may_close_writes(self) -> bool:
        if self._state == "ended":
            return True
        is_idle = not self._entries and not self._adopting and not self._to_adopt
        return self._state == "retiring" and self._was_open and is_idle

    def _wake_with_lock(self) -> None:
        with self._lock:
            self._wake_up()

    def _wake_up(self) -> None:
        if not self._is_awake:
            self._is_awake = True
            self._wake.put(None)

    @property
    def is_usable(self) -> bool:
        return self._state == "open" and not self._is_suspect

    # What is written.

    def run(self, operation: Operation) -> bool:
        """Sends the operation. False if this session takes no more, or none at the moment."""
        with self._lock:
            if self._state not in ("opening", "open") or self._is_suspect or self._is_broken:
                return False
            # Waiting acquires must not take all the places, because renewals need some.
            if operation.waits and 0 < self._sent_max // 2 <= len(self._waiting):
                return False
            self._last_number = number = self._last_number + 1
            operation.number = number
            operation.link = self
            self._entries[number] = operation
            if operation.waits:
                self._waiting.add(number)
            self._queue.append(operation)
            heapq.heappush(self._deadlines, (operation.deadline, number))
            if operation.deadline < self._looks_at:
                self._look_at(operation.deadline)
            if self._is_awake:
                return True
            later = self._sessions.later
            if later is None or not later(self._wake_with_lock):
                self._wake_up()
        return True

    def adopt(self, operation: Operation, lease_id: str) -> bool:
        """Like `run`, for the operation that takes a lease over. False while an earlier one of
        the lease has no answer, which could not be told from that to this one. With the lock;
        while usable."""
        if lease_id in self._adopting:
            return False
        operation.link = self
        timer = self._timers.at(
            operation.deadline, lambda: self._adopt_is_late(operation, lease_id)
        )
        self._adopting[lease_id] = operation, timer
        self._to_adopt.append(operation)
        self._wake_up()
        return True

    def cancel(self, operation: Operation) -> bool:
        """Answers the operation with CANCELLED. False if this session does not have it."""
        with self._lock:
            if self._entries.get(operation.number) is not operation:
                return False
            self._give_up(operation)
        operation.finish(service_error("CANCELLED", "cancelled by the caller"))
        return True

    def forget(self, name: str, lease_id: str) -> None:
        """Leaves a lease to its ttl, which a heartbeat for others would extend. With the lock."""
        if self._state != "ended":
            self._to_forget.append(messages.SessionForget(name=name, lease_id=lease_id))
            self._wake_up()

    def _give_up(self, operation: Operation) -> None:
        """It is answered without the daemon. Once sent, its place stays taken until its answer."""
        number = operation.number
        if number not in self._sent:
            self._remove(number)
        else:
            self._entries[number] = None
            if operation.waits:
                self._cancels.append(number)
        self._wake_up()

    def _remove(self, number: int) -> Operation | None:
        self._waiting.discard(number)
        self._sent.discard(number)
        return self._entries.pop(number, None)

    def _next_message(self) -> Any:
        if self._state not in ("open", "retiring") or not self._was_open:
            return None
        while self._cancels:
            number = self._cancels.popleft()
            if number in self._entries:
                message = messages.SessionRequest()
                message.cancel.operation_id = number
                return message
        if self._to_forget:
            return messages.SessionRequest(forget=self._to_forget.popleft())
        if self._to_adopt:
            operation = self._to_adopt.popleft()
            operation.sent_at = boot_clock()
            return messages.SessionRequest(adopt=operation.request)
        if self._due and self._beating is None and self._beat_timer is None:
            return self._beat()
        return self._next_batch()

    def _next_batch(self) -> Any:
        message = messages.SessionRequest()
        add = message.batch.operations.add
        now = boot_clock()
        size = count = 0
        while self._queue and count < _BATCH_MAX and len(self._sent) < self._sent_max:
            operation = self._queue[0]
            number = operation.number
            if self._entries.get(number) is not operation:
                self._queue.popleft()  # It was cancelled.
                continue
            size += operation.request.ByteSize() + _OPERATION_HEAD_BYTES
            size += bytes_of_trace(operation.trace)
            if size > _BATCH_BYTES_MAX:
                break
            self._queue.popleft()
            self._sent.add(number)
            operation.sent_at = now
            sent = add()
            sent.id = number
            getattr(sent, operation.kind).CopyFrom(operation.request)
            for field, value in operation.trace:
                setattr(sent, field, value)
            count += 1
        return message if count else None

    # What is read.

    def _on_message(self, message: Any) -> None:
        answered: _Done = []
        drains = False
        with self._lock:
            self._heard_at = boot_clock()
            self._is_suspect = False
            match message.WhichOneof("message"):
                case "results":
                    for result in message.results.results:
                        self._take_result(result, answered)
                case "offer":
                    offer = messages.AcquireResponse(lease=message.offer.lease)
                    offer.lease.offered = True
                    self._take(message.offer.operation_id, offer, answered)
                case "heartbeat_result":
                    self._take_heartbeat(message.heartbeat_result)
                case "adopt_result":
                    self._take_adopted(message.adopt_result, answered)
                case "lease_lost":
                    self._take_lost(message.lease_lost)
                case "opened":
                    self._take_opened(message.opened)
                case "draining":
                    drains = True
            if self._queue or self._cancels or self._state == "retiring":
                self._wake_up()
        if drains:
            self._sessions.on_draining(self)
        _answer_all(answered)

    def _take_opened(self, opened: Any) -> None:
        allowed = opened.max_outstanding_operations
        # Not all of them: the server frees a place only after its answer has been written.
        self._sent_max = allowed - allowed // 4 if allowed > 0 else _OUTSTANDING_DEFAULT
        self._was_open = True
        self._open_timer.cancel()
        if self._state == "opening":
            self._state = "open"
        self._sessions.on_opened(self)
        self._wake_up()

    def _take_result(self, result: Any, answered: _Done) -> None:
        kind = result.WhichOneof("result")
        answer: Answer
        if kind == "error":
            answer = messages.error_of_operation(result.error)
        elif kind is None:
            answer = service_error("INTERNAL", "the result of an operation has no content")
        else:
            answer = getattr(result, kind)
        self._take(result.operation_id, answer, answered)

    def _take(self, number: int, answer: Answer, answered: _Done) -> None:
        operation = self._remove(number)
        if operation is None:
            self._leave_unclaimed(answer)
            return
        if self._ended_early and (lease_id := _plain(operation.request)) in self._ended_early:
            self._ended_early.discard(lease_id)
            answer = messages.outcome_unknown("the lease ended as it was granted")
        answered.append((operation, answer))

    def _leave_unclaimed(self, answer: Answer) -> None:
        """Forgets the lease that came too late for those who asked for it."""
        if not isinstance(answer, (messages.AcquireResponse, messages.ExtendResponse)):
            return
        lease = answer.lease
        if not lease.lease_id or lease.offered:
            return
        if lease.lease_id not in self._leases and not self._is_under_way(lease.lease_id):
            self.forget(lease.name, lease.lease_id)

    def _take_adopted(self, result: Any, answered: _Done) -> None:
        adopting = self._adopting.pop(result.lease_id, None)
        if adopting is None:
            if result.HasField("lease"):
                self.forget(result.name, result.lease_id)
            return
        operation, timer = adopting
        timer.cancel()
        if result.HasField("lease"):
            answered.append((operation, messages.ExtendResponse(lease=result.lease)))
        else:
            answered.append((operation, messages.error_of_operation(result.error)))

    def _take_lost(self, told: Any) -> None:
        lease = self._leases.get(told.lease_id)
        if lease is not None:
            lease.on_not_extended(messages.reason_name(told.reason))
        elif told.reason == messages.LEASE_LOST and self._is_under_way(told.lease_id):
            self._ended_early.add(told.lease_id)

    def _is_under_way(self, lease_id: str) -> bool:
        return any(
            operation is not None
            and operation.kind in ("acquire", "extend")
            and _plain(operation.request) == lease_id
            for operation in self._entries.values()
        )

    def _on_end(self, code: Any) -> None:
        with self._lock:
            end = self._kind_of_end(code)
            self._state = "ended"
            self._open_timer.cancel()
            if self._beat_timer is not None:
                self._beat_timer.cancel()
            unsent: list[Operation] = []
            sent: list[Operation] = []
            for number, operation in self._entries.items():
                if operation is not None:
                    (sent if number in self._sent else unsent).append(operation)
            for adopting in filter(None, self._adopting.values()):
                adopt, timer = adopting
                timer.cancel()
                sent.append(adopt)
            self._entries.clear()
            self._deadlines.clear()
            self._adopting.clear()
            self._leases_leave()
            self._wake_up()  # Ends the writing.
        self._sessions.on_end(self, end, unsent)
        cut = messages.outcome_unknown("the session broke before the answer came")
        _answer_all([(operation, cut) for operation in sent])
        self._sessions.on_gone(self)

    def _kind_of_end(self, code: Any) -> SessionEnd:
        if code is grpc.StatusCode.UNIMPLEMENTED:
            return SessionEnd.UNSUPPORTED
        if not self._was_open:
            return SessionEnd.RETIRED if self._is_broken else SessionEnd.NOT_OPENED
        if self._state == "retiring" or self._is_broken:
            return SessionEnd.RETIRED
        return SessionEnd.CUT

    def _look_at(self, time: float) -> None:
        """Looks for late operations then. Too early does no harm, and is cheaper than exact."""
        if self._look_timer is not None:
            self._look_timer.cancel()
        self._looks_at = time
        self._look_timer = self._timers.at(time, self._look)

    def _look(self) -> None:
        late: _Done = []
        with self._lock:
            now = boot_clock()
            while self._deadlines and self._deadlines[0][0] <= now:
                number = heapq.heappop(self._deadlines)[1]
                operation = self._entries.get(number)
                if operation is None:
                    continue
                is_sent = number in self._sent and not operation.waits
                if is_sent and self._heard_at < operation.sent_at:
                    self._is_suspect = True
                self._give_up(operation)
                late.append((operation, _late_error()))
            self._looks_at = float("inf")
            if self._deadlines:
                self._look_at(self._deadlines[0][0])
        _answer_all(late)

    def _adopt_is_late(self, operation: Operation, lease_id: str) -> None:
        with self._lock:
            adopting = self._adopting.get(lease_id)
            if adopting is None or adopting[0] is not operation:
                return
            if operation in self._to_adopt:
                self._to_adopt.remove(operation)
                del self._adopting[lease_id]
            else:
                self._adopting[lease_id] = None
            self._is_suspect = self._is_suspect or self._heard_at < operation.sent_at
        operation.finish(_late_error())

    # The heartbeat. A lease is kept here once the server has granted it to this session; it asks
    # for a heartbeat when it is due. All with the lock.

    def keep(self, lease: KeptLease) -> None:
        if self._state == "open":
            self._leases[lease.lease_id] = lease
            lease.link = self

    def leave(self, lease: KeptLease) -> None:
        self._leases.pop(lease.lease_id, None)
        lease.link = None

    def _leases_leave(self) -> None:
        for lease in self._leases.values():
            lease.link = None
        self._leases.clear()
        asked = [*(self._beating or ()), *self._due]
        self._due, self._beating = [], None
        for lease in asked:
            lease.on_beat_lost()

    def beat_for(self, lease: KeptLease) -> None:
        """The lease is due: keeps it with the next heartbeat, which soon is sent."""
        self._due.append(lease)
        if self._beating is not None or self._beat_timer is not None:
            return
        now = boot_clock()
        if now >= self._beat_at:
            self._wake_up()
            return
        self._beat_timer = self._timers.at(self._beat_at, self._beat_is_due)

    def _beat_is_due(self) -> None:
        with self._lock:
            self._beat_timer = None
            self._wake_up()

    def _beat(self) -> Any:
        self._beating, self._due = self._due, []
        self._beat_number += 1
        self._beat_sent_at = now = boot_clock()
        # Leases that are due a moment later share the next one.
        self._beat_at = now + min(lease.life.ttl for lease in self._beating) / 24
        message = messages.SessionRequest()
        message.heartbeat.number = self._beat_number
        return message

    def _take_heartbeat(self, result: Any) -> None:
        for told in result.not_extended:
            self._take_lost(told)
        if self._beating is None or result.number != self._beat_number:
            return
        sent_at = self._beat_sent_at
        for lease_id, reassertion in result.reassertions.items():
            if (lease := self._leases.get(lease_id)) is not None:
                lease.on_beat(sent_at, reassertion)
        if result.more:
            return
        asked, self._beating = self._beating, None
        for lease in asked:
            lease.on_beat(sent_at, None)
        if self._due:
            again, self._due = self._due, []
            for lease in again:
                self.beat_for(lease)

    def beat_is_late(self) -> None:
        if self._heard_at < self._beat_sent_at:
            self._is_suspect = True


def _plain(request: Any) -> str:
    """The request's lease id as the daemon spells it. The caller may have chosen a UUID."""
    lease_id: str = getattr(request, "lease_id", "")  # A fence has none.
    return lease_id.replace("-", "").lower()


def _late_error() -> Answer:
    return service_error("DEADLINE_EXCEEDED", "no answer came in time")


class Sessions:
    """Runs operations in a session, and by unary calls while there is none."""

    def __init__(
        self,
        lock: threading.RLock,
        timers: TimerThread,
        connection: Connection,
        unary: UnaryCalls,
        owner: str,
        jitter: Jitter,
        version: Callable[[], int],
        on_draining: Callable[[], None],
        later: Callable[[Work], bool] | None,
    ) -> None:
        self.lock = lock
        self.timers = timers
        self._connection = connection
        self._unary = unary
        self._owner = owner
        self._jitter = jitter
        self._version_now = version  # A session keeps the credentials that it was opened with.
        self._version = 0
        self._on_draining = on_draining
        self.later = later  # Runs work once what is to be sent with it is there, if it can.
        self._policy = SessionPolicy()
        self._link: Link | None = None
        self._is_open = False
        self._links: list[Link] = []
        self._all_gone = threading.Condition(lock)
        self._closed = False

    @property
    def link(self) -> Link | None:
        """The session in use, if it is usable at this moment."""
        return self._link if self._link is not None and self._link.is_usable else None

    def run(self, operation: Operation) -> None:
        # One that is too long would end the stream for all others.
        if operation.request.ByteSize() <= _OPERATION_BYTES_MAX:
            link = self._current()
            if link is not None and link.run(operation):
                return
        self._unary.run(operation)

    def cancel(self, operation: Operation) -> None:
        operation.cancelled = True
        link = operation.link
        if link is None or not link.cancel(operation):
            self._unary.cancel(operation)

    def _current(self) -> Link | None:
        version = self._version_now()
        with self.lock:
            if self._link is not None and self._version != version:
                self.retire()
            self._version = version
            may_wait = self._policy.may_wait
            if self._link is not None:
                return self._link if self._is_open or may_wait else None
            if self._closed or not self._policy.may_open(boot_clock()):
                return None
            link = self._link = Link(self, self._owner)
            self._links.append(link)
        link.open(self._connection)
        return link if may_wait else None

    def forget(self, name: str, lease_id: str) -> None:
        """With the lock."""
        for link in self._links:
            link.forget(name, lease_id)

    def retire(self) -> None:
        """The next operation opens a new session."""
        with self.lock:
            link, self._link, self._is_open = self._link, None, False
            if link is not None:
                link.retire()

    def on_opened(self, link: Link) -> None:
        if self._link is link:
            self._is_open = True
            self._policy.opened(boot_clock())

    def on_draining(self, link: Link) -> None:
        self._on_draining()
        with self.lock:
            if self._link is link:
                self.retire()

    def on_end(self, link: Link, end: SessionEnd, unsent: list[Operation]) -> None:
        with self.lock:
            closed = self._closed
            self._policy.ended(end, boot_clock(), self._jitter())
            if self._link is link:
                self._link, self._is_open = None, False
        for operation in unsent:
            if closed:
                operation.finish(service_error("CANCELLED", "the client is closed"))
            else:
                self._unary.run(operation)

    def on_gone(self, link: Link) -> None:
        with self.lock:
            self._links.remove(link)
            self._all_gone.notify_all()

    def close(self) -> None:
        """Ends the sessions, cleanly if the daemon answers soon."""
        with self.lock:
            self._closed = True
            for link in list(self._links):
                link.retire()
            self._all_gone.wait_for(lambda: not self._links, _GOOD_END_TIMEOUT)
            links = list(self._links)
        for link in links:
            link.break_off()
        with self.lock:
            self._all_gone.wait_for(lambda: not self._links, _GOOD_END_TIMEOUT)
        self._connection.close()
