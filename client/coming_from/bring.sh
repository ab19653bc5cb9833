#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# bring.sh OUT LANGUAGE...: builds the clients of these languages (node, python, go, java) in the folders beside OUT, and brings the
# libraries that people come from into OUT/LANGUAGE. Ends with 69 if a registry cannot be reached.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$HERE/../.." && pwd)
OUT=$(realpath -m "$1")
readonly HERE TOP OUT
readonly CLIENTS=${OUT%/*}
export PIP_DISABLE_PIP_VERSION_CHECK=1 npm_config_update_notifier=false npm_config_fund=false npm_config_audit=false

# bring COMMAND...: a command that needs its registry.
bring() {
  "$@" >"$OUT/bring.log" 2>&1 && return
  cat "$OUT/bring.log" >&2
  grep -qE 'ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|Temporary failure|Connection refused|timed out|dial tcp|Could not transfer|Unknown host' "$OUT/bring.log" || exit 1
  echo "a package registry cannot be reached" >&2
  exit 69
}

bring_node() {
  cp "$HERE"/node/{package.json,package-lock.json,.npmrc} "$OUT/node"
  if ! cmp -s "$HERE/node/package-lock.json" "$OUT/node/installed"; then
    (cd "$OUT/node" && bring npm ci --ignore-scripts)
    cp "$HERE/node/package-lock.json" "$OUT/node/installed"
  fi
  mkdir -p "$OUT/node/node_modules/@lockkeeper"
  ln -sfn "$CLIENTS/node/package" "$OUT/node/node_modules/@lockkeeper/client"
}

bring_python() {
  if ! cmp -s "$HERE/python/requirements.txt" "$OUT/python/installed"; then
    rm -rf "$OUT/python/env"
    python3 -m venv "$OUT/python/env"
    bring "$OUT/python/env/bin/python" -m pip install -q --only-binary :all: --require-hashes -r "$HERE/python/requirements.txt"
    cp "$HERE/python/requirements.txt" "$OUT/python/installed"
  fi
  rm -rf "$OUT/python/lockkeeper"
  cp -r "$CLIENTS/python/source/build/lib/lockkeeper" "$OUT/python"
}

bring_go() {
  export GOMODCACHE=${LOCKKEEPER_GO_MODULES:-$CLIENTS/go/modules} GOCACHE=$CLIENTS/go/cache GOFLAGS="-modcacherw -buildvcs=false" GOTOOLCHAIN=local
  cp "$HERE"/go/{go.mod,go.sum} "$OUT/go"
  (cd "$OUT/go" && go mod edit -replace="lockkeeper/client/go=$TOP/client/go" && bring go mod download)
}

bring_java() {
  bring mvn -B -q -ntp -f "$HERE/java/pom.xml" "-Dmaven.repo.local=${LOCKKEEPER_MAVEN_REPOSITORY:-$CLIENTS/java/repository}" \
    dependency:build-classpath "-Dmdep.outputFile=$OUT/java/classpath"
}

for language in "${@:2}"; do
  mkdir -p "$OUT/$language"
  LOCKKEEPER_BROKEN=1 "$TOP/client/$language/check.sh" "$CLIENTS/$language"  # builds only
  "bring_$language"
done
