#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# any_language_test.sh BUILD_DIR: docs/guides/any_language.md holds what it says. Method: makes Python code from the protos with the very
# commands of the page, and lets the program of the page take locks from a daemon of its own: free, held, and after a release.
# shellcheck source=tests/integration/docs/place.sh
. "$(dirname "${BASH_SOURCE[0]}")/place.sh" "$1"
readonly PAGE=docs/guides/any_language.md

# The block of the page whose first line begins with $1.
block() {
  awk -v first="$1" '/^```/ { inside = !inside; begins = inside; next }
    begins { shown = index($0, first) == 1; begins = 0 }
    inside && shown' "$TOP/$PAGE"
}

# A copy of the top folder as far as the page uses it, since its commands write to build/.
ln -s "$TOP/proto" "$TOP/client" .
commands=$(block 'mkdir -p build/python')
[ -n "$commands" ] || fail "$PAGE has no commands that make the code"
bash -euc "$commands"

start_daemon --embedded --data-dir "$PLACE/data"

command=$(block 'PYTHONPATH=')
[ "$command" = "PYTHONPATH=build/python /usr/bin/python3 client/python/example/hold_lock.py 127.0.0.1:7600 report" ] ||
  fail "the page's command is another one: $command"
hold_lock() { timeout 60 bash -euc "${command/127.0.0.1:7600/$LOCKKEEPER_SERVER}"; }

expect_lines() {
  local said=$1 pattern i=0
  shift
  mapfile -t lines <<<"$said"
  [ ${#lines[@]} = $# ] || fail "not $# lines: $said"
  for pattern in "$@"; do
    [[ ${lines[$i]} =~ ^$pattern$ ]] || fail "'${lines[$i]}' is not '$pattern'"
    i=$((i + 1))
  done
}

said=$(hold_lock) || fail "hold_lock.py ended with $?"
expect_lines "$said" 'acquired with fencing token [0-9]{16}' 'step 1: 10 s left' 'step 2: 10 s left' 'step 3: 10 s left' \
  'fence: VERDICT_ADMITTED' 'released: True' 'released again: True' 'extend after release: FAILED_PRECONDITION LEASE_LOST'
first=${said#acquired with fencing token } first=${first%%$'\n'*}

said=$(hold_lock) || fail "hold_lock.py ended with $?"
second=${said#acquired with fencing token } second=${second%%$'\n'*}
[ "$second" -gt "$first" ] || fail "tokens do not rise: $first, then $second"

"$BUILD/lockkeeper" --server "$LOCKKEEPER_SERVER" acquire report --owner somebody --ttl 30s >/dev/null
status=0
said=$(hold_lock) || status=$?
[ $status = 75 ] || fail "on a held lock it ended with $status: $said"
expect_lines "$said" "held by 'somebody'"

stop_daemon
echo "any language: tokens $first and $second"
