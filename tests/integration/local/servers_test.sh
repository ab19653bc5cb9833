#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# servers_test.sh BUILD_DIR SCRIPT: a daemon that deploy/local/SCRIPT starts grants a lock, and ends with all servers by SIGTERM.
set -euo pipefail

TOP=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../../..")
PLACE=$(mktemp -d)
readonly TOP PLACE BUILD=$1 SCRIPT=$2
script=

finish() {
  if [ -n "$script" ]; then
    kill -TERM "$script" 2>/dev/null || true # It ends what it has started.
    wait "$script" || true
  fi
  rm -rf "$PLACE"
}
trap finish EXIT

fail() {
  echo "FAILED: $*"
  cat "$PLACE/errors"
  exit 1
}

# Of the servers that the script has told of.
server_pids() { sed -n 's/.*, pid \([0-9]*\)$/\1/p' "$PLACE/output"; }

mkfifo "$PLACE/lines"
"$TOP/deploy/local/$SCRIPT" "$PLACE/servers" "$BUILD/lockkeeperd" --listen 127.0.0.1:0 --http-listen '' >"$PLACE/lines" 2>"$PLACE/errors" &
script=$!
exec 3<"$PLACE/lines"
address=
while [ -z "$address" ]; do
  read -r -t 60 line <&3 || fail "the daemon did not say that it is ready"
  echo "$line" >>"$PLACE/output"
  address=$(sed -n 's/.* grpc=\([^ ]*\).*/\1/p' <<<"$line")
done
servers=$(server_pids | wc -l)
[ "$servers" = 6 ] || fail "$servers servers instead of 6"

# A replica has to follow the primary before anything is granted.
granted=$("$BUILD/lockkeeper" run --server "$address" --timeout 60s tried -- echo granted 2>>"$PLACE/errors") || fail "no lock is granted"
[ "$granted" = granted ] || fail "the command said '$granted'"

kill -TERM "$script"
wait "$script" || fail "it ended with $?"
script=
for pid in $(server_pids); do
  [ ! -e "/proc/$pid" ] || fail "server $pid still runs"
done
echo "$SCRIPT: a lock was granted, and all ended"
