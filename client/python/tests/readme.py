# SPDX-License-Identifier: Apache-2.0
"""readme.py PYTHON: the examples of README.md do what they show, with this interpreter."""

import pathlib
import re
import subprocess
import sys

from daemon import Daemon

page = pathlib.Path(__file__).parent.parent / "README.md"
programs = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
daemon = Daemon().start()
try:
    for program in programs:
        program = program.replace("127.0.0.1:7600", daemon.address)
        said = subprocess.run(
            [sys.argv[1], "-c", program], check=True, stdout=subprocess.PIPE, text=True, timeout=60
        ).stdout
        print(said, end="")
        if not re.match(r"fencing token \d+\n", said):
            sys.exit("an example of README.md has not said that it holds the lock")
finally:
    daemon.stop()
if not programs:
    sys.exit("README.md shows no program")
