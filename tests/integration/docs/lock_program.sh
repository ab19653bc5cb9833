#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# lock_program.sh PAGE: sourced, after place.sh, by the tests of the guides that show a program which holds a lock. check_lock_program
# COMMAND runs it, in all of the cases below, against a daemon of its own.
# shellcheck disable=SC2034,SC2053  # LISTEN is for place.sh; patterns are meant
readonly PAGE=$1

# The block of the page whose first line begins with $1.
block() {
  awk -v first="$1" '/^```/ { inside = !inside; begins = inside; next }
    begins { shown = index($0, first) == 1; begins = 0; found = found || shown }
    inside && shown
    END { exit !found }' "$TOP/$PAGE" || fail "$PAGE has no block that begins with: $1"
}

uptime_ms() {
  local up rest
  read -r up rest </proc/uptime
  echo $((10#${up/./} * 10))
}

lockkeeper() { "$BUILD/lockkeeper" "$@"; }

# command_for STEPS [WAIT]: the command of the page, with this daemon.
command_for() {
  local command=${COMMAND/127.0.0.1:7600/$LOCKKEEPER_SERVER}
  echo "exec env ${command% 5} $*"
}

# begin_program STEPS [WAIT]: in the background.
begin_program() {
  rm -f said
  mkfifo said
  bash -euc "$(command_for "$@")" >said 2>program.log &
  program=$!
  exec 4<said
}

# next_line PATTERN: the next line of the program, in LINE, has to begin so, as [[ == ]] has it.
next_line() {
  read -r -t 60 LINE <&4 || fail "the program said nothing more: $(cat program.log)"
  [[ $LINE == $1* ]] || fail "the program said '$LINE' instead of '$1...'"
}

# has_lock: the program takes the lock; TOKEN is its token.
has_lock() {
  next_line acquired
  TOKEN=${LINE#acquired with fencing token }
}

# next_step: reads how much is left, in tenths of a second, into LEFT.
next_step() {
  next_line step
  LEFT=${LINE#step *: } LEFT=${LEFT% s left} LEFT=${LEFT/./}
}

end_program() {
  local status=0
  wait "$program" || status=$?
  program=
  exec 4<&-
  [ $status = "$1" ] || fail "the program ended with $status instead of $1: $(cat program.log)"
}

kill_daemon() {
  kill -KILL "$daemon"
  wait "$daemon" 2>/dev/null || true  # without the word of the shell that it was killed
  daemon=
}

takes_and_releases() {
  begin_program 2
  has_lock
  next_step
  next_step
  [ "$LEFT" -gt 80 ] || fail "only $LEFT tenths of a second are left after the second step"
  next_line 'admitted: [Tt]rue'
  next_line 'released: [Tt]rue'
  end_program 0
}

tells_that_it_is_held_and_waits() {
  local said status=0 id=00000000000000000000000000000001
  lockkeeper acquire job --owner somebody --lease-id $id --ttl 1m >/dev/null
  said=$(timeout 60 bash -euc "$(command_for 2)") || status=$?
  [ "$status $said" = "75 held by 'somebody'" ] || fail "on a held lock it ended with $status: $said"

  begin_program 3 50
  until [[ $(lockkeeper --output json get job) == *'"waiters":1'* ]]; do
    kill -0 "$program" || fail "it does not wait: $(cat said program.log)"
  done
  lockkeeper release job $id >/dev/null
  has_lock
  for _ in 1 2 3; do next_step; done
  next_line 'admitted: [Tt]rue'
  next_line 'released: [Tt]rue'
  end_program 0
}

# The daemon is away for 4 s, by kill -9, with 9 s of the lease left.
keeps_its_lock_over_a_restart() {
  local before
  begin_program 1000
  has_lock
  next_step
  kill_daemon
  sleep 4  # the outage
  start_own_daemon
  before=$LEFT
  while next_step && [ "$LEFT" -lt "$before" ]; do before=$LEFT; done  # until it has extended
  lockkeeper fence job "$TOKEN" --require-live-lease >/dev/null || fail "the lease was not kept"
  kill -TERM "$program"
  end_program 143
  [[ $(lockkeeper --output json get job) == *'"last_end":"released"'* ]] || fail "the program has not released the lock"
}

# The daemon does not come back. Until shortly before the end the program has to go on, since the old end stands.
hears_of_its_lost_lease_before_the_end() {
  local asked left early
  begin_program 1000
  has_lock
  next_step
  asked=$(uptime_ms)
  left=$(lockkeeper --output json get job | sed -E 's/.*"remaining_ttl_ms":([0-9]+).*/\1/')
  kill_daemon
  while next_line '' && [ "$LINE" != lost ]; do :; done
  early=$((asked + left - $(uptime_ms)))
  ((early > 0 && early < 2000)) || fail "told of the loss $early ms before the end of the lease"
  end_program 70
  start_own_daemon
}

start_own_daemon() { start_daemon --embedded --data-dir "$PLACE/data"; }

check_lock_program() {
  local first
  COMMAND=$(block "$1")
  [ "$COMMAND" = "$1" ] || fail "the page's command is another one: $COMMAND"

  # An address that nobody else takes while no daemon listens there.
  LISTEN=127.$((RANDOM % 250 + 1)).$((RANDOM % 250)).$((RANDOM % 250 + 2)):0
  start_own_daemon
  LISTEN=$LOCKKEEPER_SERVER

  takes_and_releases
  first=$TOKEN
  takes_and_releases
  [ "$TOKEN" -gt "$first" ] || fail "tokens do not rise: $first, then $TOKEN"
  tells_that_it_is_held_and_waits
  keeps_its_lock_over_a_restart
  hears_of_its_lost_lease_before_the_end
  stop_daemon
}
