#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""names_test.py BUILD_DIR: every metric, log event, setting, variable, flag and command that a page names exists.

Method: settings, flags and commands are asked of the programs, metrics and events are taken from their reference pages, which unit tests
compare with the code. Then README.md and all pages below docs/ are read: what looks like one of these, in `backticks` or in a block of
code, has to be one. Guides have names of other languages with a dot in them, and decisions tell of settings that are gone: there those are
left out.
"""
import glob
import os
import re
import subprocess
import sys

BUILD = sys.argv[1]
TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
# Names that begin like metrics and are none: functions and tables of client/fenced, libraries of the build, and packages of languages.
NO_METRIC = re.compile(r"lockkeeper_(fence|fenced|resource|proto|client|core|redis$|build|dir)")
# A variable that Kubernetes makes, and the other name of store.redis_password_file.
NO_VARIABLE = {"LOCKKEEPERD_SERVICE_HOST", "LOCKKEEPERD_REDIS_PASSWORD_FILE"}
WITHOUT_DOTTED = ("docs/guides/", "docs/adr/")
FILE_ENDS = {"md", "sh", "cc", "h", "lua", "yaml", "json", "py", "proto", "txt", "log", "sock", "service", "rdb"}
# Attributes of spans, which OpenTelemetry names.
ATTRIBUTES = {"rpc.system", "rpc.service", "rpc.method"}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def table(page):
    """The first names of the rows of a reference page."""
    text = open(os.path.join(TOP, page), encoding="utf-8").read()
    return set(re.findall(r"^\| `([a-z0-9_.]+)`", text, re.M))


def options(text):
    return set(re.findall(r"--[a-z][a-z-]*", text))


def settings():
    keys, section = set(), ""
    for line in run(f"{BUILD}/lockkeeperd", "--print-config", "--redis", "redis://x").splitlines():
        if match := re.match(r"([a-z_]+):", line):
            section = match[1]
        elif match := re.match(r"  ([a-z_]+):", line):
            keys.add(f"{section}.{match[1]}")
    return keys


SETTINGS = settings()
SECTIONS = {key.split(".")[0] for key in SETTINGS}
EVENTS = table("docs/reference/log_events.md")
AREAS = {event.split(".")[0] for event in EVENTS}
METRICS = {name for name in table("docs/reference/metrics.md") if name.startswith("lockkeeper_")}
DAEMON_FLAGS = options(run(f"{BUILD}/lockkeeperd", "--help"))
HELP = run(f"{BUILD}/lockkeeper", "--help")
COMMANDS = set(re.findall(r"^  ([a-z][a-z-]*) ", HELP.split("Subcommands:")[1].split("\n\n")[0], re.M)) | {"help"}
OPTIONS = {name: options(run(f"{BUILD}/lockkeeper", name, "--help")) for name in COMMANDS - {"help"}}
DEV = set(re.findall(r"^  \./dev ([a-z]+)", run(f"{TOP}/dev", "help"), re.M))


def spans(path):
    """(line number, text, whether it is code of its own) of each text in backticks and each line of a block, joined over `\\`."""
    inside, joined, first = False, "", 0
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif inside:
            first = first if joined else number
            joined += line.rstrip("\n")
            if joined.endswith("\\"):
                joined = joined[:-1]
                continue
            yield first, joined, True
            joined = ""
        else:
            for text in re.findall(r"`([^`]+)`", line):
                yield number, text, False


def problems_of_command(program, rest):
    # What `run` runs is no option of ours; nor is what another program of the line gets.
    words = re.split(r" -- |[|;&<>)]", rest)[0].split()
    flags = [word.split("=")[0] for word in words if re.match(r"--[a-z]", word)]
    if program == "lockkeeperd":
        return [f"lockkeeperd has no {flag}" for flag in flags if flag.rstrip(",.") not in DAEMON_FLAGS]
    command = None
    takes_value = False
    for word in words:
        if takes_value:
            takes_value = False
        elif word.startswith("--"):
            takes_value = "=" not in word and word not in ("--quiet", "--help", "--version")
        else:
            command = word
            break
    if command is None or not re.fullmatch(r"[a-z][a-z-]*", command):
        return []
    if command not in COMMANDS:
        return [f"there is no command lockkeeper {command}"]
    known = OPTIONS.get(command, set()) | {"--version"}
    return [f"lockkeeper {command} has no {flag}" for flag in flags if re.sub(r"[^a-z-]+$", "", flag) not in known]


def problems(text, is_block, page=""):
    for name in re.findall(r"(?<![\w/.:{-])lockkeeper_[a-z0-9_]+", text):
        base = re.sub(r"_(bucket|count|sum)$", "", name)
        if not ({name, base} & METRICS or NO_METRIC.match(name) or name.endswith("_")):
            yield f"there is no metric {name}"
    for variable in re.findall(r"\bLOCKKEEPERD_[A-Z_]*[A-Z]\b", text):
        setting = variable.removeprefix("LOCKKEEPERD_").replace("_", ".", 1).lower()
        if setting not in SETTINGS and variable not in NO_VARIABLE:
            yield f"{variable} is no setting"
    if not is_block and not page.startswith(WITHOUT_DOTTED):
        if match := re.fullmatch(r"([a-z]+)\.([a-z_]+)(:.*)?", text):
            name = f"{match[1]}.{match[2]}"
            is_ours = match[1] in SECTIONS | AREAS and match[2] not in FILE_ENDS
            if is_ours and name not in SETTINGS | EVENTS | ATTRIBUTES:
                yield f"{name} is neither a setting nor a log event"
    for name in re.findall(r"(?:^|[ (])\./dev ([a-z]+)", text):
        if name not in DEV:
            yield f"there is no ./dev {name}"
    begins = r"(?:^|[|;&(] *|\$ |# |until |if |while |exec |timeout \d+ )" if is_block else r"^"
    for match in re.finditer(begins + r"(lockkeeperd?) (.*)", text):
        yield from problems_of_command(match[1], match[2])


def main():
    assert len(SETTINGS) > 40 and len(EVENTS) > 100 and len(METRICS) > 30 and len(COMMANDS) > 20 and len(DEV) > 15
    found, seen = [], 0
    for path in [f"{TOP}/README.md", *sorted(glob.glob(f"{TOP}/docs/**/*.md", recursive=True))]:
        page = os.path.relpath(path, TOP)
        for number, text, is_block in spans(path):
            seen += 1
            found += [f"{page}:{number}: {problem}" for problem in problems(text, is_block, page)]
    # The reader of pages would notice: one of each kind.
    for text, is_block in [("lockkeeper_no_such_total", False), ("LOCKKEEPERD_STORE_NONE", True), ("store.none", False),
                           ("guard.none", False), ("lockkeeper none", False), ("$ lockkeeper get x --none", True),
                           ("lockkeeperd --none", True), ("./dev none", False)]:
        assert list(problems(text, is_block)), f"{text} is not noticed"
    for problem in found:
        print(problem)
    print(f"names: {seen} texts of pages, {len(found)} names that do not exist")
    return 1 if found else 0


sys.exit(main())
