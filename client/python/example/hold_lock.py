#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hold_lock.py SERVER NAME STEPS [WAIT]: works under a lock, a second for each step.

It waits in line for at most WAIT seconds. See docs/guides/python.md.
Exit codes: 0 done, 70 the lease was lost, 75 somebody else has the lock, 143 stopped by SIGTERM.
"""
import signal
import sys

from held_lock import LeaseLost, LockService, NotAcquired


def work(lock, steps):
    for step in range(1, steps + 1):
        lock.check()
        print(f"step {step}: {lock.remaining():.1f} s left", flush=True)
        lock.lost.wait(1)  # the work of this program: pass lock.fencing_token to what it writes


def main(server, name, steps, wait=0):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # by an exception: the lock is released
    service = LockService(server)
    try:
        with service.acquire(name, ttl=10, wait=float(wait)) as lock:
            print(f"acquired with fencing token {lock.fencing_token}", flush=True)
            work(lock, int(steps))
            print("admitted:", service.fence(name, lock.fencing_token, live=True))
            print("released:", lock.release())
        return 0
    except NotAcquired as contention:
        print(contention)
        return 75
    except LeaseLost:
        print("lost", flush=True)
        return 70


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
