#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# guide_test.sh BUILD_DIR CLASSPATH_FILE: the command and the program of docs/guides/java.md do what the page says. check.sh runs it, with
# the daemon and the command line in BUILD_DIR, and the jars of a project that uses the client in CLASSPATH_FILE.
CLASSPATH=$(<"$2")
export CLASSPATH
# shellcheck source=tests/integration/docs/place.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../tests/integration/docs/place.sh" "$1"
# shellcheck source=tests/integration/docs/lock_program.sh
. "$TOP/tests/integration/docs/lock_program.sh" docs/guides/java.md

mkdir build
javac -d build "$TOP/client/java/example/HoldLock.java"
export CLASSPATH=$PLACE/build:$CLASSPATH

check_lock_program 'java HoldLock 127.0.0.1:7600 job 5'
