#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced by a script that is called with DIRECTORY COMMAND...: starts Redis servers on this machine, with their files in DIRECTORY, and
# ends them with the script. Sets `directory`, the absolute path of it, and takes it off the arguments.

readonly SERVER=${REDIS_SERVER:-redis-server}
directory=$(mkdir -p "$1" && cd "$1" && pwd)
readonly directory
shift
pids=()

stop() {
  [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait
}
trap stop EXIT

is_taken() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

next_port=$((20000 + RANDOM % 10000))

# free_ports COUNT: sets `port` to the first of as many in a row that nobody listens on.
free_ports() {
  local taken
  while true; do
    port=$next_port
    next_port=$((port + $1))
    taken=false
    for ((tried = port; tried < next_port; ++tried)); do ! is_taken "$tried" || taken=true; done
    [ $taken = true ] || return 0
  done
}

# start NAME [FLAG]: with the settings of standard input, in a folder of its own, on $port.
start() {
  mkdir -p "$directory/$1"
  { cat && printf 'port %s\nbind 127.0.0.1\ndir %s\nlogfile %s\n' "$port" "$directory/$1" "$directory/$1/log"; } \
    >"$directory/$1/redis.conf"
  "$SERVER" "$directory/$1/redis.conf" ${2:+"$2"} &
  pids+=($!)
  until is_taken "$port"; do
    kill -0 $! 2>/dev/null || { cat "$directory/$1/log" >&2; exit 1; }
    sleep 0.05
  done
  echo "${0##*/}: $1 on port $port, pid $!"
}

# run_with URL COMMAND...: runs the command with the URL in LOCKKEEPERD_STORE_REDIS, passes TERM and INT on to it as TERM, and exits as it does.
run_with() {
  export LOCKKEEPERD_STORE_REDIS=$1
  echo "${0##*/}: $1"
  "${@:2}" &
  command=$!
  signalled=
  trap 'signalled=yes; kill -TERM "$command" 2>/dev/null || true' TERM INT
  status=0
  wait "$command" || status=$?
  while [ -n "$signalled" ]; do # The signal ended the wait, not the command.
    signalled=
    status=0
    wait "$command" || status=$?
  done
  exit "$status"
}
