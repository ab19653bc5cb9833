#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check.sh [OUT]: tests the fenced resources of this folder with PostgreSQL and Redis of the system, and with Python packages that it
# brings into OUT (default: build/clients/fenced). LOCKKEEPERD and LOCKKEEPER are the daemon and the command line. Ends with 69 if
# PyPI cannot be reached.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
OUT=$(mkdir -p "${1:-$HERE/../../build/clients/fenced}" && cd "${1:-$HERE/../../build/clients/fenced}" && pwd)
readonly HERE OUT
: "${LOCKKEEPERD:?the path of the daemon}" "${LOCKKEEPER:?the path of the command line}"

for program in redis-server psql flock; do
  command -v "$program" >/dev/null || { echo "$program is not installed" >&2 && exit 1; }
done

if ! cmp -s "$HERE/requirements.txt" "$OUT/installed"; then
  rm -rf "$OUT/venv"
  python3 -m venv "$OUT/venv"
  "$OUT/venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 --only-binary :all: --require-hashes \
    --requirement "$HERE/requirements.txt" 2>"$OUT/pip.log" || {
    cat "$OUT/pip.log" >&2
    grep -q 'after connection broken by' "$OUT/pip.log" || exit 1
    echo "PyPI cannot be reached" >&2
    exit 69
  }
  cp "$HERE/requirements.txt" "$OUT/installed"
fi

cd "$HERE/tests"
PYTHONDONTWRITEBYTECODE=1 "$OUT/venv/bin/python" -W error -m unittest discover --pattern '*_test.py'
