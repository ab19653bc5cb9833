# SPDX-License-Identifier: Apache-2.0
"""The connections to one daemon: TLS, token, and the unary calls.

A daemon has one connection for the session and two for unary calls: acquires may stand in line for
minutes, and extends and releases must never queue behind them. Observers have one of their own.
"""

from __future__ import annotations

import ipaddress
import os
import threading
from collections.abc import Callable
from typing import Any

import grpc

from . import _messages as messages
from ._rules import boot_clock
from ._tracing import TraceContext
from .errors import ServiceError, invalid, service_error
from .options import Tls

ADDRESSES_MAX = 16
_FILE_BYTES_MAX = 1 << 20
_LOOK_EVERY = 1.0  # Seconds between two looks at whether files have changed.
_FORMS = "give `host:port`, `[v6]:port`, `unix:/path` or `tls://host:port`"

_SETTINGS = [
    # A session, or an acquire that waits, is a stream without data: without pings nobody would
    # notice that a daemon has gone. The daemon allows a ping every 5 s.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.max_pings_without_data", 0),
    # A call that no server has seen, because its connection was just ending, gRPC sends again: it
    # is still the same attempt. It repeats no other, since nobody gives it a policy, DNS included.
    ("grpc.enable_retries", 1),
    ("grpc.service_config_disable_resolution", 1),
    # Else channels to one address share one connection.
    ("grpc.use_local_subchannel_pool", 1),
    # gRPC's own, up to 120 s, outlast every lease.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.min_reconnect_backoff_ms", 2_000),
    # Daemons that are replaced one after the other have other addresses within seconds.
    ("grpc.dns_min_time_between_resolutions_ms", 1_000),
    # A daemon is never behind the proxy that the environment names for the web.
    ("grpc.enable_http_proxy", 0),
]


def check_address(address: object) -> str:
    if not isinstance(address, str):
        raise invalid("addresses", f"must be str, not {type(address).__name__}")
    if address.startswith("unix:"):
        if len(address) > len("unix:"):
            return address
    else:
        host, _, port = address.removeprefix("tls://").rpartition(":")
        in_brackets = len(host) > 2 and host[0] == "[" and host[-1] == "]"
        is_name = bool(host) and not set(host) & set("[]:/ ")
        is_port = port.isascii() and port.isdigit() and 1 <= int(port) <= 65535
        if is_port and (in_brackets or is_name):
            return address
    raise invalid("addresses", f"has `{address}`, which is no address: {_FORMS}")


def _is_on_this_machine(address: str) -> bool:
    if address.startswith("unix:"):
        return True
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _uses_tls(address: str, tls: Tls) -> bool:
    if address.startswith("tls://"):
        return True
    return tls != Tls() and not address.startswith("unix:")


class _File:
    """A file that is read again when it changes."""

    def __init__(self, option: str, path: str) -> None:
        self.option = option
        self.path = path
        self._seen: object = None
        self.content = b""

    def read(self) -> None:
        try:
            seen = self._look()
            with open(self.path, "rb") as file:
                content = file.read(_FILE_BYTES_MAX + 1)
        except OSError as error:
            raise invalid(self.option, f'"{self.path}": {error.strerror}') from error
        if len(content) > _FILE_BYTES_MAX:
            raise invalid(self.option, f'"{self.path}" is longer than 1 MiB')
        self._seen, self.content = seen, content

    def _look(self) -> object:
        # The path may lead to another file without that any file was written.
        found = os.stat(self.path)
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def has_changed(self) -> bool:
        try:
            return self._look() != self._seen
        except OSError:
            return False  # It is being replaced.


class Credentials:
    """What proves who we are and who the daemon is. `version` rises when any of it changes."""

    def __init__(self, tls: Tls, token_file: str, addresses: list[str]) -> None:
        if bool(tls.certificate_file) != bool(tls.key_file):
            lone = "certificate_file" if tls.certificate_file else "key_file"
            raise invalid(f"tls.{lone}", "needs its other half: certificate and key go together")
        for address in addresses:
            if token_file and not (_is_on_this_machine(address) or _uses_tls(address, tls)):
                raise invalid(
                    "token_file",
                    f"cannot be used: the connection to `{address}` is not encrypted, so that "
                    "anybody on the way could read the token; use TLS, or an address of this "
                    "machine",
                )
        self._tls = tls
        pems = [(n, getattr(tls, n)) for n in ("ca_file", "certificate_file", "key_file")]
        self._pems = {name: _File(f"tls.{name}", path) for name, path in pems if path}
        self._token = _File("token_file", token_file) if token_file else None
        self._lock = threading.Lock()
        self._next_look = 0.0
        self.version = 0
        self.metadata: list[tuple[str, str]] = []
        self._read()

    def _read(self) -> None:
        for file in self._pems.values():
            file.read()
            if b"-----BEGIN " not in file.content:
                raise invalid(file.option, f'"{file.path}" must be in PEM form')
        if self._token is not None:
            self._token.read()
            token = self._token.content.decode("ascii", "replace").strip()
            if not token or not token.isascii() or not token.isprintable():
                raise invalid("token_file", f'"{self._token.path}" must hold one line of ASCII')
            self.metadata = [("authorization", f"Bearer {token}")]
        self.version += 1

    def look(self) -> int:
        """Reads what has changed, and returns the version."""
        files = [*self._pems.values(), *([self._token] if self._token else [])]
        if not files or boot_clock() < self._next_look:
            return self.version
        with self._lock:
            self._next_look = boot_clock() + _LOOK_EVERY
            if any(file.has_changed() for file in files):
                try:
                    self._read()
                except ServiceError:
                    pass  # It is being written; the next look finds it whole.
            return self.version

    def open_channel(self, address: str) -> Any:
        target = address.removeprefix("tls://")
        if not _uses_tls(address, self._tls):
            return grpc.insecure_channel(target, _SETTINGS)
        content = {name: file.content for name, file in self._pems.items()}
        settings: list[tuple[str, int | str]] = list(_SETTINGS)
        if self._tls.server_name:
            settings.append(("grpc.ssl_target_name_override", self._tls.server_name))
        credentials = grpc.ssl_channel_credentials(
            content.get("ca_file"), content.get("key_file"), content.get("certificate_file")
        )
        return grpc.secure_channel(target, credentials, settings)


_OF_ADMIN = ("GetLock", "WatchLocks")


class Connection:
    """One channel, opened when it is first used, and opened anew when credentials change."""

    def __init__(self, address: str, credentials: Credentials) -> None:
        self._address = address
        self._credentials = credentials
        self._lock = threading.Lock()
        self._version = 0
        self._channel: Any = None
        self._calls: dict[str, Any] = {}
        self._is_watched = False
        self._closed = False

    def call(self, method: str) -> Any:
        """The rpc, ready to be called."""
        version = self._credentials.look()
        with self._lock:
            if self._closed:
                raise ValueError("the client is closed")
            if self._channel is None or version != self._version:
                # Calls that are under way keep the old channel alive until they end.
                self._version, self._calls, self._is_watched = version, {}, False
                self._channel = self._credentials.open_channel(self._address)
            call = self._calls.get(method)
            if call is None:
                call = self._calls[method] = self._make_call(method)
            return call

    def _make_call(self, method: str) -> Any:
        service = "admin.v1.AdminService" if method in _OF_ADMIN else "v1.LockService"
        path = f"/lockkeeper.{service}/{method}"
        if method == "Session":
            return self._channel.stream_stream(
                path,
                messages.SessionRequest.SerializeToString,
                messages.SessionResponse.FromString,
            )
        request = getattr(messages, f"{method}Request")
        response = getattr(messages, f"{method}Response")
        make = self._channel.unary_stream if method == "WatchLocks" else self._channel.unary_unary
        return make(path, request.SerializeToString, response.FromString)

    @property
    def metadata(self) -> list[tuple[str, str]]:
        return self._credentials.metadata

    def connect_again(self) -> None:
        """Goes on trying to connect. Older gRPC does that only while somebody watches."""
        with self._lock:
            if self._closed or self._channel is None or self._is_watched:
                return
            self._is_watched = True
            channel = self._channel

        def watch(state: Any) -> None:
            if state in (grpc.ChannelConnectivity.READY, grpc.ChannelConnectivity.SHUTDOWN):
                channel.unsubscribe(watch)
                with self._lock:
                    if self._channel is channel:
                        self._is_watched = False

        channel.subscribe(watch, try_to_connect=True)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            channel, self._channel, self._calls = self._channel, None, {}
        if channel is not None:
            channel.close()


Answer = Any  # The response message of the operation, or a ServiceError.


class Operation:
    """One request and its answer. `on_done` runs exactly once, on any thread."""

    __slots__ = (
        "answer",
        "call",
        "cancelled",
        "deadline",
        "kind",
        "link",
        "number",
        "on_done",
        "request",
        "sent_at",
        "trace",
        "waits",
    )

    def __init__(
        self, kind: str, request: Any, timeout: float, trace: TraceContext = ()
    ) -> None:
        self.kind = kind  # acquire, extend, release, fence, adopt
        self.request = request
        self.trace = trace  # Of the caller. A renewal has none.
        self.sent_at = boot_clock()  # Until it is sent: when it was made.
        self.deadline = self.sent_at + timeout
        self.waits = kind == "acquire" and request.HasField("wait_timeout")
        self.answer: Answer = None
        self.on_done: Callable[[Operation], object] = _nothing
        self.cancelled = False
        self.link: Any = None  # The session that has carried it. None: a unary call.
        self.number = 0  # In the session.
        self.call: Any = None

    def finish(self, answer: Answer) -> None:
        self.answer = answer
        self.on_done(self)


def _nothing(operation: Operation) -> None:
    pass


_METHODS = {"acquire": "Acquire", "extend": "Extend", "release": "Release", "fence": "Fence"}


class UnaryCalls:
    """Runs each operation as a unary call."""

    def __init__(self, address: str, credentials: Credentials) -> None:
        self._peer = address
        self._acquires = Connection(address, credentials)
        self._others = Connection(address, credentials)

    def run(self, operation: Operation) -> None:
        operation.link = None
        connection = self._acquires if operation.kind == "acquire" else self._others
        timeout = max(operation.deadline - boot_clock(), 0.001)
        operation.sent_at = boot_clock()
        try:
            method = connection.call(_METHODS[operation.kind])
            metadata = [*connection.metadata, *operation.trace]
            call = method.future(operation.request, timeout, metadata or None)
        except ValueError as error:  # The channel is closed, or the request has no bytes.
            operation.finish(service_error("CANCELLED", str(error)))
            return
        operation.call = call
        call.add_done_callback(lambda ended: self._ended(operation, connection, ended))
        if operation.cancelled:
            call.cancel()

    def _ended(self, operation: Operation, connection: Connection, call: Any) -> None:
        operation.call = None
        if call.code() is grpc.StatusCode.OK:
            operation.finish(call.result())
            return
        if operation.cancelled:
            operation.finish(service_error("CANCELLED", "cancelled by the caller"))
            return
        if call.code() is grpc.StatusCode.UNAVAILABLE:
            connection.connect_again()
        operation.finish(messages.error_of_call(call, self._peer))

    def cancel(self, operation: Operation) -> None:
        operation.cancelled = True
        if (call := operation.call) is not None:
            call.cancel()

    def close(self) -> None:
        self._acquires.close()
        self._others.close()
