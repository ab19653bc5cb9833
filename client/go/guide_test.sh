#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# guide_test.sh BUILD_DIR: the commands and the programs of docs/guides/go.md do what the page says. check.sh runs it, with the daemon and the
# command line in BUILD_DIR.
# shellcheck source=tests/integration/docs/place.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../tests/integration/docs/place.sh" "$1"
# shellcheck source=tests/integration/docs/lock_program.sh
. "$TOP/tests/integration/docs/lock_program.sh" docs/guides/go.md
# shellcheck source=tests/integration/docs/gateway_program.sh
. "$TOP/tests/integration/docs/gateway_program.sh"

# A folder as far as the page uses it, since its commands write to build/.
mkdir client build
ln -s "$TOP/client/go" client/go
bash -euc "$(block '(cd client/go')"

check_lock_program 'build/hold_lock 127.0.0.1:7600 job 5'
check_gateway 'build/gateway 127.0.0.1:7600'
