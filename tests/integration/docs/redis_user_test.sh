#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# redis_user_test.sh BUILD_DIR: the Redis user of docs/operating/redis.md may do all that the daemon needs. Method: gives a Redis of its own
# that user, lets a daemon work as it through every operation, and sees that Redis has refused nothing.
# shellcheck source=tests/integration/docs/place.sh
. "$(dirname "${BASH_SOURCE[0]}")/place.sh" "$1"
readonly PAGE=docs/operating/redis.md

redis_cli() { redis-cli -s "$PLACE/redis.sock" "$@"; }

start_redis redis-server --port 0 --unixsocket "$PLACE/redis.sock" || fail "Redis does not start"

mapfile -t words < <(awk '/^ACL SETUSER/ { shown = 1 } /^```/ { shown = 0 } shown' "$TOP/$PAGE" | tr -s ' ' '\n' | sed '/^$/d')
[ "${words[*]:0:3}" = "ACL SETUSER lockkeeper" ] || fail "$PAGE shows no ACL SETUSER lockkeeper"
[ "$(redis_cli "${words[@]}")" = OK ] || fail "Redis does not take: ${words[*]}"

# A short retention: then records have to be kept as long as their lines.
export LOCKKEEPERD_STORE_RECORD_RETENTION=1s
start_daemon --redis "unix://lockkeeper:PASSWORD@$PLACE/redis.sock"

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

# Somebody waits, and gets it.
lockkeeper acquire busy --lease-id "${lease//3/5}" --ttl 30s || fail "acquire busy: $(tail -1 said.log)"
lockkeeper acquire busy --wait 15s &
waiting=$!
for _ in {1..600}; do
  [ "$(redis_cli EXISTS 'lk:{busy}:line')" = 1 ] && break
  sleep 0.02
done
lockkeeper release busy "${lease//3/5}" || fail "release busy: $(tail -1 said.log)"
wait "$waiting" || fail "acquire --wait: $(tail -1 said.log)"

# Before it takes an empty store for a new one the daemon asks who else is there.
channels=$(redis_cli --no-auth-warning --user lockkeeper --pass PASSWORD PUBSUB CHANNELS 'lk:daemon:*')
[[ $channels == lk:daemon:* ]] || fail "the user does not see the daemon's channel: $channels"

# The guard asks about once a second, and works hardest when everything is gone.
reassertion=
while read -r key value; do case $key in token) token=$value ;; reassertion) reassertion=$value ;; esac done < <(
  timeout 20 "$BUILD/lockkeeper" --output json acquire kept --lease-id "${lease//3/4}" --ttl 60s |
    sed -n 's/.*"fencing_token":\([0-9]*\).*"reassertion":"\([^"]*\)".*/token \1\nreassertion \2/p'
)
[ -n "$reassertion" ] || fail "acquire showed no reassertion"
[ "$(redis_cli FLUSHALL)" = OK ] || fail "FLUSHALL"
if lockkeeper acquire new --ttl 30s; then fail "granted from a store that was emptied"; fi
grep -q STORE_QUARANTINED said.log || fail "no STORE_QUARANTINED: $(tail -1 said.log)"
lockkeeper extend kept "${lease//3/4}" --token "$token" --reassertion "$reassertion" || fail "extend with a proof: $(tail -1 said.log)"
# A new daemon that finds no marker looks for records with SCAN.
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null || true
[ "$(redis_cli DEL lk:store)" = 1 ] || fail "DEL lk:store"
start_daemon --redis "unix://lockkeeper:PASSWORD@$PLACE/redis.sock"
for _ in {1..600}; do
  grep -q loss=marker_missing daemon.log && break
  sleep 0.05
done
grep -q loss=marker_missing daemon.log || fail "the missing marker was not noticed"
refused=$(redis_cli ACL LOG)
[ -z "$refused" ] || fail "Redis refused: $refused"

stop_daemon
echo "redis user: every operation allowed"
