#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# redis_user_test.sh BUILD_DIR: the Redis user of docs/operating/redis.md may do all that the daemon needs. Method: gives a Redis of its own
# that user, lets a daemon work as it through every operation, and sees that Redis has refused nothing.
set -euo pipefail

TOP=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../../..")
readonly TOP BUILD=$1 PAGE=docs/operating/redis.md
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

redis_cli() { redis-cli -s "$PLACE/redis.sock" "$@"; }

mkfifo redis.log ready
redis-server --port 0 --unixsocket "$PLACE/redis.sock" --save '' --dir "$PLACE" >redis.log &
redis=$!
# Read on to the end: a full pipe would stop it.
exec 3<redis.log
while read -r -t 30 line <&3; do [[ $line != *"ready to accept"* ]] || break; done
cat <&3 >/dev/null &

mapfile -t words < <(awk '/^ACL SETUSER/ { shown = 1 } /^```/ { shown = 0 } shown' "$TOP/$PAGE" | tr -s ' ' '\n' | sed '/^$/d')
[ "${words[*]:0:3}" = "ACL SETUSER lockkeeper" ] || fail "$PAGE shows no ACL SETUSER lockkeeper"
[ "$(redis_cli "${words[@]}")" = OK ] || fail "Redis does not take: ${words[*]}"

"$BUILD/lockkeeperd" --redis "unix://lockkeeper:PASSWORD@$PLACE/redis.sock" --listen 127.0.0.1:0 --http-listen 127.0.0.1:0 \
  >ready 2>daemon.log &
daemon=$!
read -r -t 30 line <ready || fail "the daemon did not say that it is ready"
export LOCKKEEPER_SERVER
LOCKKEEPER_SERVER=$(sed -n 's/.* grpc=\([^ ]*\).*/\1/p' <<<"$line")

lease=3f2a9c4e5b6d47f08192a3b4c5d6e7f8
lockkeeper() { timeout 20 "$BUILD/lockkeeper" "$@" >>said.log 2>&1; }
for step in "acquire report --lease-id $lease --ttl 30s" "extend report $lease" "get report" "list --prefix rep" "release report $lease" \
  "acquire report --ttl 30s" "force-release report --reason test --now" "health"; do
  # shellcheck disable=SC2086  # words
  lockkeeper $step || {
    cat said.log
    fail "lockkeeper $step: ended with $?"
  }
done
refused=$(redis_cli ACL LOG)
[ -z "$refused" ] || fail "Redis refused: $refused"

kill -TERM "$daemon"
wait "$daemon" || fail "the daemon ended with $?"
daemon=
echo "redis user: every operation allowed"
