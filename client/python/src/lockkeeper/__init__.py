# SPDX-License-Identifier: Apache-2.0
"""Distributed locks with fencing tokens: the client of the lock daemon lockkeeperd.

    from lockkeeper import Client

    with Client("127.0.0.1:7600") as client:
        with client.lock("report", ttl=30, wait=60) as lease:
            write_report(lease.fencing_token)

lockkeeper.aio has the same for asyncio.
"""

from ._leadership import Leadership
from ._observer import Observer
from .client import Client, Lease, Lock
from .errors import (
    Cancelled,
    Contention,
    ContentionReason,
    DeadlineExceeded,
    Forked,
    InvalidArgument,
    LeaseLost,
    LeaseReleased,
    LimitReached,
    LockkeeperError,
    LossCause,
    NotAcquired,
    PermissionDenied,
    Reason,
    ServiceError,
    Unauthenticated,
    Unavailable,
)
from .options import (
    AcquireOptions,
    AdoptOptions,
    Assurance,
    Cancellation,
    ClientOptions,
    FenceResult,
    Leader,
    ReleaseResult,
    Seconds,
    Tls,
    Verdict,
)

__all__ = [
    "AcquireOptions",
    "AdoptOptions",
    "Assurance",
    "Cancellation",
    "Cancelled",
    "Client",
    "ClientOptions",
    "Contention",
    "ContentionReason",
    "DeadlineExceeded",
    "FenceResult",
    "Forked",
    "InvalidArgument",
    "Leader",
    "Leadership",
    "Lease",
    "LeaseLost",
    "LeaseReleased",
    "LimitReached",
    "Lock",
    "LockkeeperError",
    "LossCause",
    "NotAcquired",
    "Observer",
    "PermissionDenied",
    "Reason",
    "ReleaseResult",
    "Seconds",
    "ServiceError",
    "Tls",
    "Unauthenticated",
    "Unavailable",
    "Verdict",
]
