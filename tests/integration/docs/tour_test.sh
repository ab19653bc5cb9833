#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tour_test.sh BUILD_DIR: the tour of README.md says what it shows, with a daemon of its own.
# shellcheck source=tests/integration/docs/terminal.sh
. "$(dirname "${BASH_SOURCE[0]}")/terminal.sh" "$1"

start_daemon --embedded --data-dir "$PLACE/data"
type_page README.md "## A tour of two minutes"
[ "$COMMANDS" -ge 8 ] || fail "README.md has a tour of $COMMANDS commands"
echo "tour: $COMMANDS commands answer as shown"
