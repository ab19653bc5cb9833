#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# node_test.sh BUILD_DIR PACKAGES: the program of docs/guides/node.md does what the page says. Method: PACKAGES is the folder into which
# ./dev has brought the npm packages that client/node/package-lock.json names. Ends with 77 (skipped) without them.
# shellcheck source=tests/integration/docs/place.sh
. "$(dirname "${BASH_SOURCE[0]}")/place.sh" "$1"
# shellcheck source=tests/integration/docs/lock_program.sh
. "$TOP/tests/integration/docs/lock_program.sh" docs/guides/node.md

[ -e "$2/installed" ] || {
  echo "SKIPPED: ./dev test could not bring the npm packages of client/node"
  exit 77
}
ln -s "$TOP/proto" .
mkdir -p client/node
cp -r "$TOP"/client/node/{src,example,package.json,tsconfig.json,build.mjs} client/node
ln -s "$2/node_modules" client/node/
[ "$(block 'npm ci' | head -n 1)" = 'npm ci --prefix client/node' ] || fail "$PAGE brings the packages by another command"
bash -euc "$(block 'npm ci' | tail -n +2)" >build.log || fail "the package does not build: $(cat build.log)"

check_lock_program 'node client/node/example/hold_lock.mjs 127.0.0.1:7600 job 5'
