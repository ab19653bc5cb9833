# SPDX-License-Identifier: Apache-2.0
"""The real daemon and its Redis as processes."""

import os
import signal
import socket
import subprocess
import threading
import time

START_LIMIT = 30


class Redis:
    """A redis-server on a unix socket, and on `port` of 127.0.0.1 unless that is 0; without persistence."""

    def __init__(self, folder, port=0):
        self.path = os.path.join(folder, "redis.sock")
        self.port = port
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--unixsocket", self.path, "--save", "", "--dir", folder],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + START_LIMIT
        while True:
            try:
                if self.run("PING").startswith(b"+PONG"):
                    return
            except OSError:
                pass
            if time.monotonic() > until or self.process.poll() is not None:
                raise RuntimeError("redis-server does not start")
            time.sleep(0.01)  # between two looks at a condition

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}" if self.port else "unix://" + self.path

    def run(self, command):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(self.path)
            connection.sendall(command.encode() + b"\r\n")
            return connection.recv(4096)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Daemon:
    """A lockkeeperd; started again, it listens elsewhere: a gate hides that."""

    def __init__(self, program, folder, name, redis=None, tls=False):
        self._program, self._folder, self._name, self._redis = program, folder, name, redis
        self._listen = ["--listen", "127.0.0.1:0"]
        if tls:
            self._listen = ["--listen", "tls://127.0.0.1:0", "--tls-cert", "daemon.pem", "--tls-key", "daemon.key"]
        self.start()

    def start(self):
        store = ["--redis", self._redis.url] if self._redis else ["--embedded", "--data-dir", os.path.join(self._folder, self._name)]
        self._log = open(os.path.join(self._folder, self._name + ".log"), "ab")
        self.process = subprocess.Popen(
            [self._program, *store, *self._listen, "--http-listen", ""],
            cwd=self._folder, stdout=subprocess.PIPE, stderr=self._log)
        line = []
        reader = threading.Thread(target=lambda: line.append(self.process.stdout.readline().decode()), daemon=True)
        reader.start()
        reader.join(START_LIMIT)
        addresses = [word[len("grpc="):] for word in (line or [""])[0].split() if word.startswith("grpc=")]
        if not addresses:
            self.kill()
            raise RuntimeError(f"{self._program} does not start: see {self._log.name}")
        self.address = addresses[0]

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        """Ends it, however it is."""
        if self.process.poll() is None and not self._redis:
            # The embedded redis-server ends with its daemon, if the daemon may say so.
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                pass
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self._log.close()
