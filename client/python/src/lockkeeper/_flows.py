# SPDX-License-Identifier: Apache-2.0
"""The calls of a client, from the first attempt to the answer, without waiting for anything.

A flow is a generator. It yields steps, and is sent each back when it is done: a Call is an
operation at a daemon, a Pause passes, a ReleaseStep ends with its release. The blocking client
waits for a step with a lock, the asyncio one with a future.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any

from . import _messages as messages
from ._connections import Operation
from ._core import Core
from ._leases import KeptLease, Release
from ._messages import Granted
from ._rules import RetryRule, boot_clock, stop_margin_max
from ._threads import Timer
from ._tracing import active_trace_context
from .errors import (
    Contention,
    ContentionReason,
    Forked,
    LeaseLost,
    LeaseReleased,
    LossCause,
    NotAcquired,
    Reason,
    ServiceError,
    invalid,
    service_error,
)
from .options import (
    AcquireOptions,
    AdoptOptions,
    FenceResult,
    ReleaseResult,
    Seconds,
    check_known,
    not_negative,
    positive,
    seconds,
)

_TTL_DEFAULT = 30.0  # The server's.
_PLACE_KEPT = 30.0  # So long the store keeps a place in line after the last sign of life.

Done = Callable[[], object]


class Call:
    """An operation at one daemon."""

    __slots__ = ("_core", "_index", "operation")

    def __init__(self, core: Core, index: int, kind: str, request: Any, timeout: float) -> None:
        self._core = core
        self._index = index
        self.operation = Operation(kind, request, timeout, active_trace_context())

    def start(self, done: Done) -> None:
        self.operation.on_done = lambda _: done()
        self._core.daemons[self._index].run(self.operation)

    def cancel(self) -> None:
        self._core.daemons[self._index].cancel(self.operation)

    @property
    def answer(self) -> Any:
        return self.operation.answer


class Pause:
    """A time that passes; cancelled, it ends early."""

    __slots__ = ("_core", "_delay", "_done", "_timer", "is_cancelled")

    def __init__(self, core: Core, delay: float) -> None:
        self._core = core
        self._delay = delay
        self.is_cancelled = False

    def start(self, done: Done) -> None:
        self._done: Done | None = done
        self._timer: Timer = self._core.timers.at(boot_clock() + self._delay, self._end)

    def cancel(self) -> None:
        self.is_cancelled = True
        self._timer.cancel()
        self._end()

    def _end(self) -> None:
        with self._core.lock:
            done, self._done = self._done, None
        if done is not None:
            done()


class ReleaseStep:
    """A release, for as long as its caller waits for it."""

    __slots__ = ("_release",)

    def __init__(self, release: Release) -> None:
        self._release = release

    def start(self, done: Done) -> None:
        self._release.wait(done)

    def cancel(self) -> None:
        pass  # It goes on in the background.


Step = Call | Pause | ReleaseStep


def _left_nothing(error: ServiceError) -> bool:
    """Whether an acquire that ended so has neither a grant nor a place in line."""
    if error.reason is None:
        return error.code == "INVALID_ARGUMENT" and not error.reason_name
    return error.reason in _LEAVE_NOTHING


_LEAVE_NOTHING = {
    Reason.INVALID_FIELD,
    Reason.LEASE_ENDED,
    Reason.STORE_UNAVAILABLE,
    Reason.STORE_QUARANTINED,
    Reason.WAITER_LIMIT,
    Reason.LEASE_LIMIT,
    Reason.RATE_LIMIT,
    Reason.UNAUTHENTICATED,
    Reason.PERMISSION_DENIED,
    Reason.AUDIT_UNAVAILABLE,
    Reason.ASSURANCE_NOT_REACHED,
}


class Acquire:
    """One acquire."""

    def __init__(self, core: Core, name: str, options: AcquireOptions) -> None:
        check_known(options, AcquireOptions)
        self._core = core
        self._name = name
        self._wait = not_negative("wait", options.get("wait", 0.0))
        self._stop_margin = not_negative("stop_margin", options.get("stop_margin", 0.0))
        self._max_hold = seconds("max_hold", options.get("max_hold", 0.0))
        ttl = options.get("ttl")
        given_ttl = None if ttl is None else seconds("ttl", ttl)
        if given_ttl is not None and self._stop_margin > stop_margin_max(given_ttl):
            raise invalid("stop_margin", f"leaves no time to renew a lease of {given_ttl} s")
        self._is_our_id = not options.get("lease_id")
        # Longer than a lease, or a place in line, can outlive this call.
        self._patience = (given_ttl or _TTL_DEFAULT) + (_PLACE_KEPT if self._wait > 0 else 0.0)
        self.request = _acquire_request(core, name, options, given_ttl, self._max_hold)
        self._unresolved = False

    def flow(self) -> Generator[Step, None, KeptLease]:
        """Returns the lease. Raises NotAcquired, or a ServiceError."""
        try:
            return (yield from self._attempts())
        except NotAcquired:
            if self._unresolved:
                self._give_up()
            raise
        except ServiceError:
            if self._unresolved:
                self._give_up()
            raise
        except BaseException:  # The caller does not wait any longer.
            self._give_up()
            raise

    def _give_up(self) -> None:
        if self._is_our_id:
            self._core.release_in_background(self._name, self.request.lease_id, self._patience)

    def _attempts(self) -> Generator[Step, None, KeptLease]:
        core, request = self._core, self.request
        begin = now = boot_clock()
        wait_end = begin + self._wait
        rule = RetryRule(wait_end + core.settings.call_timeout, len(core.daemons), core.jitter)
        attempt = 0
        while True:
            attempt += 1
            request.attempt = attempt
            index = core.daemons.current
            rest = max(wait_end - now, 0.0)
            if rest > 0:
                messages.set_duration(request.wait_timeout, rest)
            else:
                request.ClearField("wait_timeout")
            timeout = rule.try_timeout(now + rest)
            call = Call(core, index, "acquire", request, rest + timeout)
            yield call
            answer = call.answer
            offer: Granted | None = None
            lapsed = False
            if not isinstance(answer, ServiceError):
                answer = messages.acquired(answer)
                if isinstance(answer, Granted) and answer.offered:
                    offer = answer
                    call = self._claim(index, min(max(offer.remaining, 0.001), timeout))
                    yield call
                    answer = call.answer
                    if not isinstance(answer, ServiceError):
                        answer = messages.extended(answer)
                    elif answer.reason is Reason.LEASE_LOST:
                        lapsed = True
                        answer = messages.outcome_unknown("the offer ended before it was claimed")
            if isinstance(answer, Granted):
                return self._hold(answer, offer, call.operation, now - begin)
            if isinstance(answer, Contention):
                raise NotAcquired(self._name, self._contention_of_the_wait(answer))
            if attempt > 1 and answer.reason is Reason.LEASE_ENDED and self._is_our_id:
                request.lease_id = core.new_lease_id()
                attempt = 0
                self._unresolved = False  # The old lease id can no longer get a grant.
                now = boot_clock()
                continue
            if offer is not None or not _left_nothing(answer):
                self._unresolved = True
            delay = rule.delay_after(answer, now, boot_clock())
            if delay is None:
                raise answer
            if not lapsed:
                core.daemons.failed(index)
            if delay > 0:
                pause = Pause(core, delay)
                yield pause
                if pause.is_cancelled:
                    raise service_error("CANCELLED", "the acquire was cancelled by its caller")
            now = boot_clock()

    def _claim(self, index: int, timeout: float) -> Call:
        request = messages.ExtendRequest(name=self._name, lease_id=self.request.lease_id)
        return Call(self._core, index, "extend", request, timeout)

    def _hold(
        self, granted: Granted, offer: Granted | None, operation: Operation, waited_before: float
    ) -> KeptLease:
        if offer is not None:
            granted.waited = offer.waited
            granted.previous_lease_expired = offer.previous_lease_expired
        if self._wait > 0:
            granted.waited += waited_before
        try:
            return self._core.hold(
                granted, operation, stop_margin=self._stop_margin, max_hold=self._max_hold
            )
        except ServiceError:
            self._core.release_in_background(self._name, granted.lease_id, self._patience)
            self._unresolved = False
            raise

    def _contention_of_the_wait(self, contention: Contention) -> Contention:
        if self._wait <= 0 or contention.reason is ContentionReason.CANCELLED:
            return contention
        return Contention(
            ContentionReason.WAIT_TIMED_OUT,
            contention.holder_owner,
            contention.remaining,
            contention.position,
            contention.waiters,
        )


def _acquire_request(
    core: Core, name: str, options: AcquireOptions, ttl: float | None, max_hold: float
) -> Any:
    request = messages.AcquireRequest()
    messages.set_text(request, "name", name)
    messages.set_text(request, "owner", options.get("owner") or core.owner)
    messages.set_text(request, "lease_id", options.get("lease_id") or core.new_lease_id())
    if ttl is not None:
        messages.set_duration(request.ttl, ttl)
    if max_hold:
        messages.set_duration(request.max_hold, max_hold)
    if options.get("wait"):
        request.confirm = True
    if "lock_delay" in options:
        messages.set_duration(request.lock_delay, seconds("lock_delay", options["lock_delay"]))
    if "hold_at_least" in options:
        hold_at_least = seconds("hold_at_least", options["hold_at_least"])
        messages.set_duration(request.hold_at_least, hold_at_least)
    if "min_assurance" in options:
        request.min_assurance = int(options["min_assurance"])
    labels = options.get("labels", {})
    if not isinstance(labels, Mapping):
        raise invalid("labels", f"must be a mapping, not {type(labels).__name__}")
    for key, value in labels.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise invalid("labels", "must have str as keys and values")
        try:
            request.labels[key] = value
        except (UnicodeError, ValueError) as error:
            raise invalid("labels", "are not Unicode text") from error
    return request


def _call(core: Core, kind: str, request: Any) -> Generator[Step, None, Operation]:
    """Repeats the call until there is an answer, or raises its error."""
    rule = RetryRule(boot_clock() + core.settings.call_timeout, len(core.daemons), core.jitter)
    while True:
        index = core.daemons.current
        began = boot_clock()
        call = Call(core, index, kind, request, rule.try_timeout(began))
        yield call
        answer = call.answer
        if not isinstance(answer, ServiceError):
            return call.operation
        delay = rule.delay_after(answer, began, boot_clock())
        if delay is None:
            raise answer
        core.daemons.failed(index)
        if delay > 0:
            yield Pause(core, delay)


def fence(
    core: Core, name: str, fencing_token: int, require_live: bool
) -> Generator[Step, None, FenceResult]:
    request = messages.FenceRequest(require_live_lease=require_live)
    messages.set_text(request, "name", name)
    _set_token(request, fencing_token)
    operation = yield from _call(core, "fence", request)
    return messages.fenced(operation.answer)


def _set_token(request: Any, fencing_token: object) -> None:
    if isinstance(fencing_token, bool) or not isinstance(fencing_token, int):
        raise invalid("fencing_token", f"must be an int, not {type(fencing_token).__name__}")
    if not 0 <= fencing_token < 2**53:
        raise invalid("fencing_token", f"must be 1 to 2^53 - 1, not {fencing_token}")
    request.fencing_token = fencing_token


def adopt(
    core: Core, name: str, lease_id: str, options: AdoptOptions
) -> Generator[Step, None, KeptLease]:
    check_known(options, AdoptOptions)
    request = messages.ExtendRequest()
    messages.set_text(request, "name", name)
    messages.set_text(request, "lease_id", lease_id)
    _set_token(request, options.get("fencing_token", 0))
    messages.set_text(request, "reassertion", options.get("reassertion", ""))
    ttl = positive("ttl", options["ttl"]) if options.get("ttl") is not None else None
    if ttl is not None:
        messages.set_duration(request.ttl, ttl)
    stop_margin = not_negative("stop_margin", options.get("stop_margin", 0.0))
    operation = yield from _call(core, "extend", request)
    operation.link = None  # An extend takes nothing over; the first renewal does.
    granted = messages.extended(operation.answer)
    if isinstance(granted, ServiceError):
        raise granted
    # Its max_hold is not known here.
    return core.hold(
        granted, operation, stop_margin=stop_margin, extend_ttl=ttl, is_bounded=True
    )


def extend(lease: KeptLease, ttl: Seconds | None) -> Generator[Step, None, float]:
    """The holder's own extend. Returns the time that is left."""
    core = lease.core
    check(lease)
    request = messages.ExtendRequest(
        name=lease.granted.name,
        lease_id=lease.lease_id,
        fencing_token=lease.granted.fencing_token,
        reassertion=lease.reassertion,
    )
    length = lease.extend_ttl
    if ttl is not None:
        # The session would go on to extend by a shorter one, while heartbeats count for the
        # regular one.
        length = max(positive("ttl", ttl), lease.life.ttl)
    if length is not None:
        messages.set_duration(request.ttl, length)
    try:
        operation = yield from _call(core, "extend", request)
    except ServiceError as error:
        lease.on_own_extend(boot_clock(), error)
        check(lease)
        raise
    granted = messages.extended(operation.answer)
    lease.on_own_extend(operation.sent_at, granted)
    check(lease)
    if isinstance(granted, ServiceError):
        raise granted
    return lease.remaining()


def check(lease: KeptLease) -> None:
    """Raises if the caller does not hold the lease now."""
    cause = lease.cause
    if cause is not None:
        raise LeaseLost(lease.granted.name, cause, lease.life.last_error)
    if lease.is_dropped:
        raise LeaseReleased(f"the lease of {lease.granted.name!r} was released before")


def release(lease: KeptLease) -> Generator[Step, None, ReleaseResult]:
    core = lease.core
    if core.forked:
        raise Forked(f"the lease of {lease.granted.name!r} is that of the parent process")
    with core.lock:
        begins = lease.release is None
        lost_by_word = lease.cause is LossCause.LEASE_LOST
        if begins and not lost_by_word:
            lease.release = core.release(lease)
        elif begins:
            lease.drop()
        ending = lease.release
    if ending is None:
        lease.wait_for_callbacks()
        return ReleaseResult.EXPIRED
    if begins:
        ending.begin()
    if ending.outcome is None:
        yield ReleaseStep(ending)
    lease.wait_for_callbacks()
    return _outcome(ending)


def begin_release(lease: KeptLease) -> None:
    """Nobody waits for its outcome."""
    next(release(lease), None)


def release_by_id(
    core: Core, name: str, lease_id: str
) -> Generator[Step, None, ReleaseResult]:
    patience = core.settings.call_timeout
    give_up_at = boot_clock() + patience
    ending = Release(core, name, lease_id, give_up_at, give_up_at + 1.0)
    ending.begin()
    if ending.outcome is None:
        yield ReleaseStep(ending)
    result = _outcome(ending)
    for lease in list(core.leases):
        if result and lease.lease_id == lease_id:
            ended = service_error("FAILED_PRECONDITION", "was released", Reason.LEASE_LOST)
            lease.on_own_extend(boot_clock(), ended)
    return result


def _outcome(ending: Release) -> ReleaseResult:
    outcome = ending.outcome
    if outcome is None:
        raise service_error(
            "DEADLINE_EXCEEDED",
            "the release was not answered in time; it goes on in the background",
        )
    if isinstance(outcome, ServiceError):
        raise outcome
    return outcome


def detach(lease: KeptLease) -> str:
    """Stops renewing without a release. Returns the lease id."""
    check(lease)
    with lease.core.lock:
        lease.leave()
    return lease.lease_id
