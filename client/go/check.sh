#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check.sh [OUT]: builds and tests the Go client against the daemon LOCKKEEPERD with the command line LOCKKEEPER, and leaves the driver of
# tests/conformance in OUT. Modules and build results stay in OUT. Exit codes: 0 all well, 69 the module registry cannot be reached, else
# a failure. With LOCKKEEPER_BROKEN=1 it only builds the driver; with LOCKKEEPER_RACE=1 the tests run with Go's race detector.
set -euo pipefail
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly TOP
OUT=$(realpath -m "${1:-$TOP/build/clients/go}")
readonly OUT
mkdir -p "$OUT"
cd "$TOP/client/go"

export GOMODCACHE=${LOCKKEEPER_GO_MODULES:-$OUT/modules} GOCACHE=$OUT/cache GOFLAGS="-modcacherw -buildvcs=false" GOTOOLCHAIN=local

say() { echo "client/go: $*"; }

fail() {
  echo "client/go: $*" >&2
  exit 1
}

# Two tries: the first may have been cut off.
go mod download || go mod download || {
  echo "client/go: the Go modules cannot be had: no connection to the module registry" >&2
  exit 69
}
go build -o "$OUT/driver" ./conformance
[ -z "${LOCKKEEPER_BROKEN:-}" ] || exit 0

: "${LOCKKEEPERD:?must name the daemon}" "${LOCKKEEPER:?must name the command line}"
say "$(go version)"
unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || fail "to be formatted with gofmt: $unformatted"
go vet ./...

race=()
[ -z "${LOCKKEEPER_RACE:-}" ] || race=(-race) # builds gRPC once more, and Debian's Go has no race detector
go test -count=1 "${race[@]}" ./...

go build -o "$OUT/late_holder" ./late_holder
"$TOP/client/fenced/tests/late_holder.py" --stopped "$OUT/late_holder"

# --- the shortest program of the README and the guide, in an empty project ---------------------------------------------------

# block N LANGUAGE: the Nth block of the guide in that language.
block() {
  awk -v wanted="$1" -v fence="\`\`\`$2" '$0 == fence { shown = ++count == wanted; next } /^```/ { shown = 0 } shown' "$TOP/docs/guides/go.md"
}

place=$(mktemp -d)
daemon=
finish() {
  [ -z "$daemon" ] || kill "$daemon"
  wait
  rm -rf "$place"
}
trap finish EXIT
mkfifo "$place/ready"
"$LOCKKEEPERD" --embedded --data-dir "$place/data" --listen 127.0.0.1:0 --http-listen 127.0.0.1:0 >"$place/ready" 2>"$place/log" &
daemon=$!
read -r -t 30 line <"$place/ready" || fail "the daemon does not start: $(cat "$place/log")"
server=$(sed -n 's/.* grpc=\([^ ]*\).*/\1/p' <<<"$line")

project=$OUT/project
rm -rf "$project"
mkdir -p "$project"
said=$(
  cd "$project"
  bash -euc "$(block 1 sh | sed "s|/path/to/lockkeeper|$TOP|")" 2>/dev/null
  block 1 go | sed "s|lockkeeper.Options{}|lockkeeper.Options{Servers: []string{\"$server\"}}|" >main.go
  bash -euc "$(block 2 sh)" 2>go.log || fail "the first program: $(cat go.log)"
)
[[ $said == "nobody else writes the report; fencing token "[0-9]* ]] || fail "the first program said: $said"
say "the first program: $said"

# --- the guide --------------------------------------------------------------------------------------------------------------

mkdir -p "$place/bin"
ln -s "$LOCKKEEPERD" "$place/bin/lockkeeperd"
ln -s "$LOCKKEEPER" "$place/bin/lockkeeper"
bash guide_test.sh "$place/bin"
say "the guide does what it says"
