#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# include_law_test.sh SOURCE_DIR PREFIX_PATH: proves that the build enforces cmake/include_law.txt.
# Method: a small tree with our build functions and one small source per case, built for real; a lawful one must build, each trespass must fail
# and name its file.
set -euo pipefail

readonly SOURCE_DIR=$1 PREFIX_PATH=$2
TREE=$(mktemp -d)
readonly TREE
trap 'rm -rf "$TREE"' EXIT
failures=0

cp -r "$SOURCE_DIR/cmake" "$TREE"
mkdir -p "$TREE"/server/{core,config,telemetry,loop}
cat >"$TREE/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(lockkeeper LANGUAGES CXX)
list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_SOURCE_DIR}/cmake")
include(CompilerOptions)
include(Dependencies)
include(LockkeeperTargets)
include(PrecompiledHeaders)
add_subdirectory(server)
END
cat >"$TREE/server/CMakeLists.txt" <<'END'
foreach(folder IN ITEMS core config telemetry loop)
  string(MAKE_C_IDENTIFIER ${folder} name)
  lockkeeper_library(lockkeeper_${name} FOLDERS ${folder} PRIVATE_DEPS absl::synchronization spdlog::spdlog PkgConfig::LIBUV)
endforeach()
END

echo '#include <string>' >"$TREE/server/core/lawful.h"
echo '#include "core/lawful.h"' >"$TREE/server/core/lawful.cc"
echo '#include "core/lawful.h"' >"$TREE/server/config/lawful.cc"
echo '#include <vector>' >"$TREE/server/telemetry/log.h"
echo '#include "telemetry/log.h"' >"$TREE/server/telemetry/log.cc"
echo '#include <uv.h>' >"$TREE/server/loop/event_loop.h"
echo '#include "loop/event_loop.h"' >"$TREE/server/loop/event_loop.cc"

cmake -S "$TREE" -B "$TREE/build" -G Ninja -DLOCKKEEPER_TESTS=OFF -DCMAKE_PREFIX_PATH="$PREFIX_PATH" >"$TREE/configure.log" 2>&1 || {
  cat "$TREE/configure.log"
  exit 1
}

build() {
  cmake --build "$TREE/build" -j2 >"$TREE/build.log" 2>&1
}

expect_lawful() {
  if build; then
    echo "ok: $1"
  else
    echo "FAILED: $1 must build"
    cat "$TREE/build.log"
    failures=$((failures + 1))
  fi
}

# expect_trespass FILE LINE: with LINE in FILE (below server/) the build must fail and say so of that file.
expect_trespass() {
  local file=$1 line=$2 kept
  kept=$(cat "$TREE/server/$file" 2>/dev/null || true)
  printf '%s\n%s\n' "$kept" "$line" >"$TREE/server/$file"
  if build; then
    echo "FAILED: $file may have $line"
    failures=$((failures + 1))
  elif ! grep -q "server/$file: may not include" "$TREE/build.log"; then
    echo "FAILED: $line in $file ended the build for another reason"
    cat "$TREE/build.log"
    failures=$((failures + 1))
  else
    echo "ok: no $line in $file"
  fi
  if [ -n "$kept" ]; then echo "$kept" >"$TREE/server/$file"; else rm "$TREE/server/$file"; fi
}

expect_lawful "the tree as it is"
expect_trespass core/lawful.cc '#include <uv.h>'                        # a foreign library
expect_trespass core/lawful.cc '#include <google/protobuf/message.h>'
expect_trespass core/lawful.cc '#include "telemetry/log.h"'             # against the direction
expect_trespass core/lawful.h '#include <absl/synchronization/mutex.h>' # a part of Abseil that core has no use for
expect_trespass core/unused.h '#include <spdlog/spdlog.h>'              # in a header that nobody compiles
expect_trespass config/lawful.cc '#include "telemetry/log.h"'           # from one pair of braces
expect_trespass telemetry/log.cc '#include "loop/event_loop.h"'
expect_lawful "the tree without them"

exit $((failures > 0))
