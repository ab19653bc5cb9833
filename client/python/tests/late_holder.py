# SPDX-License-Identifier: Apache-2.0
"""A holder in a C call that keeps the interpreter, as client/fenced/tests/late_holder.py of the repository wants it."""

import ctypes
import os
import subprocess

import lockkeeper

TTL = 1


def update(setting: str, token: int) -> bool:
    command = f"update seat set {setting} where id = 12 and fencing_token <= {token} returning id"
    psql = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-c", command]
    return subprocess.run(psql, check=True, capture_output=True).stdout != b""


def main() -> None:
    with lockkeeper.Client(os.environ["LOCKKEEPER_SERVER"]) as client:
        lease = client.require("seat", ttl=TTL)
        update(f"fencing_token = {lease.fencing_token}", lease.fencing_token)
        print("holds", flush=True)
        ctypes.PyDLL(None).sleep(2 * TTL)  # PyDLL keeps the interpreter: no thread of the client runs
        try:
            lease.check()
            print("held", flush=True)
        except lockkeeper.LeaseLost:
            print("lost", flush=True)
        input()
        written = update(f"guest = 'first', fencing_token = {lease.fencing_token}", lease.fencing_token)
        print("written" if written else "refused", flush=True)


if __name__ == "__main__":
    main()
