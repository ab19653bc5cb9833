#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# node_test.sh BUILD_DIR PACKAGES: the programs of docs/guides/node.md do what the page says. Method: PACKAGES is the folder into which
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
cp -r "$TOP"/client/node/{src,example,package.json,tsconfig.json,build.mjs,README.md} client/node
ln -s "$2/node_modules" client/node/
[ "$(block 'npm ci' | head -n 1)" = 'npm ci --prefix client/node' ] || fail "$PAGE brings the packages by another command"
bash -euc "$(block 'npm ci' | tail -n +2)" >build.log 2>&1 || fail "the package does not build: $(cat build.log)"

# Without the registry: what `npm install` does with the package, but for what the package needs. client/node/check.sh has it in full.
mkdir -p project/node_modules/@lockkeeper/client
tar -xzf lockkeeper-client-0.1.0.tgz --strip-components=1 -C project/node_modules/@lockkeeper/client
ln -s "$2/node_modules" project/node_modules/@lockkeeper/client/
start_daemon --embedded --data-dir "$PLACE/first"
block 'import { Client }' | sed "s|127.0.0.1:7600|$LOCKKEEPER_SERVER|" >project/report.mjs
said=$(cd project && bash -euc "$(block 'node report.mjs')")
[[ $said == 'I write the report, with fencing token '[0-9]* ]] || fail "the first program said: $said"
stop_daemon

check_lock_program 'node client/node/example/hold_lock.mjs 127.0.0.1:7600 job 5'
