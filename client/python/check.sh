#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check.sh [OUT]: builds the package of this folder in OUT (default: build/clients/python), checks its types, runs its tests, installs it into
# an empty environment and runs the first example of its README there; leaves OUT/driver for tests/conformance. LOCKKEEPERD and LOCKKEEPER are
# the daemon and the command line; CLOCK_SHIM, if it is given, is the library that moves the wall clock of a process. Ends with 69 if the
# registry of Python packages cannot be reached. With LOCKKEEPER_BROKEN=1 it only builds the driver.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$HERE/../.." && pwd)
readonly HERE TOP
readonly OUT=${1:-$TOP/build/clients/python}
readonly PYTHON=$OUT/env/bin/python
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PYTHONDONTWRITEBYTECODE=1

# pip_install PYTHON ARGUMENT...: with what it needs of the registry.
pip_install() {
  "$1" -m pip install -q "${@:2}" >"$OUT/pip.log" 2>&1 && return
  cat "$OUT/pip.log" >&2
  grep -qE 'Retrying \(|Temporary failure|Connection refused|Network is unreachable|timed out' "$OUT/pip.log" || exit 1
  echo "the registry of Python packages cannot be reached" >&2
  exit 69
}

build_environment() {
  cmp -s "$HERE/requirements.txt" "$OUT/installed" && return
  rm -rf "$OUT/env"
  python3 -m venv "$OUT/env"
  pip_install "$PYTHON" --require-hashes -r "$HERE/requirements.txt"
  cp "$HERE/requirements.txt" "$OUT/installed"
}

# A copy with the protos beside it, so that the build writes nothing into the tree.
copy_sources() {
  rm -rf "$OUT/source"
  mkdir -p "$OUT/source"
  cp -r "$HERE"/{src,tests,examples,conformance,setup.py,pyproject.toml,README.md} "$TOP/proto" "$OUT/source"
}

install_for_driver() {
  local packages
  packages=$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  (cd "$OUT/source" && "$PYTHON" -W ignore setup.py -q build_py >/dev/null 2>&1)
  rm -rf "$packages/lockkeeper"
  cp -r "$OUT/source/build/lib/lockkeeper" "$packages"
}

# test_with PYTHON: the client's own tests.
test_with() {
  (cd "$OUT/source" && "$1" -m unittest -q)
}

# The distribution's grpcio and protobuf have to do as well.
test_with_system_packages() {
  local system=/usr/bin/python3
  "$system" -c 'import sys, grpc, google.protobuf; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || return 0
  "$system" -m venv --without-pip --system-site-packages "$OUT/system"
  rm -rf "$OUT"/system/lib/python3*/site-packages/lockkeeper
  cp -r "$OUT/source/build/lib/lockkeeper" "$OUT"/system/lib/python3*/site-packages
  test_with "$OUT/system/bin/python"
}

# The first example of the README, against a daemon of its own, in an environment that has nothing but the wheel.
run_readme() {
  rm -rf "$OUT/dist" "$OUT/project"
  (cd "$OUT/source" && "$PYTHON" -m build -q --no-isolation --outdir "$OUT/dist" >/dev/null)
  python3 -m venv "$OUT/project"
  pip_install "$OUT/project/bin/python" "$OUT"/dist/lockkeeper-*.whl
  (cd "$OUT/project" && "$PYTHON" "$OUT/source/tests/readme.py" "$OUT/project/bin/python")
}

mkdir -p "$OUT"
build_environment
copy_sources
install_for_driver
cp "$HERE/conformance/driver.py" "$OUT/driver.py"
for kind in '' --aio; do
  printf '#!/bin/sh\nexec "%s" "%s" %s\n' "$PYTHON" "$OUT/driver.py" "$kind" >"$OUT/driver$kind"
  chmod +x "$OUT/driver$kind"
done
[ "${LOCKKEEPER_BROKEN:-}" != 1 ] || exit 0

(cd "$OUT/source/src" && "$PYTHON" -m mypy --config-file ../pyproject.toml --cache-dir "$OUT/mypy" -p lockkeeper)
test_with "$PYTHON"
test_with_system_packages
"$TOP/client/fenced/tests/late_holder.py" --blocks "$PYTHON" "$OUT/source/tests/late_holder.py"
run_readme

# The suite plays all cases with the blocking client; here it plays them with the client for asyncio.
"$TOP/tests/conformance/run.py" python --driver "$OUT/driver--aio" --daemon "$LOCKKEEPERD" --cli "$LOCKKEEPER" \
  ${CLOCK_SHIM:+--clock-shim "$CLOCK_SHIM"}
