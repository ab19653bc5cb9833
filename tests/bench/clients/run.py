#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""run.py [LANGUAGE...] --daemon PATH --clients FOLDER: cycles of each client beside its language's usual library on the same Redis.

docs/internals/performance.md says how it measures; README.md has the requests that a program answers."""

import argparse
import contextlib
import json
import os
import platform
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(ROOT, "tests", "conformance"))
sys.dont_write_bytecode = True

from driver import Driver, DriverGone
from servers import Daemon, Redis

DEPTHS = (1, 8, 64, 256, 1000)
TRY_SECONDS = 0.5  # for each depth, to find the best
ANSWER_LIMIT = 60  # s, on top of what the work takes
HELD_LEASES = 10_000
HELD_TARGET = 0.05
TICKS = os.sysconf("SC_CLK_TCK")
SIDES = ("ours", "theirs")


class Pair:
    """A way to use a language: our client, and the library it is held against."""

    def __init__(self, language, title, peer, target, command):
        self.language, self.title, self.peer, self.target = language, title, peer, target
        self.command = command  # (folder of the clients, side) → words


def node_command(clients, side):
    return ["node", f"{clients}/coming_from/node/bench.mjs", side]


def python_command(way):
    return lambda clients, side: [f"{clients}/coming_from/python/env/bin/python", f"{HERE}/python/program.py", side, way]


def go_command(clients, side):
    return [f"{clients}/coming_from/go/bench/program", side]


def java_command(clients, side):
    return ["java", "-cp", java_classpath(clients), "Program", side]


PAIRS = [
    Pair("node", "Node.js", "redlock on ioredis", 1.3, node_command),
    Pair("python", "Python, threads", "Lock of redis-py", 2.0, python_command("sync")),
    Pair("python", "Python, asyncio", "Lock of redis-py", 2.0, python_command("asyncio")),
    Pair("go", "Go", "redsync on go-redis", 1.0, go_command),
    Pair("java", "Java", "Redisson", 1.0, java_command),
]
LANGUAGES = list(dict.fromkeys(pair.language for pair in PAIRS))


# --- building the programs ---------------------------------------------------------------------------------------------------


def java_classpath(clients):
    lists = [open(f"{clients}/{part}/classpath").read() for part in ("java", "coming_from/java")]
    return ":".join([f"{clients}/coming_from/java/bench", f"{clients}/java/lockkeeper.jar", *lists])


def build(language, clients):
    """Puts our program beside the packages that client/coming_from/bring.sh brought."""
    folder = f"{clients}/coming_from/{language}"
    if language == "node":
        shutil.copy(f"{HERE}/node/program.mjs", f"{folder}/bench.mjs")
    elif language == "go":
        os.makedirs(f"{folder}/bench", exist_ok=True)
        shutil.copy(f"{HERE}/go/main.go", f"{folder}/bench")
        own = {"GOMODCACHE": os.environ.get("LOCKKEEPER_GO_MODULES", f"{clients}/go/modules"), "GOCACHE": f"{clients}/go/cache",
               "GOFLAGS": "-modcacherw -buildvcs=false", "GOTOOLCHAIN": "local"}
        subprocess.run(["go", "build", "-o", "bench/program", "./bench"], cwd=folder, env=os.environ | own, check=True)
    elif language == "java":
        subprocess.run(["javac", "-nowarn", "-cp", java_classpath(clients), "-d", f"{folder}/bench", f"{HERE}/java/Program.java"], check=True)


# --- processes ---------------------------------------------------------------------------------------------------------------


def cpu_seconds(process):
    """User and system time of a process and of its children that have ended."""
    with open(f"/proc/{process}/stat") as file:
        return sum(int(field) for field in file.read().rpartition(")")[2].split()[11:15]) / TICKS


def busy_seconds():
    """Time that the machine worked, for whomever."""
    with open("/proc/stat") as file:
        user, nice, system, idle, iowait, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICKS


class Program:
    """One side of a pair, as a process."""

    def __init__(self, pair, side, bench):
        self.side = side
        self._folder = tempfile.mkdtemp(dir=bench.folder)
        environment = os.environ | {"PYTHONPATH": f"{bench.clients}/coming_from/python", "PYTHONDONTWRITEBYTECODE": "1"}
        command = pair.command(bench.clients, side) + [bench.daemon.address, str(bench.redis.port)]
        self._driver = Driver(command, self._folder, environment)

    @property
    def pid(self):
        return self._driver.process.pid

    def ask(self, what, takes=0, **options):
        try:
            return self._driver.ask({"do": what} | options, takes + ANSWER_LIMIT)["ok"]
        except DriverGone as gone:
            with open(os.path.join(self._folder, "driver.log")) as log:
                raise RuntimeError(f"{self.side}: {gone}\n{log.read()[-2000:]}") from gone

    def cycles_per_second(self, depth, seconds):
        return self.ask("cycles", takes=seconds, depth=depth, seconds=seconds)["perSecond"]

    def end(self):
        self._driver.end(10)
        self._driver.kill()


class Bench:
    """The servers of a run, and what it is about."""

    def __init__(self, options, opened):
        self.clients = os.path.abspath(options.clients)
        self.rounds, self.seconds = options.rounds, options.seconds
        self.folder = tempfile.mkdtemp(prefix="lockkeeper_")
        opened.callback(shutil.rmtree, self.folder)
        self.redis = start_redis(self.folder)
        opened.callback(self.redis.kill)
        self.daemon = Daemon(os.path.abspath(options.daemon), self.folder, "daemon", self.redis)
        opened.callback(self.daemon.kill)

    @contextlib.contextmanager
    def programs(self, pair, sides=SIDES):
        with contextlib.ExitStack() as opened:
            programs = {}
            for side in sides:
                programs[side] = Program(pair, side, self)
                opened.callback(programs[side].end)
            yield programs

    def cpu_of_servers(self):
        return cpu_seconds(self.redis.process.pid) + cpu_seconds(self.daemon.process.pid)


def start_redis(folder):
    """On another port if somebody takes the free one first."""
    for _ in range(9):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with contextlib.suppress(RuntimeError):
            return Redis(folder, port)
    raise RuntimeError("redis-server does not start")


# --- measuring ---------------------------------------------------------------------------------------------------------------


def spread(values):
    return {"median": statistics.median(values), "lowest": min(values), "highest": max(values)}


def measure(pair, bench):
    """Each side at its best depth, in turn."""
    with bench.programs(pair) as programs:
        versions = {side: program.ask("versions")["versions"] for side, program in programs.items()}
        for program in programs.values():
            program.cycles_per_second(DEPTHS[2], TRY_SECONDS)  # its first calls are no measure
        tried = {side: {depth: program.cycles_per_second(depth, TRY_SECONDS) for depth in DEPTHS} for side, program in programs.items()}
        depths = {side: max(tried[side], key=tried[side].get) for side in SIDES}
        figures = {side: [] for side in SIDES}
        costs = {side: {"client": [], "servers": []} for side in SIDES}
        by_us, began, busy = 0, time.monotonic(), busy_seconds()
        for _ in range(bench.rounds):
            for side, program in programs.items():
                turn, client, servers = time.monotonic(), cpu_seconds(program.pid), bench.cpu_of_servers()
                figures[side].append(program.cycles_per_second(depths[side], bench.seconds))
                turn, client, servers = time.monotonic() - turn, cpu_seconds(program.pid) - client, bench.cpu_of_servers() - servers
                by_us += client + servers
                costs[side]["client"].append(client / turn / figures[side][-1] * 1e6)
                costs[side]["servers"].append(servers / turn / figures[side][-1] * 1e6)
        others = (busy_seconds() - busy - by_us) / (time.monotonic() - began) / os.cpu_count()
    ratios = [ours / theirs for ours, theirs in zip(figures["ours"], figures["theirs"])]
    return {
        "title": pair.title, "peer": pair.peer, "target": pair.target, "versions": versions, "tried": tried, "depths": depths,
        **{side: spread(figures[side]) for side in SIDES},
        "cpu_us": {side: {who: statistics.median(values) for who, values in costs[side].items()} for side in SIDES}, "ratio": spread(ratios), "others": max(0.0, others)}


def measure_held(pair, bench, seconds):
    """The share of a core that renewing many leases costs the client."""
    with bench.programs(pair, ["ours"]) as programs:
        program = programs["ours"]
        program.ask("hold", takes=120, leases=HELD_LEASES)
        before, began = cpu_seconds(program.pid), time.monotonic()
        time.sleep(seconds)  # this long is what is measured
        share = (cpu_seconds(program.pid) - before) / (time.monotonic() - began)
        held = program.ask("held")["held"]
    return {"title": pair.title, "leases": HELD_LEASES, "held": held, "core": share}


# --- telling -----------------------------------------------------------------------------------------------------------------


def tell(row):
    hits = "" if row["ratio"]["median"] >= row["target"] else ", MISSED"

    def of(side):
        return f"{row[side]['median']:8,.0f} ({row[side]['lowest']:,.0f} to {row[side]['highest']:,.0f}), depth {row['depths'][side]}"

    print(f"\n{row['title']} beside {row['peer']}: {row['ratio']['median']:.2f} "
          f"({row['ratio']['lowest']:.2f} to {row['ratio']['highest']:.2f}), target {row['target']}{hits}")
    for side, who in (("ours", "lockkeeper"), ("theirs", row["peer"])):
        print(f"  {who:20} {of(side)}; {', '.join(row['versions'][side])}")
        costs = row["cpu_us"][side]
        print("  " + " " * 20 + f" a cycle takes {costs['client']:,.0f} µs of CPU time in the client, {costs['servers']:,.0f} in the servers")
        print("  " + " " * 20 + " tried: " + ", ".join(f"{depth}: {value:,.0f}" for depth, value in row["tried"][side].items()))
    print(f"  other programs took {row['others'] * 100:.0f} % of the machine", flush=True)


def tell_held(row):
    hits = "" if row["core"] < HELD_TARGET and row["held"] == row["leases"] else ", MISSED"
    print(f"\n{row['title']}: {row['held']:,} of {row['leases']:,} leases held, {row['core'] * 100:.1f} % of a core"
          f" (target for Node.js: < {HELD_TARGET * 100:.0f} %){hits}", flush=True)


def first_line(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.partition("\n")[0]


def about(options):
    processor = next((line.partition(":")[2].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown")
    return {
        "commit": first_line("git", "-C", ROOT, "describe", "--always", "--dirty"),
        "machine": f"{os.cpu_count()} cores of {processor}, Linux {platform.release()}",
        "daemon": first_line(options.daemon, "--version"),
        "redis": " ".join(first_line("redis-server", "--version").split()[:3]),
    }


def options_of_command():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("languages", nargs="*", metavar="LANGUAGE", help=f"of {', '.join(LANGUAGES)}; default: all")
    parser.add_argument("--daemon", required=True, help="lockkeeperd")
    parser.add_argument("--clients", required=True, help="the folder in which the clients were built")
    parser.add_argument("--rounds", type=int, default=5, help="of both sides in turn (default 5)")
    parser.add_argument("--seconds", type=float, default=2, help="that a side has in a round (default 2)")
    parser.add_argument("--held", action="store_true", help="measure what 10,000 leases held cost the clients, and no cycles")
    parser.add_argument("--held-seconds", type=float, default=60, help="that this takes for a client (default 60)")
    parser.add_argument("--json", metavar="FILE", help="write all figures there, too")
    options = parser.parse_args()
    if unknown := [language for language in options.languages if language not in LANGUAGES]:
        parser.error(f"no such language: {', '.join(unknown)} (there are {', '.join(LANGUAGES)})")
    if options.rounds < 1 or options.seconds <= 0 or options.held_seconds <= 0:
        parser.error("--rounds must be at least 1, --seconds and --held-seconds more than 0")
    return options


def main():
    options = options_of_command()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started ends
    pairs = [pair for pair in PAIRS if not options.languages or pair.language in options.languages]
    for language in dict.fromkeys(pair.language for pair in pairs):
        try:
            build(language, os.path.abspath(options.clients))
        except subprocess.CalledProcessError:
            sys.exit(f"run.py: the program for {language} cannot be built")  # its compiler has said why
    report = {"about": about(options), "rows": []}
    print("\n".join(f"{key}: {value}" for key, value in report["about"].items()), flush=True)
    with contextlib.ExitStack() as opened:
        bench = Bench(options, opened)
        for pair in pairs:
            if options.held:
                report["rows"].append(measure_held(pair, bench, options.held_seconds))
                tell_held(report["rows"][-1])
            else:
                report["rows"].append(measure(pair, bench))
                tell(report["rows"][-1])
    if options.json:
        with open(options.json, "w") as file:
            json.dump(report, file, indent=2)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except RuntimeError as error:
        sys.exit(f"run.py: {error}")
