# SPDX-License-Identifier: Apache-2.0
"""Locks that a thread of their own keeps until they are released or lost.

    service = LockService("127.0.0.1:7600")
    with service.acquire("report", ttl=30, wait=60) as lock:
        for part in work:
            lock.check()  # raises LeaseLost
            write(part, lock.fencing_token)

Copy this file: it needs grpcio and the code made from the protos. See docs/guides/python.md.
"""
import os
import random
import secrets
import socket
import threading
import time

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2
from lockkeeper.v1 import lock_service_pb2 as pb
from lockkeeper.v1.lock_service_pb2_grpc import LockServiceStub

TRY_TIMEOUT = 2.0  # seconds that one try waits for its answer
GIVE_UP_AFTER = 10.0  # seconds that an acquire goes on trying, on top of its wait
STOP_MARGIN = 0.5  # seconds between "lost" and the end of the lease: time to stop the work
OWNER = f"{socket.gethostname()}/{os.getpid()}"
CHANNEL_OPTIONS = [
    ("grpc.keepalive_time_ms", 10_000), ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.max_pings_without_data", 0), ("grpc.enable_retries", 0),
    ("grpc.initial_reconnect_backoff_ms", 100), ("grpc.min_reconnect_backoff_ms", 2_000),
    ("grpc.max_reconnect_backoff_ms", 1_000), ("grpc.use_local_subchannel_pool", 1)]


class NotAcquired(Exception):
    """Somebody else has the lock: `contention` says who."""

    def __init__(self, contention):
        owner = contention.holder_owner
        super().__init__(f"held by '{owner}'" if owner else "not free")
        self.contention = contention


class LeaseLost(Exception):
    """The lease has ended, or is about to: stop the work."""


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)  # goes on while the machine sleeps


def duration(seconds):
    result = Duration()
    result.FromMicroseconds(round(seconds * 1e6))
    return result


def detail_of(error, detail):
    """The detail of a failed call that is of the type of `detail`; empty if there is none."""
    details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
    for packed in status_pb2.Status.FromString(details).details:
        packed.Unpack(detail)
    return detail


def reason_of(error):
    """Machine-readable reason of a failed call, such as LEASE_LOST. Empty: gRPC itself failed."""
    info = detail_of(error, error_details_pb2.ErrorInfo())
    return info.reason if info.domain == "lockkeeper" else ""


def may_be_repeated(error):
    return error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED,
                            grpc.StatusCode.CANCELLED)  # CANCELLED: a server that stops


class LockService:
    """Connections to the service. Thread-safe; one is enough for a process."""

    def __init__(self, server):
        # Extends never queue behind acquires that wait: those have a connection of their own.
        self._acquires = LockServiceStub(grpc.insecure_channel(server, CHANNEL_OPTIONS))
        self._others = LockServiceStub(grpc.insecure_channel(server, CHANNEL_OPTIONS))

    def acquire(self, name, ttl=30.0, wait=0.0, owner=OWNER):
        """Returns a HeldLock, after at most `wait` seconds in line. Raises NotAcquired."""
        request = pb.AcquireRequest(name=name, ttl=duration(ttl), owner=owner, confirm=wait > 0,
                                    lease_id=secrets.token_hex(16))  # the same for all tries
        wait_end = now() + wait
        try:
            while True:
                try:
                    return self._try_acquire(request, max(wait_end - now(), 0))
                except grpc.RpcError as error:
                    if reason_of(error) == "LEASE_ENDED" and request.attempt > 1:
                        # The lock changes hands often: it does not know the tries before.
                        request.lease_id, request.attempt = secrets.token_hex(16), 0
                    elif not may_be_repeated(error) and reason_of(error) != "LEASE_LOST":
                        raise
                    asked = detail_of(error, error_details_pb2.RetryInfo()).retry_delay
                    pause = max(random.uniform(0.1, 0.5), asked.ToTimedelta().total_seconds())
                    if now() + pause > wait_end + GIVE_UP_AFTER:
                        raise
                    time.sleep(pause)
        except BaseException as error:
            if not isinstance(error, NotAcquired) or request.attempt > 1:
                self._give_up(request)  # a try without an answer may have been granted
            raise

    def _give_up(self, request):
        try:
            self.release(request)
        except grpc.RpcError:
            pass  # the ttl, or the end of the connection, does it

    def _try_acquire(self, request, wait):
        request.attempt += 1
        request.wait_timeout.CopyFrom(duration(wait))
        sent = now()
        answer = self._acquires.Acquire(request, timeout=wait + TRY_TIMEOUT, wait_for_ready=True)
        if not answer.HasField("lease"):
            raise NotAcquired(answer.contention)
        lease = answer.lease
        if lease.offered:  # its turn has come: the lease counts from the extend that claims it
            sent = now()
            lease = self.extend(lease, TRY_TIMEOUT)
        return HeldLock(self, lease, sent, answer.lease.previous_lease_expired)

    def extend(self, lease, timeout):
        """Returns the lease as it is now, with what a later extend has to send."""
        request = pb.ExtendRequest(name=lease.name, lease_id=lease.lease_id)
        if not lease.offered:
            request.fencing_token, request.reassertion = lease.fencing_token, lease.reassertion
        # wait_for_ready: the call itself connects again, and leaves as soon as that is done.
        extended = self._others.Extend(request, timeout=timeout, wait_for_ready=True).lease
        extended.reassertion = extended.reassertion or lease.reassertion
        return extended

    def release(self, lease):
        """Returns whether the lease held the lock until now. Raises grpc.RpcError."""
        request = pb.ReleaseRequest(name=lease.name, lease_id=lease.lease_id)
        options = {"timeout": TRY_TIMEOUT / 2, "wait_for_ready": True}
        try:
            return self._others.Release(request, **options).released
        except grpc.RpcError as error:
            if not may_be_repeated(error):
                raise
        answer = self._others.Release(request, **options)
        return answer.released or answer.reason == pb.NOT_RELEASED_REASON_NOT_HOLDER

    def fence(self, name, token, live=False):
        """Returns whether `token` is the newest one of the lock and, if asked, its lease live."""
        request = pb.FenceRequest(name=name, fencing_token=token, require_live_lease=live)
        answer = self._others.Fence(request, timeout=TRY_TIMEOUT, wait_for_ready=True)
        return answer.verdict == pb.VERDICT_ADMITTED


class HeldLock:
    """A lease, renewed every third of its ttl. `lost` is set before it ends, whatever happens."""

    def __init__(self, service, lease, sent, previous_lease_expired):
        self.fencing_token = lease.fencing_token
        self.previous_lease_expired = previous_lease_expired
        self.lost = threading.Event()
        self._service = service
        self._lost_at = 0.0
        self._extended(lease, sent)
        self._released = threading.Event()
        threading.Thread(target=self._renew, daemon=True).start()

    def remaining(self):
        """Seconds until the lease is called lost."""
        return 0.0 if self.lost.is_set() else max(self._lost_at - now(), 0.0)

    def check(self):
        """Raises LeaseLost if it is. Also right after a pause in which no thread could run."""
        if self.remaining() == 0.0:
            raise LeaseLost(self._lease.name)

    def release(self):
        """Returns whether the lock was held until now. Raises grpc.RpcError."""
        self._released.set()
        return self.remaining() > 0 and self._service.release(self._lease)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        try:
            self.release()
        except grpc.RpcError:
            pass  # the lease ends by its ttl; the error of the work, if any, is what counts

    def _extended(self, lease, sent):
        ttl, remaining = (d.ToTimedelta().total_seconds() for d in (lease.ttl, lease.remaining_ttl))
        self._lease = lease
        # Counted from when the request was sent, less 1 % and 50 ms. An extend never shortens.
        self._lost_at = max(self._lost_at, sent + remaining * 0.99 - 0.05 - STOP_MARGIN)
        self._next_try = sent + remaining - ttl * 2 / 3

    def _renew(self):
        while not self._released.wait(max(min(self._next_try, self._lost_at) - now(), 0)):
            sent = now()
            if sent >= self._lost_at:
                break
            try:
                self._extended(self._service.extend(self._lease, (self._lost_at - sent) / 2), sent)
            except grpc.RpcError as error:
                if reason_of(error) == "LEASE_LOST":
                    break
                self._next_try = now() + random.uniform(0.1, 0.5)  # the old end stands
        if not self._released.is_set():
            self.lost.set()
