#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# node_test.sh BUILD_DIR PACKAGES: the program of docs/guides/node.md does what the page says. Method: PACKAGES is the folder into which
# ./dev has brought the npm packages that the program's package-lock.json names. Ends with 77 (skipped) without them.
# shellcheck source=tests/integration/docs/place.sh
. "$(dirname "${BASH_SOURCE[0]}")/place.sh" "$1"
# shellcheck source=tests/integration/docs/lock_program.sh
. "$TOP/tests/integration/docs/lock_program.sh" docs/guides/node.md

[ -e "$2/installed" ] || {
  echo "SKIPPED: ./dev test could not bring the npm packages of client/node/example"
  exit 77
}
[ "$(block 'npm ci')" = 'npm ci --prefix client/node/example' ] || fail "$PAGE brings the packages by another command"
ln -s "$TOP/proto" .
mkdir -p client/node
cp -r "$TOP/client/node/example" client/node
ln -s "$2/node_modules" client/node/example/

check_lock_program 'node client/node/example/hold_lock.js 127.0.0.1:7600 job 5'
