#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tls_guide_test.sh BUILD_DIR: the commands of docs/guides/tls_to_redis.md do what it says. Method: makes its certificates, and starts its
# Redis and its daemon as they stand there, but on another port; the daemon then reaches that Redis.
# shellcheck source=tests/integration/docs/place.sh
. "$(dirname "${BASH_SOURCE[0]}")/place.sh" "$1"
readonly PAGE=docs/guides/tls_to_redis.md PAGE_PORT=6390

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
  if start_redis "${command[@]//$PAGE_PORT/$port}"; then break; fi
done
[ -n "$redis" ] || fail "Redis does not start"

read -ra command <<<"${lines[4]//$PAGE_PORT/$port}"
start_daemon "${command[@]:1}"
timeout 20 "$BUILD/lockkeeper" acquire report --ttl 30s || fail "lockkeeper acquire: ended with $?"

stop_daemon
echo "tls guide: the daemon locks through mutual TLS"
