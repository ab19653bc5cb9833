#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tls_guide_test.sh BUILD_DIR: the commands of docs/guides/tls_to_redis.md do what it says. Method: makes its certificates, and starts its
# Redis and its daemon as they stand there, but on another port; the daemon then reaches that Redis.
set -euo pipefail

TOP=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../../..")
readonly TOP BUILD=$1 PAGE=docs/guides/tls_to_redis.md PAGE_PORT=6390
PLACE=$(mktemp -d)
readonly PLACE
cd "$PLACE"
redis=
daemon=
finish() {
  for child in $daemon $redis; do
    kill -KILL "$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
  done
  rm -rf "$PLACE"
}
trap finish EXIT

fail() {
  echo "FAILED: $*"
  [ ! -s daemon.log ] || cat daemon.log
  exit 1
}

# The Nth block of commands of the page, each command on one line.
commands() {
  awk -v wanted="$1" '/^```sh/ { shown = ++block == wanted; next } /^```/ { shown = 0 } shown' "$TOP/$PAGE" |
    sed -e ':again' -e '/\\$/ { N; s/ *\\\n */ /; b again' -e '}'
}

commands 1 >certificates.sh
bash -euo pipefail certificates.sh 2>openssl.log || fail "certificates: $(cat openssl.log)"

mapfile -t lines < <(commands 2)
[ "${#lines[@]}" = 5 ] || fail "$PAGE has other commands than this test knows"
[[ ${lines[0]} == "redis-server "*" --tls-port $PAGE_PORT "*" &" ]] || fail "not Redis: ${lines[0]}"
[[ ${lines[4]} == "lockkeeperd "*":$PAGE_PORT" ]] || fail "not the daemon: ${lines[4]}"
for line in "${lines[@]:1:3}"; do
  [[ $line == "export LOCKKEEPERD_STORE_REDIS_TLS_"* ]] || fail "not a setting: $line"
  export "${line#export }"
done

# Redis cannot be asked for a port of the system's choice; one that is taken ends it.
for _ in {1..20}; do
  port=$((20000 + RANDOM % 10000))
  read -ra command <<<"${lines[0]% &}"
  mkfifo redis.log
  "${command[@]//$PAGE_PORT/$port}" --save '' --dir "$PLACE" >redis.log &
  redis=$!
  exec 3<redis.log
  ready=
  while read -r -t 30 line <&3; do
    [[ ${line,,} != *"ready to accept"* ]] || { ready=yes && break; }
  done
  [ -z "$ready" ] || break
  wait "$redis" || true
  redis=
  exec 3<&-
  rm redis.log
done
[ -n "$redis" ] || fail "Redis does not start"
# Read on to the end: a full pipe would stop it.
cat <&3 >/dev/null &

mkfifo ready
read -ra command <<<"${lines[4]//$PAGE_PORT/$port}"
"$BUILD/${command[0]}" "${command[@]:1}" --listen 127.0.0.1:0 --http-listen 127.0.0.1:0 >ready 2>daemon.log &
daemon=$!
read -r -t 30 line <ready || fail "the daemon did not say that it is ready"
server=$(sed -n 's/.* grpc=\([^ ]*\).*/\1/p' <<<"$line")
LOCKKEEPER_SERVER=$server timeout 20 "$BUILD/lockkeeper" acquire report --ttl 30s || fail "lockkeeper acquire: ended with $?"

kill -TERM "$daemon"
wait "$daemon" || fail "the daemon ended with $?"
daemon=
echo "tls guide: the daemon locks through mutual TLS"
