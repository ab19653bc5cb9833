# SPDX-License-Identifier: Apache-2.0
"""A daemon with a store of its own, for the tests of one class."""

import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

DAEMON = os.environ["LOCKKEEPERD"]


class Daemon:
    def __init__(self, *arguments):
        self._folder = tempfile.TemporaryDirectory(prefix="lockkeeper_")
        self._arguments = arguments
        self._process = None
        self.address = ""

    def start(self, listen="127.0.0.1:0"):
        command = [DAEMON, "--embedded", "--data-dir", f"{self._folder.name}/data"]
        command += ["--http-listen", "", "--listen", listen, *self._arguments]
        with open(f"{self._folder.name}/log", "wb") as log:
            self._process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
            )
        for line in self._process.stdout:
            if found := re.search(r"ready grpc=(\S+)", line):
                self.address = found[1]
                return self
        with open(f"{self._folder.name}/log") as log:
            raise RuntimeError(f"the daemon does not start: {log.read()}")

    def stop(self):
        self._process.terminate()
        self._process.wait()
        self._process.stdout.close()
        self._folder.cleanup()


class DaemonTest(unittest.TestCase):
    """Has `address`, of a daemon for all tests of the class. Each test has lock names of its own."""

    daemon: Daemon

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.stop)
        cls.address = cls.daemon.address

    @property
    def name(self):
        return self.id().rpartition(".")[2]

    def run_program(self, text, within=30, **environment):
        """What the program prints; it has to end with 0 in time."""
        ended = subprocess.run(
            [sys.executable, "-c", text, self.address, self.name],
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=within,
        )
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout

    def until(self, condition, within=15):
        end = time.monotonic() + within
        while not condition():
            self.assertLess(time.monotonic(), end, "it did not happen in time")
            time.sleep(0.01)  # between two looks
