#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# python_test.sh BUILD_DIR: the commands and the first two programs of docs/guides/python.md do what the page says.
# shellcheck source=tests/integration/docs/place.sh
. "$(dirname "${BASH_SOURCE[0]}")/place.sh" "$1"
# shellcheck source=tests/integration/docs/lock_program.sh
. "$TOP/tests/integration/docs/lock_program.sh" docs/guides/python.md

# A copy of the top folder as far as the page uses it, since its commands write to build/.
ln -s "$TOP/proto" "$TOP/client" .
bash -euc "$(block 'mkdir -p build/python')"

# By pip: client/python/check.sh.
start_daemon --embedded --data-dir "$PLACE/first"
block 'from lockkeeper import Client' | sed "s|127.0.0.1:7600|$LOCKKEEPER_SERVER|" >report.py
said=$(PYTHONPATH=build/python /usr/bin/python3 report.py)
[[ $said == 'fencing token '[0-9]*$'\n'*released ]] || fail "the first program said: $said"
stop_daemon

check_lock_program 'PYTHONPATH=build/python /usr/bin/python3 client/python/example/hold_lock.py 127.0.0.1:7600 job 5'
