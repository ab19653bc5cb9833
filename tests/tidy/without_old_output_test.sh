#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# without_old_output_test.sh: cmake/without_old_output.sh lets ccache make a precompiled header of what its headers say now. Method: the
# header changes twice, each time with the precompiled header of before in its place; by itself ccache answers the second time with what
# it made the first time.
set -euo pipefail

command -v ccache >/dev/null || { echo "there is no ccache" && exit 77; }
readonly MAKE_PRECOMPILED=$PWD/cmake/without_old_output.sh
PLACE=$(mktemp -d)
trap 'rm -rf "$PLACE"' EXIT
cd "$PLACE"
export CCACHE_DIR=$PLACE/ccache CCACHE_SLOPPINESS=pch_defines,time_macros
unset CCACHE_DISABLE

# precompile MEMBER: the header is about a struct with this member only.
precompile() {
  echo "struct Thing { int $1; };" >thing.h
  "$MAKE_PRECOMPILED" ccache g++ -x c++-header -include "$PLACE/all.hxx" -o all.hxx.gch -c all.hxx.cxx
}

echo "#include \"$PLACE/thing.h\"" >all.hxx
touch all.hxx.cxx
precompile first
cp all.hxx.gch first.gch
precompile second
cp first.gch all.hxx.gch
precompile third
echo 'int Third(Thing thing) { return thing.third; }' >use.cc
g++ -include all.hxx -c use.cc || { echo "the precompiled header is not of what the header says" && exit 1; }
