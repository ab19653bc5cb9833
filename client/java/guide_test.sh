#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# guide_test.sh BUILD_DIR CLASSPATH_FILE CLIENT: the longer programs of docs/guides/java.md do what the page says. check.sh
# runs it, with the daemon and the command line in BUILD_DIR, the jar of the client, and in CLASSPATH_FILE the jars that it needs.
CLASSPATH=$3:$(<"$2")
export CLASSPATH
# shellcheck source=tests/integration/docs/place.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../tests/integration/docs/place.sh" "$1"
# shellcheck source=tests/integration/docs/lock_program.sh
. "$TOP/tests/integration/docs/lock_program.sh" docs/guides/java.md
# shellcheck source=tests/integration/docs/gateway_program.sh
. "$TOP/tests/integration/docs/gateway_program.sh"

mkdir build
javac -d build "$TOP"/client/java/example/{HoldLock,Gateway}.java
export CLASSPATH=$PLACE/build:$CLASSPATH

check_lock_program 'java HoldLock 127.0.0.1:7600 job 5'
check_gateway 'java Gateway 127.0.0.1:7600'
