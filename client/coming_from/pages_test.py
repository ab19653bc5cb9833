# SPDX-License-Identifier: Apache-2.0
"""pages_test.py OUT: the programs of docs/guides/coming_from do what the pages say, in what check.sh has laid out in OUT.

A line `<!-- ROLE -->` before each block of a page says what becomes of it:
  theirs         runs with the other library, as long as the lock is free; says that it is held otherwise
  ours           does the same with lockkeeper
  ours, waits    has a long wait, and gets the lock when its holder is done
  both           takes both locks
  not run: WHY   is not run
The work of all of them is OUT's work.py, or the like.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import psycopg
import redis

HERE = pathlib.Path(__file__).resolve().parent
OUT = pathlib.Path(sys.argv.pop(1))
CLIENTS = OUT.parent
PAGES = HERE.parent.parent / "docs" / "guides" / "coming_from"
PATIENCE = 60
HELD = "somebody else writes the report"
BLOCK = re.compile(r"^(?:<!-- (?P<role>.*?) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
ROLES = ("theirs", "ours", "ours, waits", "both")


def until(condition, what, child=None):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end or (child and child.poll() is not None):
            raise AssertionError(f"{what} did not happen")
        time.sleep(0.01)


@contextlib.contextmanager
def process(command, **options):
    with subprocess.Popen(command, **options) as child:
        try:
            yield child
        finally:
            child.terminate()
            try:
                child.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                child.kill()


@contextlib.contextmanager
def daemon():
    with tempfile.TemporaryDirectory(prefix="lockkeeper_") as data:
        command = [os.environ["LOCKKEEPERD"], "--embedded", "--data-dir", data, "--listen", "127.0.0.1:0", "--http-listen", ""]
        with process(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
            yield re.search(r" grpc=(\S+)", child.stdout.readline())[1]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def redis_server():
    """Yields its address. Its port is another one if somebody was faster."""

    def answers():
        with contextlib.suppress(redis.ConnectionError), redis.Redis(port=port) as client:
            return client.ping() and child.poll() is None

    for _ in range(10):
        port = free_port()
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
        with process(command, stdout=subprocess.DEVNULL) as child:
            until(lambda: answers() or child.poll() is not None, "an answer of Redis")
            if child.poll() is None:
                yield f"127.0.0.1:{port}"
                return
    raise AssertionError("Redis found no port")


@contextlib.contextmanager
def postgresql():
    """Yields the folder of its socket. It refuses to run as root, so that nobody runs it then."""
    user = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
    installed = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    programs = os.environ.get("POSTGRESQL_BIN") or installed[-1]
    with tempfile.TemporaryDirectory(prefix="lockkeeper_") as place:
        if user:
            shutil.chown(place, user["user"])
        initialize = [f"{programs}/initdb", "-D", f"{place}/data", "--username", "postgres", "--auth", "trust", "--no-sync"]
        subprocess.run(initialize, check=True, stdout=subprocess.DEVNULL, cwd=place, **user)
        serve = [f"{programs}/postgres", "-D", f"{place}/data", "-k", place, "-c", "listen_addresses=", "-c", "fsync=off"]
        with process(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=place, **user) as child:

            def connects():
                with contextlib.suppress(psycopg.OperationalError):
                    return psycopg.connect(host=place, user="postgres").close() or True

            until(connects, "a connection to PostgreSQL", child)
            yield place
            child.send_signal(signal.SIGINT)  # at once, without waiting for those who are connected


def blocks(page):
    """The blocks of a page to be run: role, language, text."""
    found = []
    for block in BLOCK.finditer(page.read_text()):
        role = block["role"] or ""
        if role in ROLES:
            found.append((role, block["language"], block["text"]))
        elif not re.fullmatch(r"not run: .+", role):
            raise AssertionError(f"{page}: a block says not whether it is run: {block['text']}")
    return found


class Program:
    """A block, made ready to run."""

    def __init__(self, page, role, language, text):
        self.role = role
        self.name = f"{page.stem}_{role.split(',')[0]}"
        self.command = getattr(self, f"_{language}")(text)

    def _js(self, text):
        file = OUT / "node" / f"{self.name}.mjs"
        file.write_text(text)
        return ["node", str(file)]

    def _python(self, text):
        file = OUT / "python" / f"{self.name}.py"
        file.write_text(text)
        return [sys.executable, str(file)]

    def _go(self, text):
        folder = OUT / "go" / self.name
        folder.mkdir(exist_ok=True)
        (folder / "main.go").write_text(text)
        subprocess.run(["go", "build", "-o", f"{folder}/program", f"./{self.name}"], check=True, cwd=OUT / "go")
        return [f"{folder}/program"]

    def _java(self, text):
        folder = OUT / "java" / self.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        name = re.search(r"public final class (\w+)", text)[1]
        (folder / f"{name}.java").write_text(text)
        jars = [CLIENTS / "java" / "lockkeeper.jar"]
        lists = [(CLIENTS / "java" / "classpath").read_text(), (OUT / "java" / "classpath").read_text()]
        classpath = ":".join([str(folder), *map(str, jars), *lists])
        sources = [f"{folder}/{name}.java", f"{OUT}/java/Work.java"]
        subprocess.run(["javac", "-nowarn", "-cp", classpath, "-d", folder, *sources], check=True)
        return ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classpath, name]

    def _sh(self, text):
        return ["bash", "-euc", text]


class PagesTest(unittest.TestCase):
    """The cases are made below, one for each page."""

    @classmethod
    def setUpClass(cls):
        servers = contextlib.ExitStack()
        cls.addClassCleanup(servers.close)
        cls.redis = servers.enter_context(redis_server())
        cls.postgresql = servers.enter_context(postgresql())

    def setUp(self):
        servers = contextlib.ExitStack()
        self.addCleanup(servers.close)
        self.folder = servers.enter_context(tempfile.TemporaryDirectory(prefix="lockkeeper_"))
        self.daemon = servers.enter_context(daemon())
        self.environment = os.environ | {
            "LOCKKEEPER_SERVER": self.daemon,
            "PATH": f"{OUT}/bin:{os.environ['PATH']}",
            "PGHOST": self.postgresql,
            "PGUSER": "postgres",
        }

    def with_addresses(self, text):
        text = text.replace("./report.sh", "report.sh")
        return text.replace("127.0.0.1:7600", self.daemon).replace("127.0.0.1:6379", self.redis)

    def start(self, program, **environment):
        return process(program.command, env=self.environment | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def listed(self):
        """What the command line says of the locks that are held, waited for, or closed after their last lease."""
        command = [f"{OUT}/bin/lockkeeper", "--output", "json", "list"]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True).stdout

    def end(self, program, child):
        """What the program says. Returns when no lock is closed any more: ShedLock's page holds at least, and the next may be quick."""
        said, errors = child.communicate(timeout=PATIENCE)
        until(lambda: '"state":"ended"' not in self.listed(), f"opening of the locks of {program.name}")
        if "somebody else" not in said:
            self.assertEqual(child.returncode, 0, f"{program.name}: {said}{errors}")
        return said

    def run_alone(self, program):
        with self.start(program) as child:
            return self.end(program, child)

    @contextlib.contextmanager
    def at_work(self, program):
        """The program has its lock, and keeps it until the end of the block."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder, self.start(program, WORK_FOLDER=folder) as child:
            try:
                until(pathlib.Path(folder, "begun").exists, f"work of {program.name}", child)
            except AssertionError:
                child.kill()
                raise AssertionError(f"{program.name} does not work: {child.communicate()}") from None
            yield
            pathlib.Path(folder, "may_end").touch()
            self.assert_wrote(program, self.end(program, child))

    def assert_wrote(self, program, said):
        wrote = "wrote the report\n" if program.role == "theirs" else r"wrote the report with token \d{16}\n"
        self.assertRegex(said, f"^{wrote}", program.name)

    def check_alone(self, program):
        """Writes on a free lock, is told of a held one, or waits for it, and leaves the lock free."""
        self.assert_wrote(program, self.run_alone(program))
        if program.role == "ours, waits":
            with contextlib.ExitStack() as stack:
                holder = stack.enter_context(contextlib.ExitStack())
                holder.enter_context(self.at_work(program))
                waiter = stack.enter_context(self.start(program))
                until(lambda: '"waiters":1' in self.listed(), "a waiter", waiter)
                holder.close()
                self.assert_wrote(program, self.end(program, waiter))
        else:
            with self.at_work(program):
                self.assertIn(HELD, self.run_alone(program), program.name)
            self.assert_wrote(program, self.run_alone(program))

    def check_both(self, both, theirs, ours):
        """Excludes, and is excluded by, each of the two; and leaves the lock that it got free."""
        self.assert_wrote(both, self.run_alone(both))
        for one, other in ((theirs, ours), (ours, theirs)):
            with self.at_work(one):
                self.assertIn(HELD, self.run_alone(both), f"{both.name} beside {one.name}")
                self.assert_wrote(other, self.run_alone(other))
            with self.at_work(both):
                self.assertIn(HELD, self.run_alone(one), f"{one.name} beside {both.name}")

    def check_page(self, page):
        programs = {}
        for role, language, text in blocks(page):
            program = Program(page, role, language, self.with_addresses(text))
            if role == "both":
                self.check_both(program, programs["theirs"], programs["ours"])
            else:
                self.check_alone(program)
            programs[role] = program


def add_cases():
    for page in sorted(PAGES.glob("*.md")):
        if blocks(page):
            setattr(PagesTest, f"test_{page.stem}", lambda self, page=page: self.check_page(page))


add_cases()
if __name__ == "__main__":
    unittest.main()
