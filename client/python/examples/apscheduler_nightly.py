# SPDX-License-Identifier: Apache-2.0
"""apscheduler_nightly.py REPLICA: a job that fires on each replica, and runs on one of them.

The replicas' clocks may differ by as much as KEPT: so long the lock stays closed after the job.
"""

import os
import sys
import threading
from datetime import datetime, timedelta

from apscheduler.schedulers.background import BackgroundScheduler

from lockkeeper import Client

KEPT = timedelta(seconds=float(os.environ.get("KEPT", "20")))
AT = datetime.fromtimestamp(float(os.environ.get("AT", datetime.now().timestamp() + 1)))
replica = sys.argv[1]
client = Client(os.environ.get("LOCKKEEPER_SERVER", "127.0.0.1:7600"))
finished = threading.Event()


def nightly() -> None:
    lease = client.acquire("nightly report", ttl=KEPT)
    if lease is None:
        print(replica, "leaves it to another replica", flush=True)
    else:
        print(replica, "runs the report, token", lease.fencing_token, flush=True)
        lease.detach()  # Not released: the lock stays closed until its ttl has passed.
    finished.set()


scheduler = BackgroundScheduler()
# Also when this machine has no time at that moment: the lock decides who runs it.
scheduler.add_job(nightly, "date", run_date=AT, misfire_grace_time=None)
scheduler.start()
finished.wait()
scheduler.shutdown()
client.close()
