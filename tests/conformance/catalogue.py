# SPDX-License-Identifier: Apache-2.0
"""The cases and the clients of the conformance suite, read from their files and checked."""

import glob
import os

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
FEATURES = {"sessions", "unary", "adopt", "detach", "cancel", "fork", "block", "events", "hold_at_least", "stop_margin", "tls",
            "exit_release", "extend", "renewal", "clock", "details", "observe"}
DETAILS = {"remaining", "waited", "previousLeaseExpired"}  # members of answers that only a client with `details` has
CASE_KEYS = {"title", "case", "says", "needs", "daemon", "daemons", "tls", "gate", "client", "clock", "takes", "steps"}


# Files of cases, in the order of the page.
FILES = ("acquire", "waiting", "renewal", "release", "sessions", "servers", "observing", "tls", "process")


def load_cases():
    """All cases; each knows the title of its file."""
    cases = []
    for name in FILES:
        path = os.path.join(HERE, "cases", name + ".yaml")
        with open(path, encoding="utf-8") as file:
            head, listed = yaml.safe_load_all(file)
            for case in listed:
                case["title"] = head["title"]
                case.setdefault("needs", [])
                case.setdefault("takes", 3)
                if unknown := (set(case) - CASE_KEYS) | (set(case["needs"]) - FEATURES):
                    raise ValueError(f"{path}: {case['case']} has unknown {sorted(unknown)}")
                cases.append(case)
    names = [case["case"] for case in cases]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"two cases are called {sorted(twice)}")
    return cases


def load_client(name):
    """What a client is called, and what it cannot do and why."""
    path = os.path.join(HERE, "clients", name + ".yaml")
    with open(path, encoding="utf-8") as file:
        client = {"lacks": {}, "leaves_out": {}} | yaml.safe_load(file)
    client["file"] = os.path.relpath(path)
    names = {case["case"] for case in load_cases()}
    if unknown := (set(client["lacks"]) - FEATURES) | (set(client["leaves_out"]) - names):
        raise ValueError(f"{path} names unknown {sorted(unknown)}")
    return client


def reason_to_leave_out(client, case):
    """Why the client does not run the case; None if it does."""
    if case["case"] in client["leaves_out"]:
        return client["leaves_out"][case["case"]]
    return next((client["lacks"][feature] for feature in case["needs"] if feature in client["lacks"]), None)


def client_names():
    return sorted(os.path.basename(path).removesuffix(".yaml") for path in glob.glob(os.path.join(HERE, "clients", "*.yaml")))
