#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check.sh [OUT]: runs the programs of docs/guides/coming_from, ours and theirs, with Redis and PostgreSQL of the system, and with packages
# of npm, PyPI, Go and Maven that it brings into OUT (default: build/clients/coming_from). The clients are built in the folders beside OUT.
# LOCKKEEPERD and LOCKKEEPER are the daemon and the command line. Ends with 69 if a registry cannot be reached.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$HERE/../.." && pwd)
OUT=$(realpath -m "${1:-$TOP/build/clients/coming_from}")
readonly HERE TOP OUT
readonly CLIENTS=${OUT%/*}
: "${LOCKKEEPERD:?the path of the daemon}" "${LOCKKEEPER:?the path of the command line}"

"$HERE/bring.sh" "$OUT" node python go java

# What the programs call.
cp "$HERE/node/work.mjs" "$OUT/node"
cp "$HERE/python/work.py" "$OUT/python"
cp -r "$HERE/go/work" "$OUT/go"
cp "$HERE/java/Work.java" "$OUT/java"
mkdir -p "$OUT/bin"
cp "$HERE/report.sh" "$OUT/bin"
ln -sfn "$LOCKKEEPER" "$OUT/bin/lockkeeper"

# As bring.sh has it: the programs in Go are built by the tests.
export GOMODCACHE=${LOCKKEEPER_GO_MODULES:-$CLIENTS/go/modules} GOCACHE=$CLIENTS/go/cache GOFLAGS="-modcacherw -buildvcs=false" GOTOOLCHAIN=local
PYTHONDONTWRITEBYTECODE=1 "$OUT/python/env/bin/python" -W error "$HERE/pages_test.py" "$OUT"
