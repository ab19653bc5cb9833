# SPDX-License-Identifier: Apache-2.0
"""The cases and the clients of the conformance suite, read from their files and checked."""

import glob
import os

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
FEATURES = {"sessions", "unary", "adopt", "detach", "cancel", "fork", "block", "events", "hold_at_least", "stop_margin", "tls",
            "exit_release", "extend", "renewal", "clock"}
CASE_KEYS = {"case", "says", "needs", "daemon", "daemons", "flags", "gate", "client", "clock", "takes", "steps"}


def load_cases():
    """All cases, in the order of their files."""
    cases = []
    for path in sorted(glob.glob(os.path.join(HERE, "cases", "*.yaml"))):
        with open(path, encoding="utf-8") as file:
            for case in yaml.safe_load(file):
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


def client_names():
    return sorted(os.path.basename(path).removesuffix(".yaml") for path in glob.glob(os.path.join(HERE, "clients", "*.yaml")))
