#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# with_cluster.sh DIRECTORY COMMAND...: starts a Redis Cluster of three primaries with a replica each on this machine, with their files in
# DIRECTORY, and runs the command with its URL in LOCKKEEPERD_STORE_REDIS. Ends it with the command. To try it: kill a primary.
set -euo pipefail

readonly SERVER=${REDIS_SERVER:-redis-server} CLI=${REDIS_CLI:-redis-cli}
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
# The servers talk among themselves on a second port.
free_ports() {
  while is_taken "$next_port" || is_taken $((next_port + 1)); do next_port=$((next_port + 2)); done
  port=$next_port
  next_port=$((next_port + 2))
}

rm -rf "$directory"/redis-*
servers=()
for name in redis-1 redis-2 redis-3 redis-4 redis-5 redis-6; do
  free_ports
  mkdir -p "$directory/$name"
  cat >"$directory/$name/redis.conf" <<END
port $port
cluster-port $((port + 1))
bind 127.0.0.1
dir $directory/$name
logfile $directory/$name/log
cluster-enabled yes
cluster-node-timeout 2000
appendonly yes
appendfsync always
repl-diskless-sync-delay 0
END
  "$SERVER" "$directory/$name/redis.conf" &
  pids+=($!)
  until is_taken "$port"; do
    kill -0 $! 2>/dev/null || { cat "$directory/$name/log" >&2; exit 1; }
    sleep 0.05
  done
  servers+=("127.0.0.1:$port")
  echo "with_cluster: $name on port $port, pid $!"
done

"$CLI" --cluster create "${servers[@]}" --cluster-replicas 1 --cluster-yes >"$directory/create.log" || {
  cat "$directory/create.log" >&2
  exit 1
}

# The servers hear of each other, and of their replicas, by and by.
for server in "${servers[@]}"; do
  until "$CLI" -p "${server#*:}" cluster info | grep -q cluster_state:ok && "$CLI" -p "${server#*:}" cluster nodes | grep -c ' slave\|,slave' | grep -qx 3; do
    sleep 0.1
  done
done

LOCKKEEPERD_STORE_REDIS=redis+cluster://$(IFS=, && echo "${servers[*]:0:3}")
export LOCKKEEPERD_STORE_REDIS
echo "with_cluster: $LOCKKEEPERD_STORE_REDIS"
"$@" &
command=$!
trap 'kill -TERM $command 2>/dev/null' TERM INT
wait "$command" || { status=$?; wait "$command" 2>/dev/null || status=$?; exit "$status"; }
