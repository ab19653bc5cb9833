#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check_test.sh BUF: proves that check.sh notices what it is there for, on a copy of the protos.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

COPY=$(mktemp -d)
readonly COPY BUF=$1
trap 'rm -rf "$COPY"' EXIT

# expect_refused EXPRESSION MESSAGE: with sed EXPRESSION applied to the copy, the check must fail with MESSAGE.
expect_refused() {
  rm -rf "${COPY:?}/proto"
  cp -r ../../../proto "$COPY/proto"
  find "$COPY/proto" -path '*/v1/*.proto' -exec sed -i "$1" {} +
  if ./check.sh "$BUF" "$COPY/proto" >"$COPY/log" 2>&1; then
    echo "proto check: did not notice: $1" >&2
    exit 1
  fi
  grep -q "$2" "$COPY/log" || {
    echo "proto check: another complaint than '$2' about: $1" >&2
    cat "$COPY/log" >&2
    exit 1
  }
}

expect_refused 's/int64 fencing_token/int32 fencing_token/' 'changed type from "int64" to "int32"'
expect_refused 's/fencing_token = /fence_token = /' 'changed name from "fencing_token" to "fence_token"'
expect_refused '/^ *rpc Fence(/d' 'Previously present RPC "Fence"'
expect_refused '/^ *\/\//d' 'should have a non-empty comment'
expect_refused 's/int64 fencing_token/int64 FencingToken/' 'should be lower_snake_case'
