#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The work that a command of docs/guides/coming_from does under its lock. It waits as python/work.py says.
set -euo pipefail
if [ -n "${WORK_FOLDER:-}" ]; then
  touch "$WORK_FOLDER/begun"
  until [ -e "$WORK_FOLDER/may_end" ]; do sleep 0.01; done
fi
echo "wrote the report with token $LOCKKEEPER_FENCING_TOKEN"
