# SPDX-License-Identifier: Apache-2.0
"""A caller that looks at the daemons of a case from outside."""

import uuid

import grpc
from google.protobuf.duration_pb2 import Duration
from lockkeeper.admin.v1 import admin_service_pb2, admin_service_pb2_grpc
from lockkeeper.v1 import lock_service_pb2, lock_service_pb2_grpc


def duration(millis):
    return Duration(seconds=millis // 1000, nanos=millis % 1000 * 1_000_000)


def millis(proto):
    return proto.seconds * 1000 + proto.nanos // 1_000_000


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
