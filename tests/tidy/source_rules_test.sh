#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# source_rules_test.sh: a case for each rule of source_rules.sh, and for what looks like a breach and is none.
set -euo pipefail
shopt -s lastpipe  # so that a case behind a pipe counts its failure

HERE=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")")
readonly HERE
readonly SPDX='// SPDX-License-Identifier: Apache-2.0'
TREE=$(mktemp -d)
readonly TREE
trap 'rm -rf "$TREE"' EXIT
failures=0

# tell FILE: what source_rules.sh says of a tree that holds only FILE, with the text on standard input.
tell() {
  find "$TREE" -mindepth 1 -delete
  mkdir -p "$TREE/$(dirname "$1")"
  cat >"$TREE/$1"
  git -C "$TREE" init -q
  "$HERE/source_rules.sh" "$TREE" || true
}

expect_breach() {
  local file=$1 rule=$2 said
  said=$(tell "$file")
  if ! grep -F "$file:" <<<"$said" | grep -qF "$rule"; then
    echo "FAILED: '$rule' not said of $file, but: $said"
    failures=$((failures + 1))
  fi
}

expect_clean() {
  local said
  said=$(tell "$1")
  [ -z "$said" ] || {
    echo "FAILED: must be clean: $said"
    failures=$((failures + 1))
  }
}

# a .cc file with one line of code, and the same expectation for a line
line_breaches() { printf '%s\n%s\n' "$SPDX" "$2" | expect_breach "$1" "$3"; }
line_is_clean() { printf '%s\n%s\n' "$SPDX" "$2" | expect_clean "$1"; }
lines() { echo "$SPDX"; seq -f "int x%g;" $(($1 - 2)); }

echo 'int x;' | expect_breach server/a.cc 'no SPDX line'
printf '#!lua\n-- SPDX-License-Identifier: Apache-2.0\n' | expect_clean server/redis/scripts/a.lua
printf '#!lua\nreturn 1\n' | expect_breach server/redis/scripts/a.lua 'no SPDX line'
printf '%s\n//\n// What it is for.\n\nint x;\n' "$SPDX" | expect_breach server/a.h 'no #pragma once'
printf '%s\n#pragma once\nint x;\n' "$SPDX" | expect_breach server/a.h 'no file comment'
printf '%s\n//\n// What it is for.\n\n#pragma once\n' "$SPDX" | expect_clean server/a.h

lines 1001 | expect_clean server/a.cc
lines 1002 | expect_breach server/a.cc 'longer than 1000 lines'
line_breaches server/a.cc "$(printf 'int %097d;' 1)" 'longer than 100 columns'
head -c 200001 /dev/zero | expect_breach docs/a.png 'larger than 200 kB'

line_breaches server/a.cc '// FIXME later' 'FIXME'
line_breaches server/a.cc '// TODO later' 'TODO without'
line_is_clean server/a.cc '// TODO(#12): later'

line_breaches server/a.cc 'int master_count;' 'say primary or replica'
# shellcheck disable=SC2016  # backticks are meant
line_is_clean server/a.cc 'Expect("master");  // Redis says `master` for a primary'
line_breaches proto/a.proto '// The slaves.' 'say primary or replica'
line_breaches client/a.cc '// the lock timeout' 'say ttl'

line_breaches server/a.cc 'auto t = absl::Now();' 'time comes from a Clock'
line_breaches tests/unit/a.cc 'auto t = std::chrono::steady_clock::now();' 'time comes from a Clock'
line_is_clean tests/unit/a.cc 'context.set_deadline(std::chrono::system_clock::now() + kDeadline);'  # as gRPC wants it
line_is_clean server/redis/client/monotonic_clock.cc 'auto t = std::chrono::steady_clock::now();'
line_breaches tests/a.cc 'std::this_thread::sleep_for(x);' 'no sleeps'
line_breaches tests/a.cc 'sleep(1);' 'no sleeps'
line_is_clean tests/a.cc 'Oversleep(1);'
line_breaches tests/a.cc 'int x = rand();' 'randomness is injected'
line_breaches server/core/a.cc 'std::random_device device;' 'randomness is injected'
line_is_clean server/rpc/a.cc 'std::random_device device;'
line_breaches server/rpc/a.cc 'std::thread t;' 'threads are made in'
line_is_clean server/loop/event_loop.cc 'std::thread t;'
line_is_clean server/rpc/a.cc 'std::thread::id t;'
line_breaches server/rpc/a.cc 'return absl::AbortedError("x");' 'errors are made in core/errors'
line_is_clean server/core/errors.cc 'return absl::AbortedError("x");'
line_breaches server/core/a.cc 'grpc::Status s;' 'grpc::Status belongs'
line_breaches server/redis/a.cc 'auto s = "redis.call(1)";' 'Lua lives in'
line_breaches server/core/a.cc 'assert(x);' 'no assert'
line_is_clean server/core/a.cc 'static_assert(x);'
printf '%s\n//\n// What it is for.\n\n#pragma once\nusing namespace std;\n' "$SPDX" | expect_breach server/a.h 'no using namespace'
line_breaches tests/a.cc 'TEST(A, DISABLED_B) {}' 'a skipped test says why'
line_is_clean tests/a.cc 'GTEST_SKIP() << "no valkey-server on this machine";'

[ $failures -eq 0 ] && echo "source rules: all cases as expected"
exit $((failures > 0))
