# SPDX-License-Identifier: Apache-2.0
"""fenced_file.py and fenced_file.sh on the same files, and the commands of the guide with a daemon."""
import concurrent.futures
import fcntl
import os
import pathlib
import subprocess
import unittest

import place
from resources import SOURCE
from fenced_file import FencedFile, StaleToken

OLD, NEW = 33, 34


class FileTest(unittest.TestCase):
    def setUp(self):
        self.path = pathlib.Path(self.enterContext(place.folder()), "report")
        self.file = FencedFile(str(self.path))

    def script(self, *arguments, token, data=""):
        environment = dict(os.environ)
        environment.pop("LOCKKEEPER_FENCING_TOKEN", None)
        if token is not None:
            environment["LOCKKEEPER_FENCING_TOKEN"] = str(token)
        command = [SOURCE / "fenced_file.sh", *arguments]
        return subprocess.run(command, env=environment, input=data, capture_output=True, text=True)

    def test_equal_and_higher_tokens_are_admitted_and_lower_ones_rejected(self):
        for token in (OLD, OLD, NEW, NEW):
            self.file.write(token, b"%d" % token)

        for access in (lambda: self.file.write(OLD, b"late"), lambda: self.file.read(OLD)):
            self.assertRaises(StaleToken, access)

        self.assertEqual(self.file.read(NEW), b"34")

    def test_the_first_read_of_a_missing_file_raises_the_mark(self):
        self.assertIsNone(self.file.read(NEW))

        self.assertRaises(StaleToken, self.file.write, OLD, b"late")

    def test_script_and_module_see_the_same_mark(self):
        written = self.script("write", self.path, token=NEW, data="by the script\n")
        self.assertEqual((written.returncode, written.stderr), (0, ""))
        self.assertRaises(StaleToken, self.file.read, OLD)
        self.assertEqual(self.file.read(NEW + 1), b"by the script\n")

        stale = self.script("write", self.path, token=NEW, data="late")
        self.assertEqual(stale.returncode, 76)
        self.assertIn("stale", stale.stderr)
        self.assertEqual(self.script("read", self.path, token=NEW + 1).stdout, "by the script\n")

    def test_nothing_is_left_behind(self):
        self.file.write(OLD, b"x")
        self.script("write", self.path, token=NEW, data="y")
        self.script("write", self.path, token=OLD, data="late")

        self.assertEqual(sorted(os.listdir(self.path.parent)), ["report", "report.lock", "report.mark"])

    def test_a_link_stays_a_link(self):
        link = self.path.with_name("link")
        link.symlink_to(self.path)
        FencedFile(str(link)).write(OLD, b"module")
        self.assertEqual(self.path.read_text(), "module")
        self.script("write", link, token=NEW, data="script")

        self.assertEqual(self.path.read_text(), "script")
        self.assertTrue(link.is_symlink())

    def test_malformed_tokens_are_rejected_and_change_nothing(self):
        for token in (0, -1, 2**53, "33", 1.5, None):
            with self.subTest(token=token), self.assertRaisesRegex(ValueError, "token"):
                self.file.write(token, b"x")
        for token in ("0", "-1", "2**53", "9007199254740992", "99999999999999999999", "033", "a", "", None):
            with self.subTest(token=token):
                rejected = self.script("write", self.path, token=token, data="x")
                self.assertEqual(rejected.returncode, 65)
                self.assertIn("LOCKKEEPER_FENCING_TOKEN", rejected.stderr)
        self.assertEqual(os.listdir(self.path.parent), [])

    def test_wrong_arguments_are_rejected(self):
        for arguments in ((), ("read",), ("erase", "x"), ("read", "x", "y")):
            self.assertEqual(self.script(*arguments, token=NEW).returncode, 64)

    def test_check_and_write_are_one_step(self):
        self.file.write(OLD, b"old")
        with concurrent.futures.ThreadPoolExecutor() as threads, open(str(self.path) + ".lock", "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # a newer holder that is between its check and its write
            late = [threads.submit(self.file.write, OLD, b"late"),
                    threads.submit(self.script, "write", self.path, token=OLD, data="late")]
            self.wait_for_waiters(len(late))
            self.path.with_name("report.mark").write_text(f"{NEW}\n")
            fcntl.flock(lock, fcntl.LOCK_UN)
            self.assertIsInstance(late[0].exception(place.PATIENCE), StaleToken)
            self.assertEqual(late[1].result(place.PATIENCE).returncode, 76)

        self.assertEqual(self.path.read_text(), "old")

    def wait_for_waiters(self, number):
        inode = f":{os.stat(str(self.path) + '.lock').st_ino} "

        def waiters():
            return [line for line in pathlib.Path("/proc/locks").read_text().splitlines() if "->" in line and inode in line]

        place.until(lambda: len(waiters()) == number, "the wait for the lock of the file")

    def test_a_reader_sees_no_part_of_a_write(self):
        contents = {bytes([letter]) * 100_000 for letter in b"ab"}
        self.file.write(NEW, next(iter(contents)))

        def write():
            for _ in range(20):
                for content in contents:
                    FencedFile(str(self.path)).write(NEW, content)

        with concurrent.futures.ThreadPoolExecutor() as threads:
            writers = [threads.submit(write) for _ in range(2)]
            while not all(writer.done() for writer in writers):
                self.assertIn(self.path.read_bytes(), contents)
            for writer in writers:
                writer.result()

    def test_the_command_of_the_guide(self):
        with place.daemon() as server:
            path = f"{SOURCE}:{os.path.dirname(os.environ['LOCKKEEPER'])}:{os.environ['PATH']}"
            environment = dict(os.environ, LOCKKEEPER_SERVER=server, PATH=path)
            for expected in ("1\n", "2\n"):
                subprocess.run(["sh", SOURCE / "count_visits.sh"], cwd=self.path.parent, env=environment, check=True)
                self.assertEqual(self.path.with_name("visits").read_text(), expected)


if __name__ == "__main__":
    unittest.main()
