# SPDX-License-Identifier: Apache-2.0
"""The real daemon and its Redis as processes of one case, and a caller that looks at them from outside."""

import os
import signal
import socket
import subprocess
import threading
import time
import uuid

import grpc
from google.protobuf.duration_pb2 import Duration
from lockkeeper.admin.v1 import admin_service_pb2, admin_service_pb2_grpc
from lockkeeper.v1 import lock_service_pb2, lock_service_pb2_grpc

START_LIMIT = 30


def duration(millis):
    return Duration(seconds=millis // 1000, nanos=millis % 1000 * 1_000_000)


def millis(proto):
    return proto.seconds * 1000 + proto.nanos // 1_000_000


class Redis:
    """A redis-server on a unix socket, without persistence."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "redis.sock")
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.path, "--save", "", "--dir", folder],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + START_LIMIT
        while True:
            try:
                if self.run("PING").startswith(b"+PONG"):
                    return
            except OSError:
                pass
            if time.monotonic() > until or self.process.poll() is not None:
                raise RuntimeError("redis-server does not start")
            time.sleep(0.01)  # between two looks at a condition

    @property
    def url(self):
        return "unix://" + self.path

    def run(self, command):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(self.path)
            connection.sendall(command.encode() + b"\r\n")
            return connection.recv(4096)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Daemon:
    """A lockkeeperd; started again, it listens elsewhere: a gate hides that."""

    def __init__(self, program, folder, name, redis=None, tls=False):
        self._program, self._folder, self._name, self._redis = program, folder, name, redis
        self._listen = ["--listen", "127.0.0.1:0"]
        if tls:
            self._listen = ["--listen", "tls://127.0.0.1:0", "--tls-cert", "daemon.pem", "--tls-key", "daemon.key"]
        self.start()

    def start(self):
        store = ["--redis", self._redis.url] if self._redis else ["--embedded", "--data-dir", os.path.join(self._folder, self._name)]
        self._log = open(os.path.join(self._folder, self._name + ".log"), "ab")
        self.process = subprocess.Popen(
            [self._program, *store, *self._listen, "--http-listen", ""],
            cwd=self._folder, stdout=subprocess.PIPE, stderr=self._log)
        line = []
        reader = threading.Thread(target=lambda: line.append(self.process.stdout.readline().decode()), daemon=True)
        reader.start()
        reader.join(START_LIMIT)
        addresses = [word[len("grpc="):] for word in (line or [""])[0].split() if word.startswith("grpc=")]
        if not addresses:
            self.kill()
            raise RuntimeError(f"{self._program} does not start: see {self._log.name}")
        self.address = addresses[0]

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        """Ends it, however it is."""
        if self.process.poll() is None and not self._redis:
            # The embedded redis-server ends with its daemon, if the daemon may say so.
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                pass
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self._log.close()


class Outsider:
    """Another client of the service, straight on the protos."""

    def __init__(self, address):
        self._channel = grpc.insecure_channel(address)
        self._locks = lock_service_pb2_grpc.LockServiceStub(self._channel)
        self._admin = admin_service_pb2_grpc.AdminServiceStub(self._channel)

    def close(self):
        self._channel.close()

    def acquire(self, name, owner="somebody", ttl=30_000, wait=0, **fields):
        lease_id = uuid.uuid4().hex
        answer = self._locks.Acquire(lock_service_pb2.AcquireRequest(
            name=name, lease_id=lease_id, ttl=duration(ttl), wait_timeout=duration(wait), owner=owner, attempt=1),
            timeout=wait / 1000 + 10, wait_for_ready=True)
        if not answer.HasField("lease"):
            return {"granted": False}
        return {"granted": True, "leaseId": answer.lease.lease_id, "token": answer.lease.fencing_token,
                "previousLeaseExpired": answer.lease.previous_lease_expired}

    def release(self, name, leaseId):
        answer = self._locks.Release(lock_service_pb2.ReleaseRequest(name=name, lease_id=leaseId), timeout=10)
        return {"released": answer.released}

    def fence(self, name, token, requireLive=False):
        answer = self._locks.Fence(lock_service_pb2.FenceRequest(
            name=name, fencing_token=token, require_live_lease=requireLive), timeout=10)
        return {"verdict": lock_service_pb2.Verdict.Name(answer.verdict).removeprefix("VERDICT_")}

    def get(self, name):
        try:
            lock = self._admin.GetLock(admin_service_pb2.GetLockRequest(name=name), timeout=10, wait_for_ready=True).lock
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.NOT_FOUND:
                return {"state": "NONE", "waiters": 0, "lastEnd": ""}
            raise
        return {
            "state": admin_service_pb2.LockState.Name(lock.state).removeprefix("LOCK_STATE_"),
            "token": lock.fencing_token, "owner": lock.owner, "labels": dict(lock.labels), "waiters": lock.waiters,
            "remaining": millis(lock.remaining_ttl), "closedFor": millis(lock.closed_for),
            "lastEnd": admin_service_pb2.LeaseEnd.Name(lock.last_end).removeprefix("LEASE_END_")}

    def list(self, prefix):
        answer = self._admin.ListLocks(admin_service_pb2.ListLocksRequest(prefix=prefix, page_size=1000), timeout=10)
        return {"locks": len(answer.locks)}

    def forceRelease(self, name):
        answer = self._admin.ForceRelease(
            admin_service_pb2.ForceReleaseRequest(name=name, reason="a case of the conformance suite", now=True), timeout=10)
        return {"released": answer.released}
