#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# with_sentinels.sh DIRECTORY COMMAND...: starts a primary, two replicas and three Sentinels on this machine, with their files in
# DIRECTORY, and runs the command with their URL in LOCKKEEPERD_STORE_REDIS. Ends them with it. To try it: kill the primary.
set -euo pipefail

# shellcheck source=deploy/local/servers.sh
source "${BASH_SOURCE[0]%/*}/servers.sh"
readonly SERVICE=mymaster

rm -rf "$directory"/redis-* "$directory"/sentinel-*
primary=
for name in redis-1 redis-2 redis-3; do
  free_ports 1
  start "$name" <<END
appendonly yes
appendfsync always
min-replicas-to-write 1
min-replicas-max-lag 3
repl-diskless-sync-delay 0
${primary:+replicaof 127.0.0.1 $primary}
END
  primary=${primary:-$port}
done

url=
for name in sentinel-1 sentinel-2 sentinel-3; do
  free_ports 1
  start "$name" --sentinel <<END
sentinel monitor $SERVICE 127.0.0.1 $primary 2
sentinel down-after-milliseconds $SERVICE 2000
sentinel failover-timeout $SERVICE 10000
END
  url=$url,127.0.0.1:$port
done

run_with "redis+sentinel://${url#,}/$SERVICE" "$@"
