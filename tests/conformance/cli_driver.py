#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The driver of the conformance suite for the command line: LOCKKEEPER names the program.

An acquire is a `lockkeeper run`, whose command tells that it runs and then waits for the end of its stdin; one with a lease id of
the caller's is a `lockkeeper acquire`, since run has no such option. The rest are the commands of the same names."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading

HOLDER = ["sh", "-c", 'echo "$LOCKKEEPER_LEASE_ID $LOCKKEEPER_FENCING_TOKEN"; exec cat']
CODES = {
    "INVALID_FIELD": "INVALID_ARGUMENT", "LEASE_LOST": "FAILED_PRECONDITION", "LEASE_ENDED": "FAILED_PRECONDITION",
    "WAITER_LIMIT": "RESOURCE_EXHAUSTED", "LEASE_LIMIT": "RESOURCE_EXHAUSTED", "RATE_LIMIT": "RESOURCE_EXHAUSTED"}
CAUSES = {"ENDED": "LEASE_LOST", "FORCED": "LEASE_LOST", "NOT_RENEWED": "RENEWALS_FAILED", "MAX_HOLD": "MAX_HOLD", "PAUSED": "PAUSED",
          "GUARDIAN_PAUSED": "PAUSED"}
ADDITIONS = (("owner", "--owner"), ("leaseId", "--lease-id"))
FILES = (("caFile", "--tls-ca"), ("certificateFile", "--tls-cert"), ("keyFile", "--tls-key"), ("serverName", "--server-name"),
         ("tokenFile", "--token-file"))
TIMES = (("ttl", "--ttl"), ("wait", "--wait"), ("lockDelay", "--lock-delay"), ("maxHold", "--max-hold"), ("holdAtLeast", "--hold-at-least"))


class Failure(Exception):
    def __init__(self, code, reason="", message=""):
        super().__init__(message)
        self.answer = {"code": code, "reason": reason, "message": message}


def failure_of(outcome, status):
    """What a command that failed says, as the suite names it."""
    reason = outcome.get("reason", "")
    if status >= 128 or status < 0:
        return Failure("CANCELLED", "", "ended by a signal")
    if status == 69 and reason in ("UNAVAILABLE", "DEADLINE_EXCEEDED"):
        return Failure(reason, "", outcome.get("message", ""))
    if reason == "USAGE":
        return Failure("INVALID_ARGUMENT", "INVALID_FIELD", outcome.get("message", ""))
    return Failure(CODES.get(reason) or ("UNAVAILABLE" if status == 69 else "FAILED_PRECONDITION"), reason, outcome.get("message", ""))


class Held:
    """A `lockkeeper run` and its command."""

    def __init__(self, process):
        self.process = process
        self.lost = False
        self.outcome = {}
        self.ended = threading.Event()
        self.echoes = queue.Queue()

    def watch(self):
        """Reads what the command says, and at the end what run says."""
        for line in self.process.stdout:
            if line.startswith("{"):
                self.outcome = json.loads(line)
            else:
                self.echoes.put(line)
        self.lost = self.outcome.get("outcome") == "lease_lost"
        self.process.wait()
        self.ended.set()
        self.echoes.put("")

    def end_command(self):
        """Ends the command's stdin, and with it the command."""
        try:
            self.process.stdin.close()
        except OSError:
            pass  # the command is gone

    def runs(self):
        """Whether the command still answers."""
        try:
            self.process.stdin.write("?\n")
            self.process.stdin.flush()
            return self.echoes.get() != ""
        except (OSError, ValueError):  # the pipe is broken, or closed by a release
            return False


class Driver:
    def __init__(self):
        self._program = os.environ["LOCKKEEPER"]
        self._output = threading.Lock()
        self._options = []
        self._held = {}
        self._under_way = {}

    def say(self, line):
        with self._output:
            print(json.dumps(line), flush=True)

    def run(self):
        threads = []
        for line in sys.stdin:
            request = json.loads(line)
            thread = threading.Thread(target=self.answer, args=(request,))
            thread.start()
            threads.append(thread)
        for process in list(self._under_way.values()):
            process.terminate()
        self.close({})
        for thread in threads:
            thread.join()

    def answer(self, request):
        try:
            self.say({"id": request["id"], "ok": getattr(self, request["do"])(request)})
        except Failure as failure:
            self.say({"id": request["id"], "error": failure.answer})

    def features(self, _):
        return {"features": ["cancel", "events", "exit_release", "renewal", "hold_at_least", "clock", "tls"]}

    def create(self, request):
        self._options = ["--output", "json", "--quiet"] + [word for server in request["servers"] for word in ("--server", server)]
        for field, option in FILES:
            if field in request:
                self._options += [option, request[field]]
        if "callTimeout" in request:
            self._options += ["--timeout", f"{request['callTimeout']}ms"]
        return {}

    def start(self, words, request=None):
        process = subprocess.Popen([self._program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if request:
            self._under_way[request["id"]] = process
        return process

    def command(self, *words):
        """Runs a command and returns its outcome."""
        process = self.start([*words, *self._options])
        said, _ = process.communicate()
        return json.loads(said or "{}"), process.returncode

    def acquire(self, request):
        words = [request["name"], *self._options]
        for field, option in TIMES:
            if request.get(field):
                words += [option, f"{request[field]}ms"]
        for field, option in ADDITIONS:
            if request.get(field):
                words += [option, request[field]]
        for key, value in request.get("labels", {}).items():
            words += ["--label", f"{key}={value}"]
        if "leaseId" in request:
            process = self.start(["acquire", *words], request)
            said, _ = process.communicate()
            outcome = json.loads(said or "{}")
            if outcome.get("outcome") == "granted":
                return {"granted": True, "token": outcome["fencing_token"], "leaseId": outcome["lease_id"]}
        else:
            process = self.start(["run", *words, "--", *HOLDER], request)
            said = process.stdout.readline()
            outcome = json.loads(said) if said.startswith("{") else {}
            if said and not outcome:
                lease_id, token = said.split()
                held = self._held[request["as"]] = Held(process)
                self._under_way.pop(request["id"])
                threading.Thread(target=self.watch, args=(request["as"], held), daemon=True).start()
                return {"granted": True, "token": int(token), "leaseId": lease_id}
            process.stdin.close()
            process.wait()
        self._under_way.pop(request["id"], None)
        if outcome.get("outcome") == "contention":
            return {"granted": False, "reason": outcome["reason"], "holderOwner": outcome["holder_owner"],
                    "remaining": outcome["remaining_ttl_ms"]}
        raise failure_of(outcome, process.returncode)

    def watch(self, name, held):
        held.watch()
        if held.lost:
            self.say({"event": "lost", "lease": name, "cause": CAUSES[held.outcome["cause"]]})

    def cancel(self, request):
        if process := self._under_way.get(request["request"]):
            process.send_signal(signal.SIGTERM)
        return {}

    def state(self, request):
        held = self._held[request["lease"]]
        return {"held": held.runs(), "lost": held.lost, "cause": CAUSES.get(held.outcome.get("cause", ""), "")}

    def check(self, request):
        return {"held": self.state(request)["held"]}

    def release(self, request):
        held = self._held[request["lease"]]
        held.end_command()
        held.ended.wait()
        if held.outcome.get("outcome") not in ("released", "not_released", "lease_lost"):
            raise failure_of(held.outcome, held.process.returncode)
        return {"released": held.outcome["outcome"] == "released", "reason": held.outcome.get("reason", "")}

    def releaseById(self, request):
        outcome, status = self.command("release", request["name"], request["leaseId"])
        if outcome.get("outcome") not in ("released", "not_released"):
            raise failure_of(outcome, status)
        return {"released": outcome["outcome"] == "released", "reason": outcome.get("reason", "")}

    def fence(self, request):
        live = ["--require-live-lease"] if request.get("requireLive") else []
        outcome, status = self.command("fence", request["name"], str(request["token"]), *live)
        if "newest_fencing_token" not in outcome and outcome.get("outcome") == "error":
            raise failure_of(outcome, status)
        verdict = {"unknown_token": "UNKNOWN_TOKEN"}.get(outcome["outcome"], outcome["outcome"].upper())
        return {"verdict": verdict, "newest": outcome.get("newest_fencing_token", request["token"])}

    def close(self, _):
        for held in self._held.values():
            held.end_command()
        for held in self._held.values():
            held.ended.wait()
        return {}


if __name__ == "__main__":
    Driver().run()
