# SPDX-License-Identifier: Apache-2.0
"""lockkeeper_fence.sql in a PostgreSQL server: sessions at once, what is undone, rights, and the commands of the guide."""
import concurrent.futures
import itertools
import subprocess
import unittest

import psycopg
from psycopg import IsolationLevel, errors

import place
from resources import SOURCE
import fenced_postgresql

FENCE = "select lockkeeper.lockkeeper_fence('report', %s)"
STALE = "LK001"
OLD, NEW = 33, 34


class PostgresqlTest(unittest.TestCase):
    def setUp(self):
        self.admin = self.session(autocommit=True)
        self.admin.execute("create database shop owner owner")
        self.addCleanup(self.admin.execute, "drop database shop with (force)")
        self.migrate()
        with self.session("owner") as owner:
            owner.execute("grant usage on schema lockkeeper to app")
            owner.execute("grant execute on function lockkeeper.lockkeeper_fence(text, bigint) to app")
            owner.execute("create table report (total int); insert into report values (0)")
            owner.execute("grant all on report to app")
        self.threads = self.enterContext(concurrent.futures.ThreadPoolExecutor())

    def session(self, user=None, isolation=None, autocommit=False):
        where = server | ({"user": user, "dbname": "shop"} if user else {})
        options = f"-c statement_timeout={place.PATIENCE}s"
        session = psycopg.connect(**where, autocommit=autocommit, options=options)
        self.addCleanup(session.close)
        session.isolation_level = isolation
        return session

    def psql(self, file, user="owner", **variables):
        values = [word for name, value in variables.items() for word in ("--set", f"{name}={value}")]
        return subprocess.run(["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--single-transaction", "--set",
                               "ON_ERROR_STOP=1", "--set", "VERBOSITY=verbose", *values, "--host", server["host"], "--username", user,
                               "--dbname", "shop", "--file", SOURCE / file], capture_output=True, text=True)

    def migrate(self):
        migration = self.psql("lockkeeper_fence.sql")
        self.assertEqual(migration.returncode, 0, migration.stderr)

    def begin_waiting(self, session, command, *values):
        """Runs a command in a thread, and returns its future once it waits for another session."""
        future = self.threads.submit(session.execute, command, values)
        asks = "select wait_event_type = 'Lock' from pg_stat_activity where pid = %s"
        place.until(lambda: self.admin.execute(asks, (session.info.backend_pid,)).fetchone()[0], "the wait for the other session")
        self.assertFalse(future.done())
        return future

    def assert_fails(self, sqlstate, run, *arguments):
        with self.assertRaises(psycopg.Error) as failed:
            run(*arguments)
        self.assertEqual(failed.exception.sqlstate, sqlstate, failed.exception)
        return failed.exception

    def total(self):
        return self.session("app").execute("select total from report").fetchone()[0]

    def test_equal_and_higher_tokens_are_admitted_and_lower_ones_rejected(self):
        app = self.session("app", autocommit=True)
        for token in (OLD, OLD, NEW, NEW):
            app.execute(FENCE, (token,))

        stale = self.assert_fails(STALE, app.execute, FENCE, (OLD,))

        self.assertEqual(stale.diag.message_primary, 'stale fencing token for resource "report"')
        self.assertIsNotNone(stale.diag.message_hint)

    def test_resources_have_marks_of_their_own(self):
        app = self.session("app", autocommit=True)
        app.execute(FENCE, (NEW,))

        app.execute("select lockkeeper.lockkeeper_fence('other', %s)", (OLD,))

    def test_malformed_arguments_are_named(self):
        app = self.session("app", autocommit=True)
        for field, resource, token in (("token", "x", None), ("token", "x", 0), ("token", "x", -1), ("token", "x", 2**53),
                                       ("resource", None, 1), ("resource", "", 1), ("resource", "é" * 257, 1)):
            with self.subTest(resource=resource, token=token):
                call = "select lockkeeper.lockkeeper_fence(%s, %s::bigint)"
                failure = self.assert_fails("22023", app.execute, call, (resource, token))
                self.assertTrue(failure.diag.message_primary.startswith(f"{field} must"), failure)
        app.execute("select lockkeeper.lockkeeper_fence(%s, %s)", ("é" * 256, 2**53 - 1))

    def test_a_stale_session_waits_for_the_newer_one_and_is_rejected(self):
        for first_use in (True, False):
            with self.subTest(first_use=first_use):
                new, old = self.session("app"), self.session("app")
                new.execute(FENCE, (NEW,))
                waiting = self.begin_waiting(old, FENCE, OLD)
                new.commit()
                self.assert_fails(STALE, waiting.result, place.PATIENCE)

    def test_a_newer_session_waits_for_the_write_of_the_older_and_sees_it(self):
        old, new = self.session("app"), self.session("app")
        old.execute(FENCE, (OLD,))
        old.execute("update report set total = 1")
        waiting = self.begin_waiting(new, FENCE, NEW)
        old.commit()
        waiting.result(place.PATIENCE)

        self.assertEqual(new.execute("select total from report").fetchone(), (1,))
        new.commit()

    def test_with_a_snapshot_the_one_that_waited_has_to_retry(self):
        for isolation in (IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE):
            cases = ((OLD, NEW, None), (NEW, NEW, None), (NEW, OLD, STALE))
            for used_before, (first, second, retried) in itertools.product((False, True), cases):
                with self.subTest(isolation=isolation, used_before=used_before, first=first, second=second):
                    self.admin_of_shop("delete from lockkeeper.mark")
                    one, other = self.session("app", isolation), self.session("app", isolation)
                    if used_before:
                        one.execute(FENCE, (first,))
                        one.commit()
                    one.execute(FENCE, (first,))
                    waiting = self.begin_waiting(other, FENCE, second)
                    one.commit()
                    self.assert_fails("40001", waiting.result, place.PATIENCE)
                    other.rollback()
                    if retried:
                        self.assert_fails(retried, other.execute, FENCE, (second,))
                    else:
                        other.execute(FENCE, (second,))
                    other.rollback()

    def admin_of_shop(self, command):
        with self.session("owner") as owner:
            owner.execute(command)

    def test_serializable_transactions_that_count_lose_no_update(self):
        def count(token):
            session = self.session("app", IsolationLevel.SERIALIZABLE)
            for _ in range(10):
                while True:
                    try:
                        with session.transaction():
                            session.execute(FENCE, (token,))
                            session.execute("update report set total = %s", (self.read_total(session) + 1,))
                        break
                    except errors.SerializationFailure:
                        pass

        for done in [self.threads.submit(count, NEW) for _ in range(3)]:
            done.result(place.PATIENCE)
        self.assertEqual(self.total(), 30)

    @staticmethod
    def read_total(session):
        return session.execute("select total from report").fetchone()[0]

    def test_a_rollback_takes_the_mark_back(self):
        new, old = self.session("app"), self.session("app")
        new.execute(FENCE, (NEW,))
        waiting = self.begin_waiting(old, FENCE, OLD)
        new.rollback()
        waiting.result(place.PATIENCE)
        old.execute("update report set total = 1")
        old.commit()

        # No harm is done: the next transaction of the newer holder begins by the fence too, and sees what was written.
        new.execute(FENCE, (NEW,))
        self.assertEqual(self.read_total(new), 1)

    def test_a_rollback_to_a_savepoint_before_the_fence_takes_the_mark_back(self):
        new, old = self.session("app"), self.session("app", autocommit=True)
        with new.transaction():
            with new.transaction(force_rollback=True):
                new.execute(FENCE, (NEW,))
            old.execute(FENCE, (OLD,))

    def test_a_prepared_transaction_keeps_others_out_until_it_ends(self):
        for end, sqlstate in (("commit", STALE), ("rollback", None)):
            with self.subTest(end=end):
                self.admin_of_shop("delete from lockkeeper.mark")
                new, old = self.session("app", autocommit=True), self.session("app")
                new.execute("begin")
                new.execute(FENCE, (NEW,))
                new.execute("prepare transaction 'turn'")
                new.close()
                waiting = self.begin_waiting(old, FENCE, OLD)
                self.session("app", autocommit=True).execute(f"{end} prepared 'turn'")
                if sqlstate:
                    self.assert_fails(sqlstate, waiting.result, place.PATIENCE)
                else:
                    waiting.result(place.PATIENCE)

    def test_a_paused_transaction_ends_by_the_timeout_for_idle_ones(self):
        paused, new = self.session("app"), self.session("app")
        paused.execute("set idle_in_transaction_session_timeout = '500ms'")
        paused.execute(FENCE, (OLD,))
        paused.execute("update report set total = 1")
        self.begin_waiting(new, FENCE, NEW).result(place.PATIENCE)

        self.assert_fails("25P03", paused.execute, "select 1")
        self.assertEqual(self.total(), 0)

    def test_a_place_for_reading_only_rejects_the_fence(self):
        replica = self.session("app")
        replica.read_only = True

        self.assert_fails("25006", replica.execute, FENCE, (NEW,))

    def test_a_program_can_raise_marks_and_nothing_else(self):
        app = self.session("app", autocommit=True)
        app.execute(FENCE, (NEW,))
        for command in ("select * from lockkeeper.mark", "update lockkeeper.mark set token = 1", "delete from lockkeeper.mark"):
            self.assert_fails("42501", app.execute, command)

    def test_who_was_not_allowed_the_function_cannot_call_it(self):
        self.admin_of_shop("grant usage on schema lockkeeper to stranger")

        self.assert_fails("42501", self.session("stranger").execute, FENCE, (NEW,))

    def test_migrations_at_once_and_again_keep_the_marks_and_the_rights(self):
        self.session("app", autocommit=True).execute(FENCE, (NEW,))

        for done in [self.threads.submit(self.migrate) for _ in range(4)]:
            done.result()

        self.assert_fails(STALE, self.session("app").execute, FENCE, (OLD,))

    def test_first_migrations_at_once(self):
        self.admin_of_shop("drop schema lockkeeper cascade")

        for done in [self.threads.submit(self.migrate) for _ in range(4)]:
            done.result()

    def test_the_transaction_of_the_guide(self):
        first, second = (self.psql("fenced_transaction.sql", "app", token=NEW) for _ in range(2))
        stale = self.psql("fenced_transaction.sql", "app", token=OLD)

        self.assertEqual((first.stdout.split(), second.stdout.split()), (["0"], ["5"]), first.stderr + second.stderr)
        self.assertIn(STALE, stale.stderr)
        self.assertEqual((stale.returncode, self.total()), (3, 10))

    def seat(self):
        self.admin_of_shop("create table seat (id int, guest text); insert into seat values (12, 'nobody')")
        self.assertEqual(self.psql("fenced_column.sql").stderr, "")

    def test_the_commands_of_the_guide_find_no_row_for_a_stale_token(self):
        self.seat()

        newer = self.psql("fenced_row.sql", token=NEW, guest="alice")
        stale = self.psql("fenced_row.sql", token=OLD, guest="bob")

        self.assertEqual(newer.stdout.split(), ["nobody", "12"], newer.stderr)
        self.assertEqual(stale.stdout.split(), [], stale.stderr)

    def test_the_trigger_rejects_an_update_without_a_condition(self):
        self.seat()
        update = "update seat set guest = 'x', fencing_token = %s"
        owner = self.session("owner", autocommit=True)
        for token in (NEW, NEW):
            owner.execute(update, (token,))
        for token in (OLD, None):
            self.assert_fails(STALE, owner.execute, update, (token,))

    def test_the_trigger_sees_what_a_session_at_the_same_time_writes(self):
        self.seat()
        update = "update seat set guest = 'x', fencing_token = %s"
        new, old = self.session("owner"), self.session("owner")
        new.execute(update, (NEW,))
        waiting = self.begin_waiting(old, update, OLD)
        new.commit()

        self.assert_fails(STALE, waiting.result, place.PATIENCE)

    def test_the_python_module_tells_stale_tokens_from_other_errors(self):
        app = self.session("app")
        with fenced_postgresql.fenced_transaction(app, "report", NEW):
            app.execute("update report set total = 7")

        with self.assertRaises(fenced_postgresql.StaleToken), fenced_postgresql.fenced_transaction(app, "report", OLD):
            self.fail("the block of a stale token runs")
        with self.assertRaises(errors.DivisionByZero), fenced_postgresql.fenced_transaction(app, "report", NEW):
            app.execute("update report set total = total / 0")
        self.assertEqual(self.total(), 7)

    def test_the_python_module_wants_to_begin_the_transaction(self):
        app = self.session("app")
        app.execute("select 1")

        with self.assertRaisesRegex(ValueError, "connection"), fenced_postgresql.fenced_transaction(app, "report", NEW):
            self.fail("the fence was not the first statement")


def setUpModule():
    global server
    server = unittest.enterModuleContext(place.postgresql())
    with psycopg.connect(**server) as admin:
        admin.execute("create role owner login; create role app login; create role stranger login")


if __name__ == "__main__":
    unittest.main()
