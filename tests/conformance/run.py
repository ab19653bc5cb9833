#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""run.py CLIENT --driver PATH --daemon PATH [flag...]: plays the cases of the conformance suite with one client (README.md).

Exit codes: 0 all cases passed, 1 one failed, 2 the suite cannot run."""

import argparse
import fnmatch
import os
import shutil
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import google  # the stubs of google.rpc join it

import stubs
from catalogue import load_cases, load_client, reason_to_leave_out

STALL = 0.25  # s; a machine that gives no time for so long can fail a case that is right
STALL_TRIES = 3


class Stalls:
    """Measures when this machine gave its programs no time."""

    def __init__(self):
        self._found = []
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self):
        before = time.monotonic()
        while True:
            time.sleep(0.02)
            now = time.monotonic()
            if now - before > STALL:
                self._found.append((now, now - before))
            before = now

    def longest_since(self, begin):
        return max((length for at, length in self._found if at >= begin), default=0)


class Suite:
    """What all cases of one run share."""

    def __init__(self, arguments, client):
        self.driver = os.path.abspath(arguments.driver)
        self.daemon = os.path.abspath(arguments.daemon)
        self.clock_shim = arguments.clock_shim and os.path.abspath(arguments.clock_shim)
        self.environment = {"LOCKKEEPER": os.path.abspath(arguments.cli)} if arguments.cli else {}
        self.client = client
        self.trace = arguments.trace
        self.stalls = Stalls()
        self._output = threading.Lock()

    def say(self, text):
        with self._output:
            print(text, flush=True)

    def play(self, case):
        """`passed`, `failed` or `left out`."""
        from player import Failed, Player
        reason = reason_to_leave_out(self.client, case)
        if case.get("clock") and not self.clock_shim:
            reason = reason or "no --clock-shim was given"
        if reason:
            self.say(f"left out  {case['case']}: {reason}")
            return "left out"
        for attempt in range(1, STALL_TRIES + 1):
            began = time.monotonic()
            trace = (lambda text: self.say(f"{time.monotonic() - began:8.3f} {text}")) if self.trace else None
            try:
                Player(case, self, trace).play()
                self.say(f"passed    {case['case']} ({time.monotonic() - began:.1f} s)")
                return "passed"
            except Exception as failure:
                text = str(failure) if isinstance(failure, Failed) else traceback.format_exc()
                stall = self.stalls.longest_since(began)
                if stall > 0 and attempt < STALL_TRIES:
                    self.say(f"repeated  {case['case']}: the machine stood still for {stall:.2f} s meanwhile; {text.splitlines()[0]}")
                    continue
                self.say(f"FAILED    {case['case']}: {case['says']}\n    {text}")
                return "failed"


def check_features(suite):
    """The driver has to offer what the client's page does not say it lacks."""
    from driver import Driver
    folder = tempfile.mkdtemp(prefix="lockkeeper_")
    driver = Driver([suite.driver], folder, dict(os.environ) | suite.environment)
    try:
        offered = set(driver.ask({"do": "features"}, 60)["ok"]["features"])
    finally:
        driver.kill()
        shutil.rmtree(folder)
    needed = {feature for case in load_cases() for feature in case["needs"]} | {"details"}
    missing = needed - offered - set(suite.client["lacks"])
    if missing:
        sys.exit(f"run.py: the driver offers no {sorted(missing)}, and {suite.client['file']} does not say why")
    if hidden := set(suite.client["lacks"]) & offered:
        sys.exit(f"run.py: the driver offers {sorted(hidden)}, which {suite.client['file']} says that it lacks")


def arguments_of_command():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("client", help="a file of tests/conformance/clients, such as cpp")
    parser.add_argument("--driver", required=True, help="the program that drives the client")
    parser.add_argument("--daemon", required=True, help="lockkeeperd")
    parser.add_argument("--cli", help="lockkeeper, for the driver of the command line")
    parser.add_argument("--clock-shim", help="the library that moves a process's wall clock; without it those cases are left out")
    parser.add_argument("--case", action="append", default=[], help="only this case, or those that match this pattern; repeatable")
    parser.add_argument("--jobs", type=int, default=4, help="how many cases at a time (default 4)")
    parser.add_argument("--trace", action="store_true", help="show each step and what the driver is told and says; one case at a time")
    return parser.parse_args()


def main():
    arguments = arguments_of_command()
    stubs_folder = tempfile.mkdtemp(prefix="lockkeeper_")
    try:
        cases = load_cases()
        if arguments.case:
            cases = [case for case in cases if any(fnmatch.fnmatch(case["case"], pattern) for pattern in arguments.case)]
            if not cases:
                sys.exit("run.py: there is no such case")
        suite = Suite(arguments, load_client(arguments.client))
        stubs.generate(ROOT, stubs_folder)
        sys.path.insert(0, stubs_folder)
        google.__path__.append(os.path.join(stubs_folder, "google"))
        check_features(suite)
        cases.sort(key=lambda case: -case["takes"])
        began = time.monotonic()
        with ThreadPoolExecutor(1 if arguments.trace else arguments.jobs) as pool:
            results = list(pool.map(suite.play, cases))
        print(f"{suite.client['title']}: {time.monotonic() - began:.0f} s")
        print("%d passed, %d failed, %d skipped" % tuple(results.count(kind) for kind in ("passed", "failed", "left out")), flush=True)
        status = 1 if "failed" in results else 0
    finally:
        shutil.rmtree(stubs_folder)
    sys.stdout.flush()
    os._exit(status)  # gRPC's threads, and those of cut streams, have nothing left to say


if __name__ == "__main__":
    main()
