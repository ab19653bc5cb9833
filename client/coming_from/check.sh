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
export PIP_DISABLE_PIP_VERSION_CHECK=1 npm_config_update_notifier=false npm_config_fund=false npm_config_audit=false

# bring COMMAND...: a command that needs its registry.
bring() {
  "$@" >"$OUT/bring.log" 2>&1 && return
  cat "$OUT/bring.log" >&2
  grep -qE 'ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|Temporary failure|Connection refused|timed out|dial tcp|Could not transfer|Unknown host' "$OUT/bring.log" || exit 1
  echo "a package registry cannot be reached" >&2
  exit 69
}

mkdir -p "$OUT"/{node,python,go,java,bin}

# Each client, built only.
for language in node python go java; do
  LOCKKEEPER_BROKEN=1 "$TOP/client/$language/check.sh" "$CLIENTS/$language"
done

cp "$HERE"/node/{package.json,package-lock.json,.npmrc,work.mjs} "$OUT/node"
if ! cmp -s "$HERE/node/package-lock.json" "$OUT/node/installed"; then
  (cd "$OUT/node" && bring npm ci --ignore-scripts)
  cp "$HERE/node/package-lock.json" "$OUT/node/installed"
fi
mkdir -p "$OUT/node/node_modules/@lockkeeper"
ln -sfn "$CLIENTS/node/package" "$OUT/node/node_modules/@lockkeeper/client"

cp "$HERE/python/work.py" "$OUT/python"
if ! cmp -s "$HERE/python/requirements.txt" "$OUT/python/installed"; then
  rm -rf "$OUT/python/env"
  python3 -m venv "$OUT/python/env"
  bring "$OUT/python/env/bin/python" -m pip install -q --only-binary :all: --require-hashes -r "$HERE/python/requirements.txt"
  cp "$HERE/python/requirements.txt" "$OUT/python/installed"
fi
rm -rf "$OUT/python/lockkeeper"
cp -r "$CLIENTS/python/source/build/lib/lockkeeper" "$OUT/python"

cp -r "$HERE"/go/{go.mod,go.sum,work} "$OUT/go"
export GOMODCACHE=${LOCKKEEPER_GO_MODULES:-$CLIENTS/go/modules} GOCACHE=$CLIENTS/go/cache GOFLAGS="-modcacherw -buildvcs=false" GOTOOLCHAIN=local
(cd "$OUT/go" && go mod edit -replace="lockkeeper/client/go=$TOP/client/go" && bring go mod download)

bring mvn -B -q -ntp -f "$HERE/java/pom.xml" "-Dmaven.repo.local=${LOCKKEEPER_MAVEN_REPOSITORY:-$CLIENTS/java/repository}" \
  dependency:build-classpath "-Dmdep.outputFile=$OUT/java/classpath"
cp "$HERE/java/Work.java" "$OUT/java"

cp "$HERE/report.sh" "$OUT/bin"
ln -sfn "$LOCKKEEPER" "$OUT/bin/lockkeeper"
PYTHONDONTWRITEBYTECODE=1 "$OUT/python/env/bin/python" -W error "$HERE/pages_test.py" "$OUT"
