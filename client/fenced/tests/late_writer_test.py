# SPDX-License-Identifier: Apache-2.0
"""The accident that fencing prevents, on each resource, with processes, a daemon and short leases, and the control runs without.

Two workers add to a number under a lock. The first is paused beyond the end of its lease, between its read and its write. Where
each update counts, the number is the sum of what the workers were told to be done.
"""
import contextlib
import itertools
import os
import unittest

import psycopg

import place
from resources import SOURCE, s3_client

FIRST, SECOND = 1, 10
STALE, DONE = "stale", "done"


class LateWriter:
    """The tests of one resource; `kind` names it in resources.py. start() puts it to use, and returns where it is."""

    serial = itertools.count()

    def setUp(self):
        self._opened = contextlib.ExitStack()
        self.addCleanup(self._opened.close)
        self._where = self.start(self._opened)
        self._lock = f"{self.id()}/{os.getpid()}/{next(self.serial)}"

    def worker(self, mode, amount):
        job = {"kind": self.kind, "mode": mode, "where": self._where, "amount": amount}
        return self._opened.enter_context(place.Worker(server, self._lock, **job))

    def outcome(self, worker):
        return worker.next_word()["outcome"].partition(":")[0]

    def first_is_paused(self, mode):
        first = self.worker(mode, FIRST)
        self.assertEqual(first.next_word(), {"read": 0})
        first.pause()
        first.proceed()  # It finds this line when it wakes up.
        return first

    def writes_late(self, mode):
        """The first worker writes after the second. Returns what each was told, and the number that the next worker reads."""
        first = self.first_is_paused(mode)
        second = self.worker(mode, SECOND)
        second.next_word()
        second.proceed()
        seconds = self.outcome(second)
        first.wake()
        return self.outcome(first), seconds, self.what_the_next_reads(mode)

    def writes_between(self, mode):
        """The first worker writes between the read and the write of the second."""
        first = self.first_is_paused(mode)
        second = self.worker(mode, SECOND)
        second.next_word()
        first.wake()
        firsts = self.outcome(first)
        second.proceed()
        return firsts, self.outcome(second), self.what_the_next_reads(mode)

    def what_the_next_reads(self, mode):
        return self.worker(mode, 0).next_word()["read"]

    def test_without_tokens_the_update_of_the_second_is_lost(self):
        self.assertEqual(self.writes_late("plain"), (DONE, DONE, FIRST))

    def test_a_write_with_a_stale_token_is_rejected(self):
        self.assertEqual(self.writes_late("fenced"), (STALE, DONE, SECOND))

    def test_if_reads_leave_the_mark_the_update_of_the_first_is_lost(self):
        self.assertEqual(self.writes_between("writes"), (DONE, DONE, SECOND))

    def test_a_read_raises_the_mark(self):
        self.assertEqual(self.writes_between("fenced"), (STALE, DONE, SECOND))


class InPostgresql(LateWriter):
    def start(self, opened):
        with psycopg.connect(**database, autocommit=True) as connection:
            connection.execute(self.TABLE)
            opened.callback(self._drop)
        return database

    def _drop(self):
        with psycopg.connect(**database, autocommit=True) as connection:
            connection.execute(self.DROP)


class TransactionTest(InPostgresql, unittest.TestCase):
    kind = "transaction"
    TABLE = (SOURCE / "lockkeeper_fence.sql").read_text() + "create table report as select 0 as total"
    DROP = "drop schema lockkeeper cascade; drop table report"


class RowTest(InPostgresql, unittest.TestCase):
    kind = "row"
    TABLE = "create table counter as select 1 as id, 0 as number, 0::bigint as fencing_token"
    DROP = "drop table counter"


class RedisTest(LateWriter, unittest.TestCase):
    kind = "redis"

    def start(self, opened):
        return opened.enter_context(place.redis_server())


class FileTest(LateWriter, unittest.TestCase):
    kind = "file"

    def start(self, opened):
        return opened.enter_context(place.folder()) + "/report"


class ShellFileTest(FileTest):
    kind = "shell"


class ObjectTest(LateWriter, unittest.TestCase):
    kind = "object"

    def start(self, opened):
        bucket = f"bucket-{next(self.serial)}"
        s3_client(s3).create_bucket(Bucket=bucket)
        return {"address": s3, "bucket": bucket}


def setUpModule():
    global server, database, s3
    server = unittest.enterModuleContext(place.daemon())
    s3 = unittest.enterModuleContext(place.s3_server())
    database = unittest.enterModuleContext(place.postgresql())


if __name__ == "__main__":
    unittest.main()
