# SPDX-License-Identifier: Apache-2.0
"""Why a call failed, and why a lock or a lease is not ours. Switch on types and reasons, not texts."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Reason(enum.StrEnum):
    """The reason of a ServiceError, as in lockkeeper.v1.ErrorReason, which says more about each."""

    INVALID_FIELD = "INVALID_FIELD"
    LEASE_LOST = "LEASE_LOST"
    LEASE_ENDED = "LEASE_ENDED"
    STORE_UNAVAILABLE = "STORE_UNAVAILABLE"
    OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"
    QUORUM_NOT_REACHED = "QUORUM_NOT_REACHED"
    ASSURANCE_NOT_REACHED = "ASSURANCE_NOT_REACHED"
    STORE_QUARANTINED = "STORE_QUARANTINED"
    SERVER_DRAINING = "SERVER_DRAINING"
    WAITER_LIMIT = "WAITER_LIMIT"
    LEASE_LIMIT = "LEASE_LIMIT"
    RATE_LIMIT = "RATE_LIMIT"
    STORE_CORRUPT = "STORE_CORRUPT"
    FORMAT_TOO_NEW = "FORMAT_TOO_NEW"
    INVARIANT_VIOLATED = "INVARIANT_VIOLATED"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    AUDIT_UNAVAILABLE = "AUDIT_UNAVAILABLE"


class ContentionReason(enum.StrEnum):
    """Why a lock was not granted."""

    HELD = "HELD"
    WAIT_TIMED_OUT = "WAIT_TIMED_OUT"
    CANCELLED = "CANCELLED"  # Its lease id was released while it waited.
    CLOSED = "CLOSED"  # Nobody holds it, but it stays closed for a time after its last lease.


class LossCause(enum.StrEnum):
    """Why a lease is lost."""

    LEASE_LOST = "LEASE_LOST"  # The service said that it has ended.
    RENEWALS_FAILED = "RENEWALS_FAILED"  # Its end came near, and the renewals had failed.
    MAX_HOLD = "MAX_HOLD"
    PAUSED = "PAUSED"  # Its end came near, and no renewal was sent: the process was paused.
    FORKED = "FORKED"  # It is the lease of the parent process.


class LockkeeperError(Exception):
    """All errors of this package."""


class ServiceError(LockkeeperError):
    """A call failed. `code` is gRPC's name of the code, such as "UNAVAILABLE"."""

    def __init__(
        self,
        code: str,
        message: str,
        reason_name: str = "",
        field: str = "",
        retry_delay: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason_name = reason_name  # Also one that this version does not know.
        self.reason = Reason(reason_name) if reason_name in Reason.__members__ else None
        self.field = field  # Of INVALID_FIELD, such as "ttl".
        self.retry_delay = retry_delay  # Seconds before another try makes sense, if known.

    @property
    def is_unanswered(self) -> bool:
        """Whether another try, there or elsewhere, may succeed."""
        return self.code in ("UNAVAILABLE", "DEADLINE_EXCEEDED")


class InvalidArgument(ServiceError, ValueError):
    """An argument is missing, malformed or beyond its limit: see `field` and the message."""


class Unavailable(ServiceError):
    """No daemon, or no store, could serve the call. The reason says whether it had an effect."""


class DeadlineExceeded(ServiceError):
    """There was no answer in time. The call may have had its effect."""


class LimitReached(ServiceError):
    """A limit or a quota."""


class Unauthenticated(ServiceError):
    """The credentials of this client prove nothing to the daemon."""


class PermissionDenied(ServiceError):
    """The daemon's policy does not allow it."""


class Cancelled(ServiceError):
    """The caller cancelled the call, or closed the client."""


_TYPES: dict[str, type[ServiceError]] = {
    "INVALID_ARGUMENT": InvalidArgument,
    "UNAVAILABLE": Unavailable,
    "DEADLINE_EXCEEDED": DeadlineExceeded,
    "RESOURCE_EXHAUSTED": LimitReached,
    "UNAUTHENTICATED": Unauthenticated,
    "PERMISSION_DENIED": PermissionDenied,
    "CANCELLED": Cancelled,
}


def service_error(
    code: str,
    message: str,
    reason_name: str = "",
    field: str = "",
    retry_delay: float | None = None,
) -> ServiceError:
    """The error of this code, with its own type."""
    return _TYPES.get(code, ServiceError)(code, message, reason_name, field, retry_delay)


def invalid(field: str, problem: str) -> ServiceError:
    return service_error("INVALID_ARGUMENT", f"{field} {problem}", Reason.INVALID_FIELD, field)


@dataclass(frozen=True, slots=True)
class Contention:
    """Why a lock was not granted, and who has it."""

    reason: ContentionReason
    holder_owner: str
    remaining: float  # Seconds until the lock can become free by itself.
    position: int
    waiters: int


class NotAcquired(LockkeeperError):
    """Somebody else has the lock: `contention` says who."""

    def __init__(self, name: str, contention: Contention) -> None:
        by = f" by {contention.holder_owner!r}" if contention.holder_owner else ""
        match contention.reason:
            case ContentionReason.CLOSED:
                text = f"nobody holds {name!r}, but it is closed after its last lease"
            case ContentionReason.CANCELLED:
                text = f"{name!r} was not acquired: its lease id was released while it waited"
            case ContentionReason.WAIT_TIMED_OUT if by:
                text = f"{name!r} is still held{by} at the end of the wait"
            case ContentionReason.WAIT_TIMED_OUT:
                text = f"{name!r} did not become free in time"
            case _:
                text = f"{name!r} is held{by}"
        super().__init__(text)
        self.name = name
        self.contention = contention


class LeaseLost(LockkeeperError):
    """The lease has ended, or is about to: stop the work."""

    def __init__(self, name: str, cause: LossCause, error: ServiceError | None = None) -> None:
        detail = f": {error}" if error is not None else ""
        super().__init__(f"the lease of {name!r} is lost ({cause}){detail}")
        self.name = name
        self.cause = cause
        self.error = error


class LeaseReleased(LockkeeperError):
    """The lease was released, or detached, before."""


class Forked(LockkeeperError):
    """The lease, or the client, is that of the parent process: this one must not use it."""
