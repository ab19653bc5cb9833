# SPDX-License-Identifier: Apache-2.0
"""A job is due at midnight on three replicas, whose clocks differ. It takes 50 ms, and has to run
once."""

import os
import time

from lockkeeper import Client

SERVER = os.environ.get("LOCKKEEPER_SERVER", "127.0.0.1:7600")


def midnight(job, **options):
    # One lock for each job and date. The pid lets you run the story twice in a row.
    name = f"{job}/2026-11-24/{os.getpid()}"
    runs = 0
    for replica in ("replica 1", "replica 2", "replica 3"):
        time.sleep(0.2)  # Its clock strikes later than the one before.
        with Client(SERVER, owner=replica) as client:
            lease = client.acquire(name, ttl=10, **options)
            if lease is None:
                print(f"{replica}: leaves it to another one")
                continue
            with lease:
                time.sleep(0.05)  # the job
                runs += 1
                print(f"{replica}: has run the job")
    print(f"Runs of the job: {runs}")


print("With a lock alone, which is free again when the next clock strikes:")
midnight("report")
print("\nWith a lock that stays closed for a minute after its grant:")
midnight("closing report", hold_at_least=60)
