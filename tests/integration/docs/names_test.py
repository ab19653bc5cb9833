#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""names_test.py BUILD_DIR: every metric, log event, setting, variable, flag and command that a page or a file for operators names exists.

Method: settings, flags and commands are asked of the programs, metrics and events are taken from their reference pages, which unit tests
compare with the code. Then all pages are read: what looks like one of these, in `backticks` or in a block of code, has to be one. Guides
have names of other languages with a dot in them, and decisions tell of settings that are gone: there those are left out. Files that
operators take (deploy/, config/, Dockerfile), the protos, and what the programs print of themselves (help, man pages, completion) are read
as they are: any word may be a name there.
"""
import glob
import os
import re
import subprocess
import sys

import yaml

BUILD = sys.argv[1]
TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
# Names that begin like metrics and are none: functions and tables of client/fenced, libraries of the build, and packages of languages.
NO_METRIC = re.compile(r"lockkeeper_(fence|fenced|resource|proto|client|core|redis$|build|dir)")
# A variable that Kubernetes makes, and the other name of store.redis_password_file.
NO_VARIABLE = {"LOCKKEEPERD_SERVICE_HOST", "LOCKKEEPERD_REDIS_PASSWORD_FILE"}
WITHOUT_DOTTED = ("CHANGELOG.md", "docs/guides/", "docs/adr/", "client/", "tests/", "server/")
# What operators take, and how it begins a comment; and what the API says of itself.
FILES = ["Dockerfile", "config/*.yaml", "deploy/**/*", "proto/lockkeeper/**/*.proto"]
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


def values_of_the_chart():
    """tls.enabled and the like."""
    paths = set()

    def walk(values, above):
        for key, value in values.items():
            paths.add(f"{above}{key}")
            if isinstance(value, dict):
                walk(value, f"{above}{key}.")

    walk(yaml.safe_load(open(os.path.join(TOP, "deploy/helm/lockkeeper/values.yaml"), encoding="utf-8")), "")
    return paths


VALUES = values_of_the_chart()
ALL_OPTIONS = set().union(*OPTIONS.values()) | options(HELP)


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
            if is_ours and name not in SETTINGS | EVENTS | ATTRIBUTES | VALUES:
                yield f"{name} is neither a setting nor a log event"
    for name in re.findall(r"(?:^|[ (])\./dev ([a-z]+)", text):
        if name not in DEV:
            yield f"there is no ./dev {name}"
    begins = r"(?:^|[|;&(] *|\$ |# |until |if |while |exec |timeout \d+ )" if is_block else r"^"
    for match in re.finditer(begins + r"(lockkeeperd?) (.*)", text):
        yield from problems_of_command(match[1], match[2])


def problems_of_plain(line, is_script=False):
    """Of a line in which any word may be a name."""
    # The flags of [lockkeeper, health, --server] are those of lockkeeper health --server.
    is_comment = re.match(r"\s*(#|//)", line)
    words = re.sub(r'[]\[", ]+', " ", line) if re.search(r'(\[|")lockkeeperd?"?,', line) and not is_comment else line
    yield from (problem for problem in problems(line, True, "") if not problem.startswith(("lockkeeper", "there is no command", "there is no ./dev")))
    for section, name in re.findall(r"(?<![\w./$@-])(?:config\.)?([a-z]+)\.([a-z_]+)(?![\w/(]|\.[a-z*])", line):
        key = f"{section}.{name}"
        if section in SECTIONS | AREAS and name not in FILE_ENDS and key not in SETTINGS | EVENTS | ATTRIBUTES | VALUES:
            yield f"{key} is neither a setting nor a log event"
    # In prose the name of the project is a word like others.
    texts = re.findall(r"`lockkeeper ([^`]+)`", line)
    if words != line or is_script and not is_comment:
        texts += re.findall(r"(?:^ *|(?:[;&|(/!]|exec|if|while|command:|CMD) *)lockkeeper ([a-z-]+\b.*)", words)
    for text in texts:
        yield from problems_of_command("lockkeeper", text)
    for text in re.findall(r"(?:^|[\s;&|(/`])lockkeeperd ([^`]*)", words):
        yield from problems_of_command("lockkeeperd", text)


def plain_texts():
    """(where, line) of all that is read as it is."""
    for pattern in FILES:
        for path in sorted(glob.glob(os.path.join(TOP, pattern), recursive=True)):
            if os.path.isfile(path):
                for number, line in enumerate(open(path, encoding="utf-8"), 1):
                    yield f"{os.path.relpath(path, TOP)}:{number}", line
    printed = {"lockkeeperd --help": run(f"{BUILD}/lockkeeperd", "--help"), "lockkeeperd --man-page": run(f"{BUILD}/lockkeeperd", "--man-page"),
               "lockkeeper man": run(f"{BUILD}/lockkeeper", "man")}
    for command in OPTIONS:
        printed[f"lockkeeper {command} --help"] = run(f"{BUILD}/lockkeeper", command, "--help")
    for what, text in printed.items():
        # Roff writes a minus as \-, and changes fonts by \fB.
        for number, line in enumerate(re.sub(r"\\f[A-Z]|\\&", "", text).replace("\\-", "-").splitlines(), 1):
            yield f"{what}:{number}", line


def problems_of_completion():
    for shell in ("bash", "zsh", "fish"):
        script = run(f"{BUILD}/lockkeeper", "completion", shell)
        flags = options(script)
        if shell == "fish":  # It writes -l server.
            flags = {f"--{name}" for name in re.findall(r" -l ([a-z-]+)", script)}
        if len(flags) < 20:
            yield f"completion {shell}: only {len(flags)} flags were found"
        for flag in sorted(flags - ALL_OPTIONS):
            yield f"completion {shell}: no command has {flag}"


def main():
    assert len(SETTINGS) > 40 and len(EVENTS) > 100 and len(METRICS) > 30 and len(COMMANDS) > 20 and len(DEV) > 15
    found, seen = [], 0
    pages = ["*.md", "docs/**/*.md", "client/*.md", "client/*/README.md", "client/*/*/README.md", "server/*/README.md", "tests/**/README.md"]
    for path in sorted({path for page in pages for path in glob.glob(os.path.join(TOP, page), recursive=True)}):
        page = os.path.relpath(path, TOP)
        for number, text, is_block in spans(path):
            seen += 1
            found += [f"{page}:{number}: {problem}" for problem in problems(text, is_block, page)]
    lines = 0
    for where, line in plain_texts():
        lines += 1
        found += [f"{where}: {problem}" for problem in problems_of_plain(line, ".sh:" in where)]
    found += problems_of_completion()
    assert lines > 4_000, f"only {lines} lines"
    # The reader of pages would notice: one of each kind.
    for text, is_block in [("lockkeeper_no_such_total", False), ("LOCKKEEPERD_STORE_NONE", True), ("store.none", False),
                           ("guard.none", False), ("lockkeeper none", False), ("$ lockkeeper get x --none", True),
                           ("lockkeeperd --none", True), ("./dev none", False)]:
        assert list(problems(text, is_block)), f"{text} is not noticed"
    # And the reader of files, in each kind of them.
    for line in ["expr: rate(lockkeeper_none_total[5m]) > 0", '"expr": "lockkeeper_none"', "# a quarter of store.none", "# as guard.none says",
                 "  # config.store.none is for that", '{{- $reloaded := list "lease.none" }}', "LOCKKEEPERD_SERVER_NONE: 1",
                 'CMD ["lockkeeper", "none"]', "exec: {command: [lockkeeper, health, --none]}", "ExecStart=/usr/bin/lockkeeperd --none x",
                 "  // Longest time: `drain.none`.", "made by `lockkeeper token none --none`", "  lockkeeper none >/tmp/page"]:
        assert list(problems_of_plain(line, True)), f"{line} is not noticed"
    for problem in found:
        print(problem)
    print(f"names: {seen} texts of pages, {lines} lines of files and programs, {len(found)} names that do not exist")
    return 1 if found else 0


sys.exit(main())
