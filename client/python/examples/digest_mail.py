# SPDX-License-Identifier: Apache-2.0
"""A queue delivers a job at least once, here to three workers. One digest mail has to go out."""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from lockkeeper import Client

SERVER = os.environ.get("LOCKKEEPER_SERVER", "127.0.0.1:7600")
WORKERS = ["worker 1", "worker 2", "worker 3"]
sent = []  # what a database would remember


def say(text):
    sys.stdout.write(text + "\n")  # whole lines, also from several threads


def send_digest(worker):
    time.sleep(0.01)  # looks into the database
    if "ada" in sent:
        say(f"{worker}: the digest for ada was sent before")
        return
    time.sleep(0.2)  # writes and sends the mail
    sent.append("ada")
    say(f"{worker}: sends the digest to ada")


def send_digest_under_lock(worker):
    # Each worker would be a process, with a client of its own.
    with Client(SERVER, owner=worker) as client:
        with client.lock("digest/ada", ttl=10, wait=30) as lease:
            say(f"{worker}: has the lock, with fencing token {lease.fencing_token}")
            send_digest(worker)


def three_workers(work):
    sent.clear()
    with ThreadPoolExecutor() as pool:
        list(pool.map(work, WORKERS))
    say(f"Ada has {len(sent)} mail{'s' if len(sent) > 1 else ''}.")


say("Without a lock:")
three_workers(send_digest)
say("\nWith a lock:")
three_workers(send_digest_under_lock)
