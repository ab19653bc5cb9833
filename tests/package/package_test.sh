#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# package_test.sh BUILD_DIR: what `cmake --install` puts in place works away from the source tree. Method: installs into a fresh folder,
# builds the program in consumer/, the first program of docs/guides/cpp.md and the client's examples, copied out of the tree, against the
# installed package, and lets them take locks from the installed daemon.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

PLACE=$(mktemp -d)
daemon=
finish() {
  [ -z "$daemon" ] || kill -KILL "$daemon" 2>/dev/null || true
  rm -rf "$PLACE"
}
trap finish EXIT

fail() {
  echo "FAILED: $*"
  exit 1
}

# quietly LOG COMMAND...: shows what the command says only when it fails.
quietly() {
  local log=$PLACE/$1
  shift
  "$@" >"$log" 2>&1 || {
    cat "$log"
    fail "$*"
  }
}

quietly install.log cmake --install "$1" --prefix "$PLACE/prefix"
readonly BIN=$PLACE/prefix/bin

version() { "$BIN/$1" --version | sed -n "1s/^$1 //p"; }
[ -n "$(version lockkeeperd)" ] || fail "the daemon tells no version"
[ "$(version lockkeeperd)" = "$(version lockkeeper)" ] || fail "daemon and command line tell different versions"
for file in share/doc/lockkeeper/LICENSE etc/lockkeeper/lockkeeper.yaml \
  share/lockkeeper/proto/{lockkeeper/v1/lock_service,google/rpc/status,google/rpc/error_details}.proto; do
  [ -s "$PLACE/prefix/$file" ] || fail "not installed: $file"
done

# The configurations that deploy/ brings, with a password where their secret would be.
echo secret >"$PLACE/password"
for file in ../../deploy/kubernetes/*/lockkeeper.yaml; do
  sed "s|/run/secrets/lockkeeper/password|$PLACE/password|" "$file" >"$PLACE/lockkeeper.yaml"
  quietly check.log "$BIN/lockkeeperd" --check-config --config "$PLACE/lockkeeper.yaml"
done

# The consumer makes the call that the header shows first.
shown=$(sed -n 's|^//   |  |p' "$PLACE/prefix/include/lockkeeper/client.h" | sed 's|"db1:7600"|address|')
[[ -n $shown && $(<consumer/main.cc) == *"$shown"* ]] || fail "consumer/main.cc does not have the first example of client.h:"$'\n'"$shown"

quietly configure.log cmake -S consumer -B "$PLACE/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$PLACE/prefix"
quietly build.log cmake --build "$PLACE/consumer"

cp -r ../../client/cpp/examples "$PLACE/examples"
quietly configure.log cmake -S "$PLACE/examples" -B "$PLACE/examples/build" -G Ninja -DCMAKE_PREFIX_PATH="$PLACE/prefix"
quietly build.log cmake --build "$PLACE/examples/build"

mkfifo "$PLACE/ready"
"$BIN/lockkeeperd" --embedded --listen 127.0.0.1:0 --http-listen 127.0.0.1:0 --data-dir "$PLACE/data" \
  >"$PLACE/ready" 2>"$PLACE/daemon.log" &
daemon=$!
read -r -t 30 ready <"$PLACE/ready" || {
  cat "$PLACE/daemon.log"
  fail "the daemon did not say that it is ready"
}
address=$(sed -n 's/.* grpc=\([^ ]*\).*/\1/p' <<<"$ready")

first=$("$PLACE/consumer/consumer" "$address")
second=$("$PLACE/consumer/consumer" "$address")
[ "${second#token }" -gt "${first#token }" ] || fail "tokens do not rise: '$first', then '$second'"

# The page's own command, with this daemon and this prefix.
sed -i "s|Create({})|Create({.addresses = {\"$address\"}})|" "$PLACE/examples/report/main.cc"
shown=$(grep -x 'cmake -S . -B build && .*' ../../docs/guides/cpp.md) || fail "docs/guides/cpp.md does not say how to build its first program"
(cd "$PLACE/examples/report" && CMAKE_PREFIX_PATH=$PLACE/prefix quietly report.log bash -euc "$shown")
grep -q '^nobody else writes the report; fencing token [0-9]' "$PLACE/report.log" || fail "the first program said: $(cat "$PLACE/report.log")"

quietly work.log "$PLACE/examples/build/guarded_work" "$address"
grep -q "step 3 under token" "$PLACE/work.log" || fail "the example did not do its work: $(cat "$PLACE/work.log")"
quietly fenced.log "$PLACE/examples/build/fenced_store" "$address"
grep -q "alice woke up .* refused" "$PLACE/fenced.log" || fail "the late holder was not refused: $(cat "$PLACE/fenced.log")"

# told TEXT: the next line that the gateway says.
told() {
  local line
  read -r -t 30 line <&4 || fail "the gateway did not say '$1': $(cat "$PLACE/gateway.log")"
  [[ $line = "$1"* ]] || fail "the gateway said '$line' instead of '$1'"
}

mkfifo "$PLACE/stdin" "$PLACE/routes"
"$PLACE/examples/build/gateway" "$address" <"$PLACE/stdin" >"$PLACE/routes" 2>"$PLACE/gateway.log" &
gateway=$!
exec 3>"$PLACE/stdin" 4<"$PLACE/routes"
told "nobody leads"
quietly leader.log "$BIN/lockkeeper" --server "$address" run --owner host-1:8080 examples/leader -- true
told "routes to host-1:8080, term "
told "nobody leads"
exec 3>&-
wait "$gateway" || fail "the gateway ended with $?: $(cat "$PLACE/gateway.log")"

kill -TERM "$daemon"
wait "$daemon" || fail "the daemon ended with $?"
daemon=
echo "installed package: $first, then $second"
