#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check.sh [OUT]: builds the package of this folder in OUT (default: build/clients/node), runs its tests, installs it into an empty project and
# runs the programs of its README there; leaves OUT/driver for tests/conformance. LOCKKEEPERD and LOCKKEEPER are the daemon and the command
# line. Ends with 69 if npm's registry cannot be reached. With LOCKKEEPER_BROKEN=1 it only builds the driver.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$HERE/../.." && pwd)
readonly HERE TOP
readonly OUT=${1:-$TOP/build/clients/node}
export LOCKKEEPER_PROTOS=$TOP/proto LOCKKEEPER_FENCE_SQL=$TOP/client/fenced/lockkeeper_fence.sql
export npm_config_update_notifier=false npm_config_fund=false npm_config_audit=false npm_config_ignore_scripts=true

# with_registry FOLDER COMMAND...: npm with what it needs of its registry.
with_registry() {
  local folder=$1
  shift
  (cd "$folder" && npm "$@" >"$OUT/npm.log" 2>&1) && return
  cat "$OUT/npm.log" >&2
  grep -qE 'ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|E5[0-9][0-9]' "$OUT/npm.log" || exit 1
  echo "npm's registry cannot be reached" >&2
  exit 69
}

mkdir -p "$OUT/package"
rm -rf "$OUT"/package/{src,test,examples,README.md} "$OUT/project" "$OUT"/*.tgz
mkdir "$OUT/project"
cp -r "$HERE"/{src,test,examples,package.json,package-lock.json,.npmrc,tsconfig.json,build.mjs,README.md} "$OUT/package"
rm -rf "$OUT/package/src/generated"
if ! cmp -s "$HERE/package-lock.json" "$OUT/installed"; then
  with_registry "$OUT/package" ci
  cp "$HERE/package-lock.json" "$OUT/installed"
fi
(cd "$OUT/package" && node build.mjs)

if [ "${LOCKKEEPER_BROKEN:-}" != 1 ]; then
  (cd "$OUT/package" && npm test --silent)
  "$TOP/client/fenced/tests/late_holder.py" --blocks node "$OUT/package/test/support/late_holder.mjs"
  (cd "$OUT/package" && npm pack --silent --pack-destination "$OUT" >/dev/null)
  echo '{"name": "empty", "private": true}' >"$OUT/project/package.json"
  with_registry "$OUT/project" install "$OUT"/lockkeeper-client-*.tgz
  node "$OUT/package/test/support/readme.mjs" "$OUT/project"
else
  mkdir -p "$OUT/project/node_modules/@lockkeeper"
  ln -s "$OUT/package" "$OUT/project/node_modules/@lockkeeper/client"
fi

cp "$HERE/conformance/driver.mjs" "$OUT/project"
printf '#!/bin/sh\nexec node "%s/project/driver.mjs"\n' "$OUT" >"$OUT/driver"
chmod +x "$OUT/driver"
