#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh [--schedules N] [--compare R] [NAME...]: proves that the simulator notices. Each *.patch here breaks one promise of the service,
# which its first line says. This applies one after the other to a copy of the tree below build/mutants, builds the simulator there and
# runs up to N schedules (default 10000) until a violation. A promise that is out of the simulator's reach has a second line,
# `Found by: TARGET TEST...`: then these tests have to fail. One that shows only with one store has a second line `Store: redis|memory`,
# see `simulate --store`. Prints what became of each; the last line is `K of N found`. Fails unless all
# were found; a patch that does not apply is not found. NAME: only these. --compare: instead, says how many schedules a find takes drawn
# evenly and by searches, the median of R seeds each.
set -euo pipefail

HERE=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")")
ROOT=$(readlink -f "$HERE/../..")
readonly HERE ROOT TREE=$ROOT/build/mutants/tree LOGS=$ROOT/build/mutants/logs
readonly RUN_SECONDS=900

schedules=10000
repeats=0
while [[ ${1:-} = --* ]]; do
  case $1 in
    --schedules) schedules=$2 ;;
    --compare) repeats=$2 ;;
    *) echo "run.sh: no such option: $1" >&2 && exit 2 ;;
  esac
  shift 2
done
if [ $# -gt 0 ]; then
  patches=("${@/#/$HERE/}")
  patches=("${patches[@]/%/.patch}")
else
  patches=("$HERE"/*.patch)
fi

# The files that git knows, as they are now; unchanged ones keep their times, so that little is built again.
copy_tree() {
  mkdir -p "$TREE/build" "$LOGS"
  ln -sfn "$ROOT/build/deps" "$TREE/build/deps"
  local file
  (cd "$TREE" && find . -path ./build -prune -o -type f -print) | while read -r file; do
    [ -f "$ROOT/$file" ] || rm "$TREE/$file"
  done
  (cd "$ROOT" && git ls-files --cached --others --exclude-standard) | while read -r file; do
    if [ -f "$ROOT/$file" ] && ! cmp -s "$ROOT/$file" "$TREE/$file"; then
      mkdir -p "$TREE/$(dirname "$file")"
      cp -p "$ROOT/$file" "$TREE/$file" && touch "$TREE/$file"
    fi
  done
}

# build TARGET: the same flags and, seen from the build folder, the same paths as in build/release: ccache knows most of it already.
build() {
  export CCACHE_BASEDIR=$TREE CCACHE_NOHASHDIR=1
  if [ ! -f "$TREE/build/release/build.ninja" ]; then
    (cd "$TREE" && cmake --preset release) >"$LOGS/configure" || {
      cat "$LOGS/configure"
      exit 1
    }
  fi
  cmake --build "$TREE/build/release" --target "$1" >"$LOGS/build" 2>&1
}

# Not in the repository that the copy lies in.
apply() { (cd "$TREE" && GIT_CEILING_DIRECTORIES=$ROOT/build/mutants git apply "$@"); }

# simulate_until_found LOG OPTION...: runs the mutant's simulator.
simulate_until_found() {
  local log=$1
  shift
  timeout "$RUN_SECONDS" "$TREE/build/release/simulate" --no-regression --schedules "$schedules" --failures 1 "$@" >"$log" 2>&1 || true
}

# schedules_of LOG: how many schedules that took; empty if there was no violation.
schedules_of() {
  ! grep -q '^  violation: ' "$1" || sed -n 's/^\([0-9]*\) schedules, .*/\1/p' "$1"
}

# median_of NAME OPTION...: how many schedules a find takes, the median over some seeds.
median_of() {
  local repeat log=$LOGS/$1
  shift
  for ((repeat = 1; repeat <= repeats; ++repeat)); do
    simulate_until_found "$log" "$@" --jobs 1 --seed "${repeat}00000000"
    schedules_of "$log" | grep . || echo $((schedules + 1))
  done | sort -n | sed -n "$(((repeats + 1) / 2))p"
}

# try_tests NAME TARGET TEST...: whether each of these tests fails.
try_tests() {
  local name=$1 program test
  program=$TREE/build/release/tests/$2
  shift 2
  for test in "$@"; do
    if timeout "$RUN_SECONDS" "$program" --gtest_filter="$test" >"$LOGS/$name" 2>&1 || ! grep -q "^\[  FAILED  \] $test" "$LOGS/$name"; then
      echo "NOT FOUND  $name: $test does not fail"
      return 1
    fi
  done
  echo "found      $name: by $*"
}

# Says of one mutant whether it was found, and by what.
try() {
  local patch=$1 name tests store
  name=$(basename "$patch" .patch)
  read -ra tests < <(sed -n '2s/^Found by: //p' "$patch")
  read -ra store < <(sed -n '2s/^Store: /--store /p' "$patch")
  if ! apply "$patch" 2>"$LOGS/apply"; then
    echo "NOT FOUND  $name: the patch does not apply"
    return 1
  fi
  local status=0
  if ! build "${tests[0]:-simulate}"; then
    status=1
    echo "NOT FOUND  $name: does not build, see $LOGS/build"
  elif [ ${#tests[@]} -gt 0 ]; then
    try_tests "$name" "${tests[@]}" || status=1
  elif [ "$repeats" -gt 0 ]; then
    echo "$name: $(median_of "$name" --even "${store[@]}") schedules drawn evenly, $(median_of "$name" "${store[@]}") by searches"
  else
    simulate_until_found "$LOGS/$name" --seed 1 "${store[@]}"
    if grep -q '^  violation: ' "$LOGS/$name"; then
      echo "found      $name: after $(schedules_of "$LOGS/$name") schedules:$(sed -n 's/^  violation://p' "$LOGS/$name" | head -1)"
    else
      status=1
      echo "NOT FOUND  $name: $(tail -1 "$LOGS/$name")"
    fi
  fi
  apply -R "$patch"
  return $status
}

copy_tree
build simulate || {
  tail -30 "$LOGS/build"
  exit 1
}
found=0
for patch in "${patches[@]}"; do
  if try "$patch"; then found=$((found + 1)); fi
done
echo "$found of ${#patches[@]} found"
[ "$found" = ${#patches[@]} ]
