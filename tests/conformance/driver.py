# SPDX-License-Identifier: Apache-2.0
"""The driver: one process with a client of lockkeeper in it, told what to do over JSON lines (README.md)."""

import itertools
import json
import os
import signal
import subprocess
import threading
import time


class DriverGone(Exception):
    """The driver ended, or does not answer."""


class Driver:
    def __init__(self, command, folder, environment, trace=None):
        self._trace = trace
        self._errors = open(os.path.join(folder, "driver.log"), "wb")
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            start_new_session=True)  # so that what a driver leaves behind can be ended with it
        self._ids = itertools.count(1)
        self._changed = threading.Condition()
        self._answers = {}
        self.events = []  # each with `at`, when its line was read
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            at = time.monotonic()
            self._tell("<", line)
            try:
                message = json.loads(line)
            except ValueError:
                message = {"event": "not JSON", "text": line.decode(errors="replace")}
            with self._changed:
                if "event" in message:
                    self.events.append(message | {"at": at})
                else:
                    self._answers[message.get("id")] = message | {"at": at}
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _tell(self, direction, line):
        if self._trace:
            self._trace(f"{direction} {line.decode(errors='replace').strip()}")

    def start(self, request):
        """Sends a request and returns its id."""
        number = next(self._ids)
        line = json.dumps({"id": number} | request).encode() + b"\n"
        self._tell(">", line)
        try:
            self.process.stdin.write(line)
            self.process.stdin.flush()
        except OSError as error:
            raise DriverGone(f"the driver ended: {error}") from error
        return number

    def finish(self, number, within):
        """The answer of a request."""
        with self._changed:
            self._changed.wait_for(lambda: number in self._answers or self._ended, within)
            if number in self._answers:
                return self._answers.pop(number)
            raise DriverGone("the driver ended without an answer" if self._ended else f"no answer within {within:.1f} s")

    def ask(self, request, within):
        return self.finish(self.start(request), within)

    def await_events(self, found, within):
        """Waits until `found` has found some; False if it has not in time."""
        with self._changed:
            self._changed.wait_for(lambda: found() or self._ended, within)
            return bool(found())

    def end(self, within):
        """Closes the driver's stdin. Returns its exit status; None if it has not ended in time."""
        if not self.process.stdin.closed:
            try:
                self.process.stdin.close()
            except OSError:
                pass
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            return None

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self._reader.join(5)
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except OSError:
                pass
        self._errors.close()
