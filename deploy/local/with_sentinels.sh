#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# with_sentinels.sh DIRECTORY COMMAND...: starts a primary, two replicas and three Sentinels on this machine, with their files in
# DIRECTORY, and runs the command with their URL in LOCKKEEPERD_STORE_REDIS. Ends them with it. To try it: kill the primary.
set -euo pipefail

readonly SERVER=${REDIS_SERVER:-redis-server}
readonly SERVICE=mymaster
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
free_port() {
  while is_taken "$next_port"; do next_port=$((next_port + 1)); done
  port=$next_port
  next_port=$((next_port + 1))
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
}

rm -rf "$directory"/redis-* "$directory"/sentinel-*
primary=
for name in redis-1 redis-2 redis-3; do
  free_port
  start "$name" <<END
appendonly yes
appendfsync always
min-replicas-to-write 1
min-replicas-max-lag 3
repl-diskless-sync-delay 0
${primary:+replicaof 127.0.0.1 $primary}
END
  primary=${primary:-$port}
  echo "with_sentinels: $name on port $port, pid $!"
done

url=
for name in sentinel-1 sentinel-2 sentinel-3; do
  free_port
  start "$name" --sentinel <<END
sentinel monitor $SERVICE 127.0.0.1 $primary 2
sentinel down-after-milliseconds $SERVICE 2000
sentinel failover-timeout $SERVICE 10000
END
  url=$url,127.0.0.1:$port
  echo "with_sentinels: $name on port $port, pid $!"
done

export LOCKKEEPERD_STORE_REDIS=redis+sentinel://${url#,}/$SERVICE
echo "with_sentinels: $LOCKKEEPERD_STORE_REDIS"
"$@" &
command=$!
trap 'kill -TERM $command 2>/dev/null' TERM INT
wait "$command" || { status=$?; wait "$command" 2>/dev/null || status=$?; exit "$status"; }
