# SPDX-License-Identifier: Apache-2.0
"""Options and results of calls. Durations are seconds, as int or float, or a timedelta."""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TypedDict

from .errors import invalid

Seconds = float | timedelta


class Assurance(enum.IntEnum):
    """What the store has confirmed about a grant. A higher number implies the lower ones."""

    UNSPECIFIED = 0
    MEMORY = 1
    DISK = 2
    REPLICAS = 3
    QUORUM = 4


class ReleaseResult(enum.StrEnum):
    """What a release found. True in a condition only if the lock was held until the release."""

    RELEASED = "RELEASED"
    EXPIRED = "EXPIRED"  # The lease had ended before: its holder may have worked unprotected.
    NOT_HOLDER = "NOT_HOLDER"
    WAITER_REMOVED = "WAITER_REMOVED"

    def __bool__(self) -> bool:
        return self is ReleaseResult.RELEASED


class Verdict(enum.StrEnum):
    """What a fence found."""

    ADMITTED = "ADMITTED"
    STALE = "STALE"
    EXPIRED = "EXPIRED"
    UNKNOWN_TOKEN = "UNKNOWN_TOKEN"


@dataclass(frozen=True, slots=True)
class FenceResult:
    """True in a condition only if the token is admitted."""

    verdict: Verdict
    newest_fencing_token: int

    def __bool__(self) -> bool:
        return self.verdict is Verdict.ADMITTED


@dataclass(frozen=True, slots=True)
class Leader:
    """Who holds a lock, as an observer knows it."""

    fencing_token: int  # The term.
    owner: str  # For people.
    principal: str  # Authenticated identity. Empty: anonymous.


@dataclass(frozen=True, slots=True)
class Tls:
    """Whom to trust, and who this program is. PEM files, which are read again when they change."""

    ca_file: str = ""  # CAs that may sign a daemon's certificate. Empty: those of the system.
    certificate_file: str = ""  # With its chain. Given together with the key.
    key_file: str = ""  # Without a passphrase.
    server_name: str = ""  # Name that the daemon's certificate must be for. Empty: its host.


class Cancellation:
    """Ends calls early, from any thread. Those that it was given to raise Cancelled."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: set[Callable[[], None]] = set()
        self._requested = False

    @property
    def requested(self) -> bool:
        return self._requested

    def cancel(self) -> None:
        with self._lock:
            self._requested = True
            callbacks, self._callbacks = self._callbacks, set()
        for callback in callbacks:
            callback()

    def _add(self, callback: Callable[[], None]) -> None:
        with self._lock:
            if not self._requested:
                self._callbacks.add(callback)
                return
        callback()

    def _remove(self, callback: Callable[[], None]) -> None:
        with self._lock:
            self._callbacks.discard(callback)


class ClientOptions(TypedDict, total=False):
    """How to reach the service."""

    # If given, all hosts are reached over TLS, whether `tls://` is written or not.
    tls: Tls
    # File of a bearer token, read again when it changes. Only shown on encrypted connections, or
    # within this machine.
    token_file: str
    # Names this program for people: at most 256 bytes. Default: `host/pid`.
    owner: str
    # Longest time of one call, retries included; a wait comes on top. Default: 10 s.
    call_timeout: Seconds
    # Longest time that a release blocks; then it goes on in the background. Default: 2 s.
    release_timeout: Seconds
    # False: unary calls only, for a proxy that cuts streams.
    use_sessions: bool


class AcquireOptions(TypedDict, total=False):
    """How to acquire a lock. The daemon checks the limits, unless said otherwise."""

    # Length of the lease: each renewal sets its end to now + ttl. Default: the daemon's, 30 s.
    ttl: Seconds
    # Time to stand in line if the lock is not free. Default: 0, try once.
    wait: Seconds
    # Names the holder for people. Default: that of the client.
    owner: str
    # At most 8, kept with the lease for people.
    labels: Mapping[str, str]
    # Time for which the lock stays closed if this lease ends without a release. At most 1 min.
    lock_delay: Seconds
    # Longest time for which the lease is renewed. Default: no bound.
    max_hold: Seconds
    # Time after the grant for which the lock stays closed to others, even if it is released earlier.
    # At most 24 h. Default: 0.
    hold_at_least: Seconds
    # Least that the store has to confirm; else the acquire fails.
    min_assurance: Assurance
    # How long before its end the lease counts as lost, to stop the work in time. At most about half
    # of the ttl, which the client checks.
    stop_margin: Seconds
    # Lease id to use: 32 hex digits or a UUID. The caller can then repeat the acquire, and must
    # release the id itself if the outcome stays unknown. Default: a new random one.
    lease_id: str
    # Ends the acquire early.
    cancel: Cancellation


class AdoptOptions(TypedDict, total=False):
    """How to take over a lease by its id."""

    # Those of the former holder. With them the lease survives a store that has lost its state.
    fencing_token: int
    reassertion: str
    # As in AcquireOptions; the lease then runs on with this ttl. Default: as granted.
    ttl: Seconds
    stop_margin: Seconds


def check_known(options: Mapping[str, object], known: type) -> None:
    for name in options:
        if name not in known.__annotations__:
            raise TypeError(f"unknown option: {name}")


def seconds(field: str, value: object) -> float:
    """The duration in seconds."""
    if value.__class__ is float and -1e11 < value < 1e11:
        return value
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise invalid(field, f"must be seconds or a timedelta, not {type(value).__name__}")
    if not -1e11 < value < 1e11:
        raise invalid(field, f"is out of range: {value}")
    return float(value)


def positive(field: str, value: object) -> float:
    given = seconds(field, value)
    if given <= 0:
        raise invalid(field, f"must be positive, not {given}")
    return given


def not_negative(field: str, value: object) -> float:
    given = seconds(field, value)
    if given < 0:
        raise invalid(field, f"must not be negative, not {given}")
    return given
