#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# backup_test.sh BUILD_DIR: the commands of docs/operating/backup.md answer what the page shows: a real Redis is set back, twice.
# shellcheck source=tests/integration/docs/terminal.sh
. "$(dirname "${BASH_SOURCE[0]}")/terminal.sh" "$1"

command -v jq >/dev/null || { echo "there is no jq" && exit 77; }
PATH=$BUILD:$PATH
# If the page is left in the middle: what its shell has started ends with it.
end_all() {
  # shellcheck disable=SC2046  # words
  [ -z "${SHELL_PID:-}" ] || kill -KILL $(cat "/proc/$SHELL_PID/task/$SHELL_PID/children") 2>/dev/null || true
  finish
}
trap end_all EXIT
type_page docs/operating/backup.md "## Try it"
[ "$COMMANDS" -ge 30 ] || fail "the page has $COMMANDS commands"
echo "backup: $COMMANDS commands answer as shown"
