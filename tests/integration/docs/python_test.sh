#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# python_test.sh BUILD_DIR: the commands and the program of docs/guides/python.md do what the page says.
# shellcheck source=tests/integration/docs/place.sh
. "$(dirname "${BASH_SOURCE[0]}")/place.sh" "$1"
# shellcheck source=tests/integration/docs/lock_program.sh
. "$TOP/tests/integration/docs/lock_program.sh" docs/guides/python.md

# A copy of the top folder as far as the page uses it, since its commands write to build/.
ln -s "$TOP/proto" "$TOP/client" .
bash -euc "$(block 'mkdir -p build/python')"

check_lock_program 'PYTHONPATH=build/python /usr/bin/python3 client/python/example/hold_lock.py 127.0.0.1:7600 job 5'
