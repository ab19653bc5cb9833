# SPDX-License-Identifier: Apache-2.0
"""What a client is made of, shared by the blocking and the asyncio one."""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import socket
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence

import grpc

from . import _connections
from ._connections import Credentials, Operation, UnaryCalls
from ._leases import KeptLease, Release
from ._messages import Granted
from ._rules import Jitter, LeaseLife, boot_clock, margin, random_jitter, stop_margin_max
from ._session import Link, Sessions
from ._threads import CallbackThread, TimerThread, Work
from .errors import Forked, ServiceError, invalid, service_error
from .options import ClientOptions, Tls, check_known, positive

_log = logging.getLogger("lockkeeper")

CALL_TIMEOUT = 10.0
RELEASE_TIMEOUT = 2.0


class Settings:
    """The options of a client, checked."""

    def __init__(self, addresses: Sequence[object], options: ClientOptions) -> None:
        if not 1 <= len(addresses) <= _connections.ADDRESSES_MAX:
            limit = _connections.ADDRESSES_MAX
            raise invalid("addresses", f"must be 1 to {limit}, not {len(addresses)}")
        self.addresses = [_connections.check_address(address) for address in addresses]
        check_known(options, ClientOptions)
        self.tls = options.get("tls", Tls())
        self.token_file = options.get("token_file", "")
        self.owner = options.get("owner", "")
        self.call_timeout = positive("call_timeout", options.get("call_timeout", CALL_TIMEOUT))
        self.release_timeout = positive(
            "release_timeout", options.get("release_timeout", RELEASE_TIMEOUT)
        )
        self.use_sessions = options.get("use_sessions", True)


class Daemon:
    """One address, and the ways to it."""

    def __init__(self, core: Core, index: int, credentials: Credentials) -> None:
        address = core.settings.addresses[index]
        self.address = address
        self.unary = UnaryCalls(address, credentials)
        self.watching = _connections.Connection(address, credentials)
        self.sessions: Sessions | None = None
        if core.settings.use_sessions:
            self.sessions = Sessions(
                core.lock,
                core.timers,
                _connections.Connection(address, credentials),
                self.unary,
                core.owner,
                core.jitter,
                credentials.look,
                lambda: core.daemons.failed(index),
                core.later,
            )

    def run(self, operation: Operation) -> None:
        (self.sessions or self.unary).run(operation)

    def cancel(self, operation: Operation) -> None:
        (self.sessions or self.unary).cancel(operation)


class Daemons:
    """The daemons of one service, and which of them is in use."""

    def __init__(self, core: Core, credentials: Credentials) -> None:
        self._all = [Daemon(core, i, credentials) for i in range(len(core.settings.addresses))]
        self._lock = core.lock
        self.current = 0

    def __len__(self) -> int:
        return len(self._all)

    def __getitem__(self, index: int) -> Daemon:
        return self._all[index]

    @property
    def link(self) -> Link | None:
        sessions = self._all[self.current].sessions
        return sessions.link if sessions is not None else None

    def failed(self, index: int) -> None:
        """This one did not serve: moves on, unless that was already done."""
        with self._lock:
            if self.current == index:
                self.current = (index + 1) % len(self._all)

    def forget(self, name: str, lease_id: str) -> None:
        """Has no session keep the lease any more, which then runs out. With the lock."""
        for daemon in self._all:
            if daemon.sessions is not None:
                daemon.sessions.forget(name, lease_id)

    def close(self) -> None:
        for daemon in self._all:
            if daemon.sessions is not None:
                daemon.sessions.close()
        for daemon in self._all:
            daemon.unary.close()
            daemon.watching.close()


class Core:
    """Connections, threads and leases of one client in one process."""

    def __init__(self, settings: Settings, later: Callable[[Work], bool] | None) -> None:
        global _grpc_was_used
        if _grpc_is_of_the_parent:
            # Its connections would share an epoll set with the parent, and crash it.
            raise Forked(
                "this process was forked from one that had used lockkeeper, so gRPC does not work "
                "in it: use the client in only one of both, or start the parent with "
                "GRPC_ENABLE_FORK_SUPPORT=true and grpcio 1.59 or later, which makes each fork wait "
                "for up to a second"
            )
        _grpc_was_used = True
        self.settings = settings
        self.later = later
        self.owner = settings.owner or f"{socket.gethostname()}/{os.getpid()}"
        # Guards all state of sessions and leases. Reentrant, as they call one another.
        self.lock = threading.RLock()
        self.idle = threading.Condition(self.lock)
        self.callback_ended = threading.Condition(self.lock)
        self.jitter: Jitter = random_jitter
        self.forked = False
        self.closed = False
        self.leases: set[KeptLease] = set()
        self.releases: set[Release] = set()
        self._lease_ids: deque[str] = deque()
        credentials = Credentials(settings.tls, settings.token_file, settings.addresses)
        self.timers = TimerThread()
        self.callbacks = CallbackThread()
        self.daemons = Daemons(self, credentials)
        _cores.add(self)

    def new_lease_id(self) -> str:
        """128 random bits. A lease id is a credential, so they are the system's."""
        try:
            return self._lease_ids.pop()
        except IndexError:
            digits = os.urandom(16 * 64).hex()  # One call of the system for many.
            self._lease_ids.extend(digits[i : i + 32] for i in range(32, len(digits), 32))
            return digits[:32]

    def run_for_lease(self, operation: Operation, on_done: Callable[[Operation], object]) -> None:
        """Runs it at the daemon in use."""
        index = self.daemons.current

        def done(answered: Operation) -> None:
            if isinstance(answered.answer, ServiceError) and answered.answer.is_unanswered:
                self.daemons.failed(index)
            on_done(answered)

        operation.on_done = done
        self.daemons[index].run(operation)

    def run_callback(self, callback: Work) -> None:
        try:
            callback()
        except Exception:
            _log.exception("a callback of a lease failed")

    def hold(
        self,
        granted: Granted,
        operation: Operation,
        *,
        stop_margin: float = 0.0,
        max_hold: float = 0.0,
        extend_ttl: float | None = None,
        is_bounded: bool = False,
    ) -> KeptLease:
        """Begins to keep the lease of this answer. Raises if it cannot be kept."""
        ttl = extend_ttl if extend_ttl is not None else granted.ttl
        if stop_margin > stop_margin_max(ttl):
            raise invalid("stop_margin", f"leaves no time to renew a lease of {ttl} s")
        life = LeaseLife(ttl, max_hold, stop_margin, operation.sent_at, granted.remaining)
        now = boot_clock()
        if life.lost_at <= now:
            raise service_error(
                "DEADLINE_EXCEEDED", "the answer arrived after the lease had ended"
            )
        took = now - operation.sent_at
        lease = KeptLease(self, granted, life, extend_ttl, is_bounded or max_hold > 0, took)
        with self.lock:
            if self.closed:
                raise service_error("CANCELLED", "the client is closed")
            self.leases.add(lease)
            if operation.link is not None:
                operation.link.keep(lease)
            lease.schedule()
        return lease

    def release(self, lease: KeptLease) -> Release:
        """Stops renewing it. Returns its release, to be begun."""
        remaining = lease.remaining()
        lease.drop()
        patience = max(remaining + margin(remaining), self.settings.release_timeout)
        now = boot_clock()
        return Release(
            self,
            lease.granted.name,
            lease.lease_id,
            now + patience,
            now + self.settings.release_timeout,
        )

    def release_in_background(self, name: str, lease_id: str, patience: float) -> None:
        give_up_at = boot_clock() + patience
        Release(self, name, lease_id, give_up_at, give_up_at).begin()

    def close(self) -> None:
        """Releases all leases, for at most release_timeout, and ends all threads."""
        with self.lock:
            if self.closed or self.forked:
                return
            self.closed = True
            leases = list(self.leases)
        _cores.discard(self)
        for lease in leases:
            lease.release = self.release(lease)
            lease.release.begin()
        with self.lock:
            self.idle.wait_for(lambda: not self.releases, self.settings.release_timeout)
        self.daemons.close()
        self.timers.stop()
        self.callbacks.stop()


_cores: weakref.WeakSet[Core] = weakref.WeakSet()
_grpc_was_used = False
_grpc_is_of_the_parent = False
# gRPC reads it when it is imported. On a busy machine the child of grpcio 1.51 may get no answers.
_grpc_knows_fork = os.environ.get("GRPC_ENABLE_FORK_SUPPORT", "").lower() in (
    "1",
    "true",
    "yes",
    "y",
    "on",
    "t",
) and [int(part) for part in grpc.__version__.split(".")[:2]] >= [1, 59]


def _after_fork_in_child() -> None:
    global _grpc_is_of_the_parent
    _grpc_is_of_the_parent = _grpc_was_used and not _grpc_knows_fork
    for core in list(_cores):
        core.forked = True
        # Never destroyed: gRPC's destructors would act on sockets and on an epoll set that the
        # child shares with its parent.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(core))
    _cores.clear()


def _close_all() -> None:
    for core in list(_cores):
        core.close()


os.register_at_fork(after_in_child=_after_fork_in_child)
atexit.register(_close_all)
