#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check_includes.sh NINJA SOURCE_DIR BUILD_DIR OBJECT...: fails when a source of these objects includes, directly or through other
# headers, what cmake/include_law.txt does not allow to its folder. Every library and program of ours runs it as its last build step.
# Reads what the compiler said it opened (ninja keeps that), and the text of our files: a header may be
# compiled by others only, or by nobody.
set -euo pipefail

readonly NINJA=$1 SOURCE_DIR=$2 BUILD_DIR=$3
shift 3
objects=("${@#"$BUILD_DIR"/}")

# -n: only look; without it ninja might rewrite the log that the running build is writing.
# Paths are made absolute: with CCACHE_BASEDIR the compiler is told relative ones.
dependencies=$("$NINJA" -C "$BUILD_DIR" -n -t deps "${objects[@]}" | awk -v build="$BUILD_DIR/" '
  /^ninja: / { next }
  /^[ \t]/ {
    path = $1 ~ /^\// ? $1 : build $1
    while (sub(/[^\/]+\/\.\.\//, "", path)) {}
    print "    " path
    next
  }
  { print }')

# Our files among what was opened, and what lies beside them.
mapfile -t files < <(awk -v root="$SOURCE_DIR/" -v build="$BUILD_DIR/" '
  /^[ \t]/ && index($1, root) == 1 && index($1, build) != 1 { print $1; sub(/\/[^\/]*$/, "", $1); print $1 }' <<<"$dependencies" |
  sort -u | while read -r path; do
    # What is gone ninja names until it has written down what the compiler opens now.
    if [ -d "$path" ]; then find "$path" -maxdepth 1 -name '*.h'; elif [ -e "$path" ]; then echo "$path"; fi
  done | sort -u)

exec awk -v source_dir="$SOURCE_DIR/" -v build_dir="$BUILD_DIR/" -f "$SOURCE_DIR/cmake/check_includes.awk" \
  mode=law "$SOURCE_DIR/cmake/include_law.txt" mode=compiled - mode=text "${files[@]}" <<<"$dependencies"
