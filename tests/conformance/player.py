# SPDX-License-Identifier: Apache-2.0
"""Plays one case: starts what it needs, carries out its steps one after the other, and ends everything. README.md says what steps there are."""

import mmap
import os
import re
import shutil
import signal
import statistics
import struct
import tempfile
import time

import certificates
from catalogue import DETAILS
from driver import Driver, DriverGone
from gate import Gate
from outsider import Outsider
from scripted import ScriptedDaemon
from servers import Daemon, Redis

STEP_LIMIT = 15_000  # how long a step may take that names no time
READ_SLACK = 0.25  # s; how late this program may read a line without blaming the client
FIRST_ANSWER_LIMIT = 60_000  # a language may need its time to start
UNITS = {"ms": 1, "s": 1000, "m": 60_000}
DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m)")


class Failed(Exception):
    """The case's expectation is not met."""


def value_of(text, variables):
    """What a scalar of a case means: a duration is milliseconds, `$word` a variable."""
    if not isinstance(text, str):
        return text
    if matched := DURATION.fullmatch(text):
        return round(float(matched[1]) * UNITS[matched[2]])
    if matched := re.fullmatch(r"(.+) x (\d+)", text):
        return matched[1] * int(matched[2])
    if text.startswith("$"):
        return variables[text[1:]]
    return text


def filled(data, variables):
    """`data` with the meaning of its scalars, but for messages, which are in protobuf's own JSON."""
    if isinstance(data, dict):
        return {key: value if key in ("set", "reply") else filled(value, variables) for key, value in data.items()}
    if isinstance(data, list):
        return [filled(value, variables) for value in data]
    return value_of(data, variables)


def matches(expected, actual, variables):
    """`a..b` is a range, either end may be left out; `/x/` is a pattern; of a mapping only the members that are named count."""
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            matches(value, actual.get(key), variables) for key, value in expected.items())
    if isinstance(expected, list):
        return any(matches(value, actual, variables) for value in expected)
    if isinstance(expected, str) and ".." in expected:
        low, high = (value_of(end, variables) for end in expected.split(".."))
        if not isinstance(actual, (int, float)) or isinstance(actual, bool):
            return False
        return (low == "" or float(low) <= actual) and (high == "" or actual <= float(high))
    if isinstance(expected, str) and len(expected) > 1 and expected[0] == expected[-1] == "/":
        return isinstance(actual, str) and re.search(expected[1:-1], actual, re.IGNORECASE) is not None
    return value_of(expected, variables) == actual


class ClockFile:
    """What the preloaded clock shim (tests/support/clock) reads: how far the wall clock is ahead, and how long the machine has slept."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "clock")
        with open(self.path, "wb") as file:
            file.write(bytes(24))
        self._file = open(self.path, "r+b")
        self._memory = mmap.mmap(self._file.fileno(), 24)

    def set_ahead(self, millis):
        self._memory[8:16] = struct.pack("=q", millis * 1000)

    def set_slept(self, millis):
        self._memory[16:24] = struct.pack("=q", millis * 1000)

    def close(self):
        self._memory.close()
        self._file.close()


class Player:
    def __init__(self, case, suite, trace=None):
        self._case, self._suite, self._trace = case, suite, trace
        self._variables = {}
        self._started = {}  # label -> id of a request under way
        self._marks = {}
        self._heard = set()  # ids of the events that steps have waited for
        self._folder = tempfile.mkdtemp(prefix="lockkeeper_")
        self._daemons, self._gates = [], []
        self._scripted = self._redis = self._driver = self._outsider = self._clock = None

    # --- begin and end ----------------------------------------------------------------------------------------------------------

    def play(self):
        try:
            self._start_servers()
            self._start_driver()
            for number, step in enumerate(self._case["steps"], 1):
                if self._trace:
                    self._trace(f"step {number}: {step}")
                try:
                    self._step(dict(step))
                except (Failed, DriverGone) as failure:
                    raise Failed(f"step {number} {step}: {failure}{self._story()}") from failure
            if self._scripted and self._scripted.defects:
                raise Failed("the scripted daemon failed: " + self._scripted.defects[0])
        finally:
            self._stop()

    def _start_servers(self):
        kind = self._case.get("daemon", "real")
        tls = self._case.get("tls", False)
        if tls:
            certificates.make(self._folder)
        if kind == "scripted":
            self._scripted = ScriptedDaemon(self._case.get("daemons", 1))
            addresses = self._scripted.addresses
        else:
            count = self._case.get("daemons", 1)
            if count > 1 or kind == "redis":
                self._redis = Redis(self._folder)
            for number in range(1, count + 1):
                self._daemons.append(Daemon(self._suite.daemon, self._folder, f"daemon{number}", self._redis, tls))
            addresses = [daemon.address for daemon in self._daemons]
            if not tls:
                self._outsider = Outsider(addresses[-1])
        if self._case.get("gate"):
            self._gates = [Gate(address) for address in addresses]
            addresses = [gate.address for gate in self._gates]
        self._addresses = addresses

    def _start_driver(self):
        environment = dict(os.environ)
        for name in list(environment):
            if name.startswith("LOCKKEEPER_"):
                del environment[name]
        if self._case.get("clock"):
            self._clock = ClockFile(self._folder)
            environment |= {"LD_PRELOAD": self._suite.clock_shim, "LOCKKEEPER_CLOCK_FILE": self._clock.path}
        environment |= self._suite.environment
        self._driver = Driver([self._suite.driver], self._folder, environment, self._trace)
        if self._case["steps"][0].get("do") != "create":
            self._step({"do": "create"} | self._case.get("client", {}) | {"within": FIRST_ANSWER_LIMIT})

    def _stop(self):
        if self._driver:
            self._driver.kill()
        for each in (self._outsider, self._scripted, self._clock, *self._gates):
            if each:
                each.close()
        for each in (*self._daemons, self._redis):
            if each:
                each.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _story(self):
        """What somebody who looks for the reason wants to know."""
        lines = []
        if self._scripted:
            began = self._scripted.records[0]["at"] if self._scripted.records else 0
            lines += ["the scripted daemon was sent:"] + [
                "  %7.3f s %s" % (record["at"] - began, {
                    key: value for key, value in record.items() if key not in ("at", "labels", "owner") and value not in ("", 0, False)})
                for record in self._scripted.records[-20:]]
        if self._driver:
            lines += [f"event {event}" for event in self._driver.events]
        with open(os.path.join(self._folder, "driver.log"), errors="replace") as log:
            lines += [f"stderr {line.rstrip()}" for line in log.readlines()[-15:]]
        return "".join("\n      " + line for line in lines)

    # --- steps ------------------------------------------------------------------------------------------------------------------

    def _step(self, step):
        for kind in ("do", "finish", "event", "no event", "seen", "other", "until", "script", "forget rules", "push", "tell",
                     "cut streams", "end watches", "hold lock", "free lock", "daemon", "gate", "process", "redis", "clock", "sleep", "wait", "mark", "end"):
            if kind in step:
                argument = step.pop(kind)
                getattr(self, "_step_" + kind.replace(" ", "_"))(argument, step)
                return
        raise Failed("no such step")

    def _check(self, expected, actual, what):
        if isinstance(expected, dict) and "details" in self._suite.client["lacks"]:
            expected = {key: value for key, value in expected.items() if key not in DETAILS}
        if not matches(expected, actual, self._variables):
            raise Failed(f"{what} is {actual}, not {expected}")

    @staticmethod
    def _within(step, otherwise=STEP_LIMIT):
        return value_of(step.pop("within", otherwise), {}) / 1000

    def _step_do(self, verb, step):
        """Asks the driver. `start: LABEL` does not wait for the answer; `finish: LABEL` does it later."""
        within = self._within(step)
        label = step.pop("start", None)
        wanted = {key: step.pop(key) for key in ("expect", "error", "save", "times") if key in step}
        request = {"do": verb} | filled(step, self._variables)
        if verb == "create":
            request = {"servers": self._addresses} | {
                key: os.path.join(self._folder, value) if key.endswith("File") else value for key, value in request.items()}
        if verb == "cancel":
            request["request"] = self._started[request["request"]]
        for number in range(wanted.get("times", 1)):
            each = {key: value.replace("#", str(number)) if isinstance(value, str) and "times" in wanted else value
                    for key, value in request.items()}
            key = f"{label} {number}" if "times" in wanted else label
            if label:
                self._started[key] = self._driver.start(each)
            else:
                self._judge(self._driver.ask(each, within), wanted)

    def _step_finish(self, label, step):
        within = self._within(step)
        labels = [f"{label} {number}" for number in range(step["times"])] if "times" in step else [label]
        for each in labels:
            self._judge(self._driver.finish(self._started[each], within), step)

    def _judge(self, answer, wanted):
        if "error" in wanted:
            if "error" not in answer:
                raise Failed(f"the answer is {answer.get('ok')}, not the error {wanted['error']}")
            self._check(wanted["error"], answer["error"], "the error")
        elif "error" in answer and wanted.get("expect") != "anything":
            raise Failed(f"the answer is the error {answer['error']}")
        elif wanted.get("expect") not in (None, "anything"):
            self._check(wanted["expect"], answer["ok"], "the answer")
        for variable, field in wanted.get("save", {}).items():
            self._variables[variable] = answer["ok"][field]

    def _events(self, name, step):
        """Those so far of this lease or observer. Of `leader` only what no step has waited for: each of them counts, and their order."""
        found = [event for event in self._driver.events if event["event"] == name and all(
            event.get(key) == step[key] for key in ("lease", "observer") if key in step)]
        return [event for event in found if id(event) not in self._heard] if name == "leader" else found

    def _step_event(self, name, step):
        """`before end of: LOCK`: told before the lease ends, as the scripted daemon knows it."""
        within = self._within(step)
        lock = step.pop("before end of", None)
        if not self._driver.await_events(lambda: self._events(name, step), within):
            raise Failed(f"there was no such event within {within:.1f} s")
        event = self._events(name, step)[0]
        self._heard.add(id(event))
        self._check(step, event, "the event")
        if lock:
            late = event["at"] - self._scripted.end_of(lock)
            if late > READ_SLACK:
                raise Failed(f"told {late:.3f} s after the end of the lease")

    def _step_no_event(self, name, step):
        for event in self._events(name, step):
            raise Failed(f"there was one: {event}")

    def _step_other(self, verb, step):
        """Another client of the same real daemon, or an administrator. `when: $word`: only if that is true."""
        if not value_of(step.pop("when", True), self._variables):
            return
        wanted = {key: step.pop(key) for key in ("expect", "save") if key in step}
        answer = getattr(self._outsider, verb)(**filled(step, self._variables))
        self._judge({"ok": answer}, wanted)

    def _step_until(self, verb, step):
        """Asks the other client again and again until it gets the expected answer."""
        within = self._within(step)
        expected = step.pop("expect")
        until = time.monotonic() + within
        while True:
            answer = getattr(self._outsider, verb)(**filled(step, self._variables))
            if matches(expected, answer, self._variables):
                return
            if time.monotonic() > until:
                raise Failed(f"the answer is still {answer} after {within:.1f} s")
            time.sleep(0.02)  # between two looks at a condition

    def _step_seen(self, rpcs, step):
        """What the scripted daemon was sent, by rpc, or several with commas: `renewal` is an extend that is no claim, or a heartbeat."""
        within = self._within(step, 0)
        kinds = {kind.strip() for kind in rpcs.split(",")}
        where = step.get("where", {})
        since = self._marks.get(step.get("since"), 0)

        def found(records):
            return [record for record in records if record["at"] >= since and self._kinds(record) & kinds
                    and matches(where, record, self._variables)]
        least = step.get("count", "1..")
        least = int(str(least).split("..")[0] or 0)
        self._scripted.await_records(lambda records: len(found(records)) >= least, within)
        records = found(self._scripted.records)
        self._check(step.get("count", "1.."), len(records), f"the number of {rpcs} with {where}")
        for each in step.get("same", []):
            if len({record[each] for record in records}) > 1:
                raise Failed(f"{each} changes: {[record[each] for record in records]}")
        for expected, record in zip(step.get("each", []), records):
            self._check(expected, record, "what was sent")
        if "all" in step:
            for record in records:
                self._check(step["all"], record, "what was sent")
        gaps = [(after["at"] - before["at"]) * 1000 for before, after in zip(records, records[1:])]
        if "gaps" in step:
            for gap in gaps:
                self._check(step["gaps"], gap, f"ms between two of {[round(each) for each in gaps]}")
        if "median gap" in step:
            self._check(step["median gap"], statistics.median(gaps), f"the middle of {[round(each) for each in gaps]} ms")
        for variable, field in step.get("save", {}).items():
            self._variables[variable] = records[0][field]

    @staticmethod
    def _kinds(record):
        kinds = {record["rpc"]}
        if record["rpc"] == "extend":
            kinds.add("claim" if record["claim"] else "renewal")
        if record["rpc"] == "heartbeat":
            kinds.add("renewal")
        return kinds

    def _step_script(self, rules, _):
        for rule in rules if isinstance(rules, list) else [rules]:
            self._scripted.add_rule(filled(rule, self._variables))

    def _step_forget_rules(self, *_):
        self._scripted.forget_rules()

    def _step_push(self, message, _):
        self._scripted.push(message)

    def _step_tell(self, events, _):
        events = events if isinstance(events, list) else [events]
        self._scripted.tell([filled(event, self._variables) for event in events])

    def _step_end_watches(self, *_):
        self._scripted.end_watches()

    def _step_cut_streams(self, *_):
        self._scripted.cut_streams()

    def _step_hold_lock(self, name, step):
        self._scripted.hold(name, **filled(step, self._variables))

    def _step_free_lock(self, name, _):
        self._scripted.free(name)

    def _step_daemon(self, action, step):
        number = step.get("number", 1) - 1
        daemon = self._daemons[number]
        if action == "start":
            daemon.start()
            self._gates[number].lead_to(daemon.address)
        elif action == "kill":
            daemon.kill()
        else:
            daemon.signal({"stop": signal.SIGSTOP, "continue": signal.SIGCONT, "drain": signal.SIGTERM}[action])

    def _step_gate(self, mode, step):
        gate = self._gates[step.get("number", 1) - 1]
        if mode == "cut":
            gate.cut()
        elif mode == "turn away":
            gate.turn_away_next()
        elif mode == "connections":
            if "save" in step:
                self._variables[step["save"]] = gate.connections
            if "expect" in step:
                self._check(step["expect"], gate.connections, "the number of connections")
        else:
            gate.set_mode(mode)

    def _step_process(self, action, _):
        """Stops the driver's processes, all of them, or lets them go on."""
        os.killpg(self._driver.process.pid, {"stop": signal.SIGSTOP, "continue": signal.SIGCONT}[action])

    def _step_redis(self, command, _):
        self._redis.run(command)

    def _step_clock(self, ahead, _):
        self._clock.set_ahead(value_of(ahead.lstrip("-"), {}) * (-1 if ahead.startswith("-") else 1))

    def _step_sleep(self, how_long, _):
        self._clock.set_slept(value_of(how_long, {}))

    def _step_wait(self, how_long, _):
        """Lets time pass, for what has to last that long."""
        time.sleep(value_of(how_long, {}) / 1000)

    def _step_mark(self, name, _):
        self._marks[name] = time.monotonic()

    def _step_end(self, expected, step):
        """Ends the driver's stdin; its process has to end by itself."""
        within = self._within(step)
        status = self._driver.end(within)
        if status is None:
            raise Failed(f"the process still runs {within:.1f} s after its program ended")
        if status != expected:
            raise Failed(f"the process ended with {status}")
