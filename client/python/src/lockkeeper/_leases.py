# SPDX-License-Identifier: Apache-2.0
"""Leases that the client keeps: carries out what LeaseLife decides, and tells the holder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import _messages as messages
from ._connections import Operation
from ._messages import Granted
from ._rules import BACKOFF_MAX, Due, Extended, LeaseLife, backoff, boot_clock
from ._threads import Timer, Work
from ._tracing import active_trace_context
from .errors import LossCause, Reason, ServiceError, service_error
from .options import ReleaseResult

if TYPE_CHECKING:
    from ._core import Core
    from ._session import Link

_RELEASE_TRY_TIMEOUT = 1.0
_BEAT_TTL_MIN = 1.0  # A heartbeat is not exact enough for shorter leases.


class KeptLease:
    """One lease, renewed until it is lost, released or detached. Guarded by the client's lock."""

    __slots__ = (
        "_beat_deadline",
        "_beat_delay",
        "_callbacks_running",
        "_can_beat",
        "_is_alone",
        "_on_lost",
        "_on_lost_user",
        "_timer",
        "core",
        "extend_ttl",
        "granted",
        "is_dropped",
        "lease_id",
        "life",
        "link",
        "reassertion",
        "release",
    )

    def __init__(
        self,
        core: Core,
        granted: Granted,
        life: LeaseLife,
        extend_ttl: float | None,
        is_bounded: bool,
        answer_took: float,
    ) -> None:
        self.core = core
        self.granted = granted
        self.lease_id = granted.lease_id
        self.reassertion = granted.reassertion
        self.life = life
        self.link: Link | None = None  # The session that keeps it on the server's side.
        self.is_dropped = False
        self.extend_ttl = extend_ttl  # Given with each extend. None: the ttl as granted.
        # A heartbeat answers for all leases with a few words. What it cannot say exactly of a
        # lease, an extend has to.
        self._can_beat = (
            not is_bounded
            and extend_ttl is None
            and granted.ttl >= _BEAT_TTL_MIN
            and bool(granted.reassertion)
        )
        # The server extends what has less than two thirds of its ttl left, by its own count.
        self._beat_delay = min(granted.ttl / 30, 0.012 + answer_took)
        self._beat_deadline: float | None = None
        self._is_alone = False  # The heartbeat did not extend it: the next extend is its own.
        self._timer: Timer | None = None
        self._on_lost: list[Work] = []
        self._on_lost_user: list[Work] = []
        self._callbacks_running = 0
        self.release: Release | None = None

    # What the holder asks.

    @property
    def cause(self) -> LossCause | None:
        """Why it is lost. Looks at the clock: also true right after a pause of all threads."""
        if self.core.forked:
            return LossCause.FORKED
        life = self.life
        if life.cause is None and not self.is_dropped and boot_clock() >= life.lost_at:
            with self.core.lock:
                if not self.is_dropped and life.lose_if_due(boot_clock()):
                    self._lose()
        return life.cause

    def remaining(self) -> float:
        if self.is_dropped or self.core.forked:
            return 0.0
        return self.life.remaining(boot_clock())

    def on_lost(self, work: Work) -> None:
        """Runs `work`, which must not block, when it is lost; at once if it is."""
        with self.core.lock:
            if self.life.cause is None:
                self._on_lost.append(work)
                return
        work()

    def on_lost_user(self, work: Work) -> None:
        """The same on the callback thread, and not after a release."""
        with self.core.lock:
            if self.is_dropped:
                return
            self._on_lost_user.append(work)
            if self.life.cause is not None:
                self.core.callbacks.post(self._run_callbacks)

    def drop(self) -> None:
        """No more renewals, and no more callbacks."""
        with self.core.lock:
            if self.is_dropped:
                return
            if self.life.lose_if_due(boot_clock()):
                self._lose()
            self.is_dropped = True
            self._on_lost_user.clear()
            self._on_lost.clear()
            self._cancel_timer()
            self.core.leases.discard(self)
            if self.link is not None:
                self.link.leave(self)

    def leave(self) -> None:
        """Drops it without a release: it is to run out."""
        with self.core.lock:
            link = self.link
            self.drop()
            if link is not None:
                link.forget(self.granted.name, self.lease_id)

    def wait_for_callbacks(self) -> None:
        if not self._callbacks_running or self.core.callbacks.is_current():
            return
        with self.core.callback_ended:
            self.core.callback_ended.wait_for(lambda: not self._callbacks_running)

    # Renewals.

    def schedule(self) -> None:
        """With the lock."""
        self._cancel_timer()
        if self.is_dropped:
            return
        due, at = self.life.next()
        if due is Due.NOTHING:
            return
        if self._beat_deadline is not None:
            at = min(at, self._beat_deadline)
        elif due is Due.EXTEND and self._beats():
            at += self._beat_delay
        self._timer = self.core.timers.at(at, self._on_timer)

    def _beats(self) -> bool:
        return self._can_beat and not self._is_alone and self.link is not None

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_timer(self) -> None:
        operation = None
        with self.core.lock:
            if self.is_dropped or self.core.forked:
                return
            now = boot_clock()
            if self.life.lose_if_due(now):
                self._lose()
                return
            if self._beat_deadline is not None and now >= self._beat_deadline:
                if self.link is not None:
                    self.link.beat_is_late()
                self._beat_failed(service_error("DEADLINE_EXCEEDED", "no answer came in time"))
            due, at = self.life.next()
            if due is Due.EXTEND and now >= at:
                operation = self._renew(self.life.extend_sent(now))
            self.schedule()
        if operation is not None:
            self.core.run_for_lease(operation, self._on_extended)

    def _renew(self, timeout: float) -> Operation | None:
        """Asks the heartbeat, or returns the operation to run."""
        if self._beats() and self.link is not None and self.link.is_usable:
            self._beat_deadline = boot_clock() + timeout
            self.link.beat_for(self)
            return None
        proof = {
            "name": self.granted.name,
            "lease_id": self.lease_id,
            "fencing_token": self.granted.fencing_token,
            "reassertion": self.reassertion,
        }
        link = self.core.daemons.link
        if self._can_beat and not self._is_alone and self.link is None and link is not None:
            adopt = messages.SessionAdopt(**proof)
            operation = Operation("adopt", adopt, timeout)
            operation.on_done = self._on_extended
            if link.adopt(operation, self.lease_id):
                return None
        request = messages.ExtendRequest(**proof)
        if self.extend_ttl is not None:
            messages.set_duration(request.ttl, self.extend_ttl)
        return Operation("extend", request, timeout)

    def _on_extended(self, operation: Operation) -> None:
        answer = operation.answer
        told = answer if isinstance(answer, ServiceError) else messages.extended(answer)
        with self.core.lock:
            if self.is_dropped or self.life.cause is not None:
                if operation.kind == "adopt":
                    operation.link.forget(self.granted.name, self.lease_id)
                return
            if isinstance(told, ServiceError):
                outcome = _outcome_of(told)
                if operation.kind == "adopt" and outcome is not Extended.LOST:
                    outcome = Extended.NO_ANSWER
                    self._is_alone = True
                self._answered(operation.sent_at, outcome, 0.0, told)
                return
            self.reassertion = told.reassertion or self.reassertion
            self._is_alone = False
            if operation.kind == "adopt":
                operation.link.keep(self)
            self._answered(operation.sent_at, Extended.YES, told.remaining)

    def on_own_extend(self, sent: float, told: Granted | ServiceError) -> None:
        """The answer to an extend that the holder has called."""
        with self.core.lock:
            if self.is_dropped or self.life.cause is not None:
                return
            if isinstance(told, Granted):
                self.reassertion = told.reassertion or self.reassertion
                self._answered(sent, Extended.YES, told.remaining)
            elif _outcome_of(told) is Extended.LOST:
                self._answered(sent, Extended.LOST, 0.0, told)

    def _answered(
        self, sent: float, outcome: Extended, remaining: float, error: ServiceError | None = None
    ) -> None:
        self._beat_deadline = None
        now = boot_clock()
        self.life.extend_answered(now, sent, outcome, remaining, self.core.jitter(), error)
        if self.life.cause is not None:
            self._lose()
        else:
            self.schedule()

    def _beat_failed(self, error: ServiceError) -> None:
        self._is_alone = True
        self._answered(boot_clock(), Extended.NO_ANSWER, 0.0, error)

    # What heartbeats tell. With the lock.

    def on_beat(self, sent: float, reassertion: str | None) -> None:
        """It was extended, with a new proof; or, without one, it was not, and extends itself: the
        server may know that two thirds of its ttl are left, or may keep it no longer."""
        if self.is_dropped or self.life.cause is not None:
            return
        if reassertion is not None:
            self.reassertion = reassertion
            if self._can_beat:
                self._answered(sent, Extended.YES, self.life.ttl)
        elif self._beat_deadline is not None:
            self._beat_deadline = None
            self._is_alone = True
            self.life.ask_again(boot_clock())
            self.schedule()

    def on_beat_lost(self) -> None:
        """Its session keeps it no longer, and will not say whether the heartbeat extended it."""
        if self.is_dropped or self.life.cause is not None or self._beat_deadline is None:
            return
        self._beat_deadline = None
        self.life.ask_again(boot_clock())
        self.schedule()

    def on_not_extended(self, reason_name: str) -> None:
        if self.is_dropped or self.life.cause is not None:
            return
        error = service_error("UNAVAILABLE", "a heartbeat could not extend it", reason_name)
        if error.reason is Reason.LEASE_LOST:
            gone = service_error("FAILED_PRECONDITION", "the lease has ended", reason_name)
            self._answered(boot_clock(), Extended.LOST, 0.0, gone)
        elif self._can_beat:
            self._can_beat = error.reason is not Reason.LEASE_LIMIT
            self._beat_failed(error)

    # The loss.

    def _lose(self) -> None:
        """With the lock."""
        self._cancel_timer()
        self.core.leases.discard(self)
        if self.link is not None:
            self.link.forget(self.granted.name, self.lease_id)
            self.link.leave(self)
        on_lost, self._on_lost = self._on_lost, []
        for work in on_lost:
            work()
        if self._on_lost_user:
            self.core.callbacks.post(self._run_callbacks)

    def _run_callbacks(self) -> None:
        with self.core.lock:
            callbacks, self._on_lost_user = self._on_lost_user, []
            self._callbacks_running += 1
        try:
            for callback in callbacks:
                self.core.run_callback(callback)
        finally:
            with self.core.lock:
                self._callbacks_running -= 1
                self.core.callback_ended.notify_all()


def _outcome_of(error: ServiceError) -> Extended:
    if error.code == "FAILED_PRECONDITION" and error.reason is Reason.LEASE_LOST:
        return Extended.LOST
    return Extended.NO_ANSWER if error.is_unanswered else Extended.REFUSED


class Release:
    """One release, repeated until it is answered or `give_up_at` has passed."""

    __slots__ = (
        "_core",
        "_failures",
        "_give_up_at",
        "_listeners",
        "_request",
        "_trace",
        "_wait_until",
        "outcome",
    )

    def __init__(
        self, core: Core, name: str, lease_id: str, give_up_at: float, wait_until: float
    ) -> None:
        self._core = core
        self._request = messages.ReleaseRequest()
        messages.set_text(self._request, "name", name)
        messages.set_text(self._request, "lease_id", lease_id)
        self._trace = active_trace_context()  # Later attempts are made by another thread.
        self._give_up_at = give_up_at
        self._wait_until = wait_until  # So long its caller waits.
        self._failures = 0
        self._listeners: list[Callable[[], object]] = []
        self.outcome: ReleaseResult | ServiceError | None = None

    def begin(self) -> None:
        with self._core.lock:
            self._core.releases.add(self)
        self._try()

    def wait(self, listener: Callable[[], object]) -> None:
        """Tells the listener when it is done, or when its caller's time is up."""
        with self._core.lock:
            if self.outcome is None:
                self._listeners.append(listener)
                if self._failures > 0:
                    self._core.timers.at(self._wait_until, self._tell)
                return
        listener()

    def _tell(self) -> None:
        with self._core.lock:
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()

    def _try(self) -> None:
        timeout = _RELEASE_TRY_TIMEOUT
        if self._failures == 0:  # No timer is needed for a caller who waits for this one.
            timeout = max(min(timeout, self._wait_until - boot_clock()), 0.001)
        operation = Operation("release", self._request, timeout, self._trace)
        self._core.run_for_lease(operation, self._on_answer)

    def _on_answer(self, operation: Operation) -> None:
        answer = operation.answer
        if isinstance(answer, ServiceError):
            if answer.is_unanswered:
                with self._core.lock:
                    self._failures += 1
                    if self._listeners and self._failures == 1:
                        self._core.timers.at(self._wait_until, self._tell)
                delay = backoff(self._failures, BACKOFF_MAX, self._core.jitter())
                if boot_clock() + delay < self._give_up_at:
                    self._core.timers.at(boot_clock() + delay, self._try)
                    return
            with self._core.lock:
                self._core.daemons.forget(self._request.name, self._request.lease_id)
            self._finish(answer)
            return
        result = messages.released(answer)
        if result is ReleaseResult.NOT_HOLDER and self._failures > 0:
            result = ReleaseResult.RELEASED  # An attempt without an answer has released it.
        self._finish(result)

    def _finish(self, outcome: ReleaseResult | ServiceError) -> None:
        with self._core.lock:
            self.outcome = outcome
            self._core.releases.discard(self)
            self._core.idle.notify_all()
        self._tell()
