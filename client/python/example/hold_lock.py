#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hold_lock.py SERVER NAME: takes a lock, works under it, lets it go. Exits 75 if it is held.

Uses only code that was made from the protos; docs/guides/any_language.md explains it.
"""
import secrets
import sys
import time

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2
from lockkeeper.v1 import lock_service_pb2 as pb
from lockkeeper.v1 import lock_service_pb2_grpc

TRIES = 5
CALL_TIMEOUT = 2  # seconds; the server answers before
TTL = Duration(seconds=10)
CHANNEL_OPTIONS = [("grpc.keepalive_time_ms", 10_000), ("grpc.keepalive_timeout_ms", 5_000),
                   ("grpc.http2.max_pings_without_data", 0), ("grpc.enable_retries", 0)]


def detail_of(error, detail):
    """The detail of a failed call that is of the type of `detail`; empty if there is none."""
    details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
    for packed in status_pb2.Status.FromString(details).details:
        packed.Unpack(detail)
    return detail


def reason_of(error):
    """Machine-readable reason of a failed call, such as LEASE_LOST; empty if gRPC itself failed."""
    info = detail_of(error, error_details_pb2.ErrorInfo())
    return info.reason if info.domain == "lockkeeper" else ""


def may_be_repeated(error):
    return error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)  # goes on while the machine sleeps


def end_of(lease, sent):
    """Until when the lease can be trusted: counted from when the request was sent."""
    remaining = lease.remaining_ttl.ToTimedelta().total_seconds()
    return sent + remaining * 0.99 - 0.05


def acquire(stub, name):
    """The lease and its end, or nothing if somebody else holds the lock."""
    lease_id = secrets.token_hex(16)  # the same for all tries: a repeat never grants twice
    for attempt in range(1, TRIES + 1):
        sent = now()
        try:
            answer = stub.Acquire(pb.AcquireRequest(name=name, lease_id=lease_id, attempt=attempt,
                                                    ttl=TTL, owner="hold_lock.py"),
                                  timeout=CALL_TIMEOUT)
        except grpc.RpcError as error:
            if not may_be_repeated(error) or attempt == TRIES:
                stub.Release.future(pb.ReleaseRequest(name=name, lease_id=lease_id),
                                    timeout=CALL_TIMEOUT).exception()  # if it was granted after all
                raise
            asked = detail_of(error, error_details_pb2.RetryInfo()).retry_delay.ToTimedelta()
            time.sleep(max(0.1 * attempt, asked.total_seconds()))
            continue
        if not answer.HasField("lease"):
            print(f"held by '{answer.contention.holder_owner}'")
            return None, 0
        return answer.lease, end_of(answer.lease, sent)
    raise AssertionError("not reached")


def extend(stub, lease, end):
    """The new end of the lease: the old one if nobody could say. An error if it is lost."""
    sent = now()
    try:
        answer = stub.Extend(pb.ExtendRequest(name=lease.name, lease_id=lease.lease_id,
                                              fencing_token=lease.fencing_token,
                                              reassertion=lease.reassertion),
                             timeout=max((end - sent) / 2, 0))
    except grpc.RpcError as error:
        if not may_be_repeated(error):
            raise
        return end  # try again soon, and stop the work before
    return end_of(answer.lease, sent)


def main(server, name):
    stub = lock_service_pb2_grpc.LockServiceStub(grpc.insecure_channel(server, CHANNEL_OPTIONS))
    lease, end = acquire(stub, name)
    if lease is None:
        return 75
    print(f"acquired with fencing token {lease.fencing_token}")

    for step in range(1, 4):  # work; extend at least every third of the ttl
        end = extend(stub, lease, end)
        print(f"step {step}: {end - now():.0f} s left")

    fence = pb.FenceRequest(name=name, fencing_token=lease.fencing_token, require_live_lease=True)
    print("fence:", pb.Verdict.Name(stub.Fence(fence, timeout=CALL_TIMEOUT).verdict))

    release = pb.ReleaseRequest(name=name, lease_id=lease.lease_id)
    print("released:", stub.Release(release, timeout=CALL_TIMEOUT).released)
    print("released again:", stub.Release(release, timeout=CALL_TIMEOUT).released)

    try:
        stub.Extend(pb.ExtendRequest(name=name, lease_id=lease.lease_id), timeout=CALL_TIMEOUT)
    except grpc.RpcError as error:
        print("extend after release:", error.code().name, reason_of(error))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
