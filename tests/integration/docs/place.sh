#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# place.sh BUILD_DIR: sourced by the tests of pages. Goes to an empty folder of its own; at the end that folder is gone, and so are
# the processes in the variables redis, daemon and program.
set -euo pipefail

TOP=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../../..")
PLACE=$(mktemp -d)
# shellcheck disable=SC2034  # for those who source it
readonly TOP PLACE BUILD=$1
cd "$PLACE"
redis=
daemon=
program=
LISTEN=127.0.0.1:0

finish() {
  local child
  for child in ${SHELL_PID:-} $program $daemon $redis; do
    kill -KILL "$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
  done
  rm -rf "$PLACE"
}
trap finish EXIT

fail() {
  echo "FAILED: $*"
  [ ! -s "$PLACE/daemon.log" ] || cat "$PLACE/daemon.log"
  exit 1
}

# commands N: the Nth block of commands of the page PAGE, each command on one line.
commands() {
  awk -v wanted="$1" '/^```sh/ { shown = ++block == wanted; next } /^```/ { shown = 0 } shown' "$TOP/$PAGE" |
    sed -e ':again' -e '/\\$/ { N; s/ *\\\n */ /; b again' -e '}'
}

# start_redis COMMAND...: a Redis without persistence. Returns 1 if it ends before it serves, as it does for want of its port.
start_redis() {
  local line ready=
  rm -f redis.log
  mkfifo redis.log
  "$@" --save '' --dir "$PLACE" >redis.log &
  redis=$!
  exec 3<redis.log
  while read -r -t 30 line <&3; do
    [[ ${line,,} != *"ready to accept"* ]] || { ready=yes && break; }
  done
  if [ -n "$ready" ]; then
    # Read on to the end: a full pipe would stop it.
    cat <&3 >/dev/null &
    return
  fi
  wait "$redis" || true
  redis=
  exec 3<&-
  return 1
}

# start_daemon FLAG...: waits until it serves at LISTEN; LOCKKEEPER_SERVER is its address.
start_daemon() {
  local line
  rm -f ready
  mkfifo ready
  "$BUILD/lockkeeperd" "$@" --listen "$LISTEN" --http-listen 127.0.0.1:0 >ready 2>"$PLACE/daemon.log" &
  daemon=$!
  read -r -t 30 line <ready || fail "the daemon did not say that it is ready"
  LOCKKEEPER_SERVER=$(sed -n 's/.* grpc=\([^ ]*\).*/\1/p' <<<"$line")
  export LOCKKEEPER_SERVER
}

stop_daemon() {
  kill -TERM "$daemon"
  wait "$daemon" || fail "the daemon ended with $?"
  daemon=
}
