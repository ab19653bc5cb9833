#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hold_lock.py SERVER NAME STEPS [WAIT]: works under a lock, a second for each step.

It waits in line for at most WAIT seconds. See docs/guides/python.md.
Exit codes: 0 done, 70 the lease was lost, 75 somebody else has the lock, 143 stopped by SIGTERM.
"""
import signal
import sys

from lockkeeper import Client, LeaseLost, NotAcquired


def work(lease, steps):
    for step in range(1, steps + 1):
        lease.check()
        print(f"step {step}: {lease.remaining():.1f} s left", flush=True)
        lease.lost.wait(1)  # the work of this program: pass lease.fencing_token to what it writes


def main(server, name, steps, wait=0):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # by an exception: the lock is released
    client = Client(server)
    try:
        with client.lock(name, ttl=10, wait=float(wait), stop_margin=0.5) as lease:
            print(f"acquired with fencing token {lease.fencing_token}", flush=True)
            work(lease, int(steps))
            admitted = client.fence(name, lease.fencing_token, require_live_lease=True)
            print("admitted:", bool(admitted))
            print("released:", bool(lease.release()))
        return 0
    except NotAcquired as held:
        owner = held.contention.holder_owner
        print(f"held by '{owner}'" if owner else held)
        return 75
    except LeaseLost:
        print("lost", flush=True)
        return 70


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
