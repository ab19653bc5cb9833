#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""late_holder.py (--blocks | --stopped) COMMAND...: a holder that stood still for two ttls learns of its loss, and its write is refused.

COMMAND is a program of some language's client. It acquires the lock `seat` with a ttl of TTL_MS, accesses a fenced row of PostgreSQL and
says `holds`. With --blocks it then blocks itself for two ttls, with --stopped it waits for a line and is stopped by SIGSTOP meanwhile. The
first thing that it does afterwards is to say `lost` or `held`. It waits for a line, writes to the row in any case, and says `refused` or
`written`. PGHOST, PGUSER and PGDATABASE lead psql to the row, LOCKKEEPER_SERVER to the daemon. LOCKKEEPERD and LOCKKEEPER are programs."""

import contextlib
import glob
import json
import os
import pathlib
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TTL_MS = 1_000
PATIENCE = 60  # seconds until what has not happened counts as a failure


def next_line(stream, who):
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        if not selector.select(PATIENCE):
            raise SystemExit(f"{who} said nothing for {PATIENCE} s")
    return stream.readline().decode().strip()


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"{what} did not happen within {PATIENCE} s")
        time.sleep(0.01)


def has_stopped(pid):
    """All of its threads: one that still runs could read the line."""
    states = [pathlib.Path(status).read_text().rpartition(")")[2].split()[0] for status in glob.glob(f"/proc/{pid}/task/*/stat")]
    return set(states) == {"T"}


def expect(seen, wanted, who):
    if seen != wanted:
        raise SystemExit(f"{who} said `{seen}` instead of `{wanted}`")


@contextlib.contextmanager
def process(command, end_with=signal.SIGTERM, **options):
    with subprocess.Popen(command, bufsize=0, **options) as child:
        try:
            yield child
        finally:
            child.send_signal(signal.SIGCONT)
            child.send_signal(end_with)
            try:
                child.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                child.kill()


@contextlib.contextmanager
def daemon(folder):
    command = [os.environ["LOCKKEEPERD"], "--embedded", "--data-dir", f"{folder}/data", "--listen", "127.0.0.1:0", "--http-listen", ""]
    with process(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        ready = next_line(child.stdout, "lockkeeperd")
        yield next(word for word in ready.split() if word.startswith("grpc=")).removeprefix("grpc=")


@contextlib.contextmanager
def postgresql(folder):
    """A server without a network; yields the environment that leads to it."""
    # It refuses to run as root.
    user = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
    installed = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
    programs = os.environ.get("POSTGRESQL_BIN") or installed[-1]
    place = f"{folder}/postgresql"
    os.mkdir(place)
    if user:
        os.chmod(folder, 0o711)
        shutil.chown(place, user["user"])
    initialize = [f"{programs}/initdb", "--pgdata", f"{place}/data", "--username", "postgres", "--auth", "trust", "--no-sync", "--locale", "C"]
    subprocess.run(initialize, check=True, stdout=subprocess.DEVNULL, cwd=place, **user)
    environment = {"PGHOST": place, "PGUSER": "postgres", "PGDATABASE": "postgres"}
    serve = [f"{programs}/postgres", "-D", f"{place}/data", "-k", place, "-c", "listen_addresses=", "-c", "fsync=off"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with process(serve, signal.SIGINT, cwd=place, **quiet, **user):
        connects = ["psql", "-qc", "select 1"]
        until(lambda: subprocess.run(connects, env=os.environ | environment, **quiet).returncode == 0, "a connection to PostgreSQL")
        yield environment


def psql(environment, command):
    return subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-c", command], env=environment, check=True, capture_output=True,
                          text=True).stdout.strip()


def take_over(environment):
    """What the next holder does: it gets the lock when the first lease is over, and writes."""
    command = [os.environ["LOCKKEEPER"], "acquire", "seat", "--ttl", "30s", "--wait", "30s", "--output", "json"]
    token = json.loads(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)["fencing_token"]
    wrote = psql(environment, f"update seat set guest = 'second', fencing_token = {token} where id = 12 and fencing_token <= {token} returning id")
    expect(wrote, "12", "the write of the next holder")


def main():
    how, command = sys.argv[1], sys.argv[2:]
    with contextlib.ExitStack() as opened:
        folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="lockkeeper_"))
        environment = os.environ | opened.enter_context(postgresql(folder)) | {"LOCKKEEPER_SERVER": opened.enter_context(daemon(folder))}
        psql(environment, "create table seat (id int primary key, guest text, fencing_token bigint not null); insert into seat values (12, '', 0)")
        holder = opened.enter_context(process(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        expect(next_line(holder.stdout, "the holder"), "holds", "the holder")
        if how == "--stopped":
            holder.send_signal(signal.SIGSTOP)
            until(lambda: has_stopped(holder.pid), "the stop of the holder")
            wakes_at = time.monotonic() + 2 * TTL_MS / 1000
            holder.stdin.write(b"\n")  # It finds this line when it wakes up.
        take_over(environment)
        if how == "--stopped":
            time.sleep(max(0.0, wakes_at - time.monotonic()))  # This long is what is tested.
            holder.send_signal(signal.SIGCONT)
        expect(next_line(holder.stdout, "the holder"), "lost", "the holder")
        holder.stdin.write(b"\n")
        expect(next_line(holder.stdout, "the holder"), "refused", "the holder")
        expect(psql(environment, "select guest from seat where id = 12"), "second", "the row")
        if status := holder.wait(PATIENCE):
            raise SystemExit(f"the holder ended with {status}")
    print("a late holder is told of its loss, and PostgreSQL refuses its write")


if __name__ == "__main__":
    main()
