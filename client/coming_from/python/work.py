# SPDX-License-Identifier: Apache-2.0
"""The work that a program of docs/guides/coming_from does under its lock.

With WORK_FOLDER it makes a file `begun` there, and goes on once there is a file `may_end`.
"""

import os
import pathlib
import time


def write_report(token=None):
    if folder := os.environ.get("WORK_FOLDER"):
        pathlib.Path(folder, "begun").touch()
        while not pathlib.Path(folder, "may_end").exists():
            time.sleep(0.01)
    print(f"wrote the report with token {token}" if token else "wrote the report")
