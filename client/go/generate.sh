#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# generate.sh [OUT]: makes the Go code of the protos, in internal/pb or in OUT. Needs protoc and go. The code is committed, since Go
# modules are used as they lie in the repository; check.sh compares it. The generators are the newest that go 1.19 can build.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"
readonly OUT=${1:-internal/pb} PROTO=../../proto
readonly PACKAGE=lockkeeper/client/go/internal/pb
TOOLS=$(mktemp -d)
readonly TOOLS
trap 'rm -rf "$TOOLS"' EXIT

GOBIN=$TOOLS go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.33.0
GOBIN=$TOOLS go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.3.0
options=()
protos=(lockkeeper/v1/{error_reason,lock,lock_service}.proto lockkeeper/admin/v1/admin_service.proto)
for proto in "${protos[@]}"; do
  options+=(--go_opt="M$proto=$PACKAGE" --go-grpc_opt="M$proto=$PACKAGE")
done
mkdir -p "$OUT"
PATH=$TOOLS:$PATH protoc -I "$PROTO" --go_out="$OUT" --go-grpc_out="$OUT" --go_opt=module=$PACKAGE --go-grpc_opt=module=$PACKAGE \
  "${options[@]}" "${protos[@]}"
