#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""table.py [--check]: writes docs/reference/conformance.md from the cases and the clients, or looks whether it is up to date."""

import itertools
import os
import sys

sys.dont_write_bytecode = True

from catalogue import HERE, client_names, load_cases, load_client, reason_to_leave_out

PAGE = os.path.join(HERE, "..", "..", "docs", "reference", "conformance.md")
HEAD = """# Conformance

Clients of all languages keep [one contract](../../client/README.md). Each of them runs the cases
below, against the real daemon or against one that answers late, wrongly or not at all:
`./dev test clients` ([how](../../tests/conformance/README.md)). A case fails the build of a client
that does not pass it; a dash means that the client does not run it, and the last table says why.

This page is written by `tests/conformance/table.py`.
"""


def page():
    clients = [load_client(name) for name in client_names()]
    cases = load_cases()
    lines = [HEAD]
    for title, group in itertools.groupby(cases, lambda case: case["title"]):
        lines += [f"## {title}", "", "| case | " + " | ".join(client["title"] for client in clients) + " |",
                  "|---|" + "---|" * len(clients)]
        for case in group:
            marks = ["–" if reason_to_leave_out(client, case) else "yes" for client in clients]
            lines.append(f"| {case['says']} | " + " | ".join(marks) + " |")
        lines.append("")
    lines += ["## What is left out, and why", "", "| client | case | why |", "|---|---|---|"]
    for client in clients:
        for case in cases:
            if reason := reason_to_leave_out(client, case):
                lines.append(f"| {client['title']} | {case['case'].replace('_', ' ')} | {reason} |")
    return "\n".join(lines) + "\n"


def main():
    if sys.argv[1:] == ["--check"]:
        with open(PAGE, encoding="utf-8") as file:
            if file.read() != page():
                sys.exit("docs/reference/conformance.md is not what tests/conformance/table.py writes: run it")
        return
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(page())


if __name__ == "__main__":
    main()
