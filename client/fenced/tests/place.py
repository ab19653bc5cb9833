# SPDX-License-Identifier: Apache-2.0
"""Real servers for the tests, each in a folder of its own, on a unix socket or a port that the system chose."""
import contextlib
import glob
import json
import logging
import os
import pathlib
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import psycopg
import redis
from moto.server import ThreadedMotoServer

from resources import SOURCE

PATIENCE = 60  # seconds until a condition that a test waits for counts as a failure


def until(condition, what):
    """Waits for a condition, and returns its value."""
    end = time.monotonic() + PATIENCE
    while not (value := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not happen within {PATIENCE} s")
        time.sleep(0.01)
    return value


def next_line(stream, what):
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        if not selector.select(PATIENCE):
            raise TimeoutError(f"{what} said nothing for {PATIENCE} s")
    return stream.readline().rstrip(b"\n")


@contextlib.contextmanager
def folder(owner=None):
    path = tempfile.mkdtemp(prefix="lockkeeper-fenced-")
    try:
        if owner:
            shutil.chown(path, owner)
        yield path
    finally:
        shutil.rmtree(path)


@contextlib.contextmanager
def process(command, **options):
    with subprocess.Popen(command, **options) as child:
        try:
            yield child
        finally:
            if child.poll() is None:
                child.terminate()
                try:
                    child.wait(PATIENCE)
                except subprocess.TimeoutExpired:
                    child.kill()


@contextlib.contextmanager
def daemon():
    """lockkeeperd with a store of its own; yields its address."""
    with folder() as data:
        command = [os.environ["LOCKKEEPERD"], "--embedded", "--data-dir", data, "--listen", "127.0.0.1:0", "--http-listen", ""]
        with process(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
            ready = next_line(child.stdout, "lockkeeperd").decode()
            yield next(word for word in ready.split() if word.startswith("grpc=")).removeprefix("grpc=")


def postgresql_programs():
    """The folder of the newest PostgreSQL that is installed, or POSTGRESQL_BIN."""
    installed = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda path: int(path.split("/")[4]))
    return os.environ.get("POSTGRESQL_BIN") or os.path.dirname(installed[-1])


@contextlib.contextmanager
def postgresql():
    """A server without a network; yields how to connect as its superuser."""
    # It refuses to run as root. Nobody else is asked for, so it is this user or nobody.
    user = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
    programs = postgresql_programs()
    with folder(owner=user.get("user")) as place:
        data = f"{place}/data"
        subprocess.run([f"{programs}/initdb", "--pgdata", data, "--username", "postgres", "--auth", "trust", "--no-sync",
                        "--encoding", "UTF8", "--locale", "C"], check=True, stdout=subprocess.DEVNULL, cwd=place, **user)
        with open(f"{place}/log", "wb") as log:
            server = process([f"{programs}/postgres", "-D", data, "-k", place, "-c", "listen_addresses=", "-c", "fsync=off",
                              "-c", "max_prepared_transactions=2"], stdout=log, stderr=log, cwd=place, **user)
            where = {"host": place, "user": "postgres", "dbname": "postgres"}

            def connects():
                with contextlib.suppress(psycopg.OperationalError):
                    return psycopg.connect(**where)

            with server as child:
                until(connects, "a connection to PostgreSQL").close()
                yield where
                child.send_signal(signal.SIGINT)  # at once, without waiting for those who are connected


@contextlib.contextmanager
def redis_server(*flags):
    """Yields the path of its socket."""
    with folder() as place:
        path = f"{place}/socket"
        command = ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", place, *flags]
        with process(command, stdout=subprocess.DEVNULL):

            def answers():
                with contextlib.suppress(redis.ConnectionError), redis.Redis(unix_socket_path=path) as client:
                    return client.ping()

            until(answers, "an answer of Redis")
            yield path


@contextlib.contextmanager
def s3_server():
    """moto's S3 server; yields its address. It keeps to If-Match and If-None-Match of a put."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # no line for each request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        yield "http://{}:{}".format(*server.get_host_and_port())
    finally:
        server.stop()


class Worker:
    """A process of tests/worker.py, for a `with` statement."""

    def __init__(self, server, lock, **job):
        job.update(lock=lock)
        environment = dict(os.environ, LOCKKEEPER_SERVER=server)
        self._process = subprocess.Popen([sys.executable, SOURCE / "tests/worker.py", json.dumps(job)], env=environment,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.__exit__(None, None, None)

    def next_word(self):
        """What the worker says next."""
        line = next_line(self._process.stdout, "the worker")
        if not line:
            raise EOFError("the worker ended without a word")
        return json.loads(line)

    def proceed(self):
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()

    def pause(self):
        self._process.send_signal(signal.SIGSTOP)
        status = pathlib.Path(f"/proc/{self._process.pid}/stat")
        until(lambda: status.read_text().rpartition(")")[2].split()[0] == "T", "the pause of the worker")

    def wake(self):
        self._process.send_signal(signal.SIGCONT)
