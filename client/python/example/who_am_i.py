#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""who_am_i.py SERVER LOCK: who the lock service takes this program for, and a lock over TLS.

It proves itself by the files in TLS_CERT and TLS_KEY, or by the token or JWT in TOKEN_FILE; TLS_CA
is the CA of the service. See docs/guides/securing.md.
"""
import os
import sys

import grpc
from lockkeeper.v1 import lock_service_pb2 as pb
from lockkeeper.v1.lock_service_pb2_grpc import LockServiceStub


def content(variable):
    path = os.environ.get(variable)
    if path is None:
        return None
    with open(path, "rb") as file:
        return file.read()


def credentials():
    tls = grpc.ssl_channel_credentials(content("TLS_CA"), content("TLS_KEY"), content("TLS_CERT"))
    token = content("TOKEN_FILE")
    if token is None:
        return tls
    bearer = grpc.access_token_call_credentials(token.decode().strip())
    return grpc.composite_channel_credentials(tls, bearer)


def main(server, lock):
    service = LockServiceStub(grpc.secure_channel(server, credentials()))
    who = service.CheckAccess(pb.CheckAccessRequest(), timeout=5)
    print(f"{who.principal} ({who.proof}): {', '.join(who.roles) or 'no roles'}")
    answer = service.Acquire(pb.AcquireRequest(name=lock), timeout=5)
    print(f"fencing token {answer.lease.fencing_token}" if answer.HasField("lease") else "not free")
    if answer.HasField("lease"):
        service.Release(pb.ReleaseRequest(name=lock, lease_id=answer.lease.lease_id), timeout=5)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except grpc.RpcError as error:
        sys.exit(f"{error.code().name}: {error.details()}")
