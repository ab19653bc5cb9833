#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# with_cluster.sh DIRECTORY COMMAND...: starts a Redis Cluster of three primaries with a replica each on this machine, with their files in
# DIRECTORY, and runs the command with its URL in LOCKKEEPERD_STORE_REDIS. Ends it with the command. To try it: kill a primary.
set -euo pipefail

# shellcheck source=deploy/local/servers.sh
source "${BASH_SOURCE[0]%/*}/servers.sh"
readonly CLI=${REDIS_CLI:-redis-cli}

rm -rf "$directory"/redis-*
servers=()
for name in redis-1 redis-2 redis-3 redis-4 redis-5 redis-6; do
  free_ports 2 # The servers talk among themselves on a second one.
  start "$name" <<END
cluster-port $((port + 1))
cluster-enabled yes
cluster-node-timeout 2000
appendonly yes
appendfsync always
repl-diskless-sync-delay 0
END
  servers+=("127.0.0.1:$port")
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

run_with "redis+cluster://$(IFS=, && echo "${servers[*]:0:3}")" "$@"
