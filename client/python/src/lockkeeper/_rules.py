# SPDX-License-Identifier: Apache-2.0
"""When a lease is renewed and lost, and when a call is repeated. Pure: takes the time, does no I/O.

All times are seconds of the boot clock.
"""

from __future__ import annotations

import enum
import random
import time
from collections.abc import Callable

from .errors import LossCause, Reason, ServiceError

BACKOFF_FIRST = 0.05
BACKOFF_MAX = 1.0
TRY_TIMEOUT = 3.0  # A daemon that hangs must not use up the whole call.

SESSION_LIFE_MIN = 10.0  # A stream that lived so long was useful, even if it was cut then.
SHORT_SESSIONS_MAX = 3
PAUSE_AFTER_CUTS = 60.0
PAUSE_UNSUPPORTED = 300.0
PAUSE_NOT_OPENED_MAX = 60.0

Jitter = Callable[[], float]
random_jitter: Jitter = random.SystemRandom().random

if hasattr(time, "CLOCK_BOOTTIME"):

    def boot_clock() -> float:
        """Seconds of a clock that goes on while the machine sleeps and that nobody can set."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)
else:
    boot_clock = time.monotonic


def margin(remaining: float) -> float:
    """How much earlier than the store a lease counts as over: clocks differ, threads wake late."""
    return remaining / 100 + 0.05


def lease_end(sent: float, remaining: float) -> float:
    return sent + remaining - margin(remaining)


def stop_margin_max(ttl: float) -> float:
    """At least a twentieth of the ttl must lie between the regular renewal and the loss."""
    return max(0.0, ttl - margin(ttl) - ttl / 3 - ttl / 20)


def backoff(failures: int, longest: float, jitter: float) -> float:
    delay = min(BACKOFF_FIRST * 2.0 ** min(failures - 1, 30), longest)
    return delay / 2 * (1 + jitter)


class Extended(enum.Enum):
    """What became of one renewal."""

    YES = enum.auto()
    LOST = enum.auto()
    NO_ANSWER = enum.auto()  # It may have taken effect.
    REFUSED = enum.auto()


class Due(enum.Enum):
    NOTHING = enum.auto()
    EXTEND = enum.auto()
    LOSE = enum.auto()


class LeaseLife:
    """The life of one lease: when to extend it, and when it is lost."""

    __slots__ = (
        "_capped",
        "_failures",
        "_renew_at",
        "asking",
        "cause",
        "end",
        "last_error",
        "stop_margin",
        "ttl",
    )

    def __init__(
        self, ttl: float, max_hold: float, stop_margin: float, sent: float, remaining: float
    ) -> None:
        self.ttl = ttl
        self.stop_margin = stop_margin
        self.end = lease_end(sent, remaining)
        # The lease of a repeated acquire may be old already. Then it is extended at once.
        self._renew_at = sent if self._is_cut(remaining) else sent + ttl / 3
        self._capped = 0 < max_hold <= ttl
        self._failures = 0
        self.asking = False
        self.cause: LossCause | None = None
        self.last_error: ServiceError | None = None

    def _is_cut(self, remaining: float) -> bool:
        return remaining < self.ttl * 0.9  # The tenth allows for rounding.

    @property
    def lost_at(self) -> float:
        return self.end - self.stop_margin

    def next(self) -> tuple[Due, float]:
        if self.cause is not None:
            return Due.NOTHING, self.end
        if self.asking or self._capped or self._renew_at >= self.lost_at:
            return Due.LOSE, self.lost_at
        return Due.EXTEND, self._renew_at

    def extend_sent(self, now: float) -> float:
        """Returns how long to wait for the answer, so that a retry is possible after it."""
        self.asking = True
        return max((self.lost_at - now) / 2, 0.001)

    def extend_answered(
        self,
        now: float,
        sent: float,
        outcome: Extended,
        remaining: float,
        jitter: float,
        error: ServiceError | None = None,
    ) -> None:
        if self.lose_if_due(now):
            return
        self.asking = False
        self.last_error = error
        match outcome:
            case Extended.YES:
                self._failures = 0
                self.end = max(self.end, lease_end(sent, remaining))
                self._renew_at = max(now, sent + self.ttl / 3)
                self._capped = self._is_cut(remaining)
            case Extended.LOST:
                self.end = min(self.end, now)
                self.cause = LossCause.LEASE_LOST
            case Extended.NO_ANSWER:
                self._failures += 1
                longest = min(BACKOFF_MAX, self.ttl / 10)
                self._renew_at = now + backoff(self._failures, longest, jitter)
            case Extended.REFUSED:
                self._renew_at = now + self.ttl / 3

    def ask_again(self, now: float) -> None:
        """The renewal that was asked for was not sent."""
        self.asking = False
        self._renew_at = now

    def lose_if_due(self, now: float) -> bool:
        if self.cause is None and now >= self.lost_at:
            self.cause = self._cause_now()
        return self.cause is not None

    def _cause_now(self) -> LossCause:
        if self._capped:
            return LossCause.MAX_HOLD
        if self.asking or self.last_error is not None:
            return LossCause.RENEWALS_FAILED
        return LossCause.PAUSED

    def remaining(self, now: float) -> float:
        return max(0.0, self.end - now)


class RetryRule:
    """Whether a call is repeated, and after what delay."""

    __slots__ = ("_addresses", "_deadline", "_failures", "_jitter")

    def __init__(self, deadline: float, addresses: int, jitter: Jitter) -> None:
        self._deadline = deadline
        self._addresses = addresses
        self._jitter = jitter
        self._failures = 0

    def try_timeout(self, now: float) -> float:
        return max(min(self._deadline - now, TRY_TIMEOUT), 0.001)

    def delay_after(self, error: ServiceError, began: float, now: float) -> float | None:
        """The delay before the next attempt; None if there is none.

        All addresses are tried without delay. An attempt that lasted long, as in line, starts the
        delays anew: a long delay could cost it its place.
        """
        if not (error.is_unanswered or error.reason is Reason.RATE_LIMIT):
            return None
        if now - began > BACKOFF_MAX:
            self._failures = 0
        self._failures += 1
        delay = 0.0
        if self._failures % self._addresses == 0:
            delay = backoff(self._failures // self._addresses, BACKOFF_MAX, self._jitter())
        delay = max(delay, error.retry_delay or 0.0)
        return delay if now + delay < self._deadline else None


class SessionEnd(enum.Enum):
    UNSUPPORTED = enum.auto()  # The server, or a proxy, does not know the rpc.
    NOT_OPENED = enum.auto()
    CUT = enum.auto()  # It was open, and ended without our doing.
    RETIRED = enum.auto()  # We closed it.


class SessionPolicy:
    """Whether to open a session to a daemon."""

    __slots__ = ("_failures", "_next_at", "_opened_at", "_short_sessions")

    def __init__(self) -> None:
        self._next_at = 0.0
        self._opened_at = 0.0
        self._failures = 0
        self._short_sessions = 0

    def may_open(self, now: float) -> bool:
        return now >= self._next_at

    @property
    def may_wait(self) -> bool:
        """Whether operations may wait for the opening; else they go by unary calls until then."""
        return self._failures == 0

    def opened(self, now: float) -> None:
        self._opened_at = now
        self._failures = 0

    def ended(self, end: SessionEnd, now: float, jitter: float) -> None:
        match end:
            case SessionEnd.UNSUPPORTED:
                self._failures += 1
                self._next_at = now + PAUSE_UNSUPPORTED
            case SessionEnd.NOT_OPENED:
                self._failures += 1
                self._next_at = now + backoff(self._failures, PAUSE_NOT_OPENED_MAX, jitter)
            case SessionEnd.CUT if now - self._opened_at >= SESSION_LIFE_MIN:
                self._short_sessions = 0
            case SessionEnd.CUT:
                self._short_sessions += 1
                if self._short_sessions >= SHORT_SESSIONS_MAX:
                    self._failures += 1
                    self._next_at = now + PAUSE_AFTER_CUTS
            case SessionEnd.RETIRED:
                pass
