#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# gateway_program.sh: sourced, after lock_program.sh, by the tests of the guides that show a gateway which follows a leader. check_gateway
# COMMAND runs it, against a daemon of its own.
# shellcheck disable=SC2034  # `program` is for place.sh

check_gateway() {
  local command
  command=$(block "$1")
  [ "$command" = "$1" ] || fail "the page's command is another one: $command"
  start_own_daemon
  rm -f stdin said
  mkfifo stdin said
  bash -euc "exec env ${command/127.0.0.1:7600/$LOCKKEEPER_SERVER}" <stdin >said 2>program.log &
  program=$!
  exec 3>stdin 4<said
  next_line 'nobody leads'
  lockkeeper run --owner host-1:8080 examples/leader -- true
  next_line 'routes to host-1:8080, term '
  next_line 'nobody leads'
  exec 3>&-
  end_program 0
  stop_daemon
}
