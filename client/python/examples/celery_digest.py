# SPDX-License-Identifier: Apache-2.0
"""A Celery task whose message may be delivered twice: one digest mail for each user and day.

Start a worker:  celery --app celery_digest worker
Send a task:     celery --app celery_digest call celery_digest.send_digest --args '["ada", "mon"]'
"""

import os
import sqlite3

from celery import Celery

from lockkeeper import Client

app = Celery("celery_digest", broker=os.environ.get("BROKER", "redis://127.0.0.1:6379"))

# It connects when it is first used, in a process that the worker has forked.
client = Client(os.environ.get("LOCKKEEPER_SERVER", "127.0.0.1:7600"))

DATABASE = os.environ.get("DATABASE", "digest.db")


@app.task(acks_late=True)
def send_digest(user: str, day: str) -> str:
    with client.lock(f"digest/{user}", ttl=30, wait=60) as lease:
        with sqlite3.connect(DATABASE, timeout=30) as database:
            database.execute("CREATE TABLE IF NOT EXISTS sent (user, day, token)")
            sent = database.execute("SELECT 1 FROM sent WHERE user = ? AND day = ?", (user, day))
            if sent.fetchone():
                return "was sent before"
        lease.check()  # raises LeaseLost: somebody else may be sending it
        send_mail(user, day)
        with sqlite3.connect(DATABASE, timeout=30) as database:
            database.execute("INSERT INTO sent VALUES (?, ?, ?)", (user, day, lease.fencing_token))
    return "sent"


def send_mail(user: str, day: str) -> None:
    with open(os.environ.get("OUTBOX", "outbox"), "a") as outbox:
        outbox.write(f"digest of {day} for {user}\n")
