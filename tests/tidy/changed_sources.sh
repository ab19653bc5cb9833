#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# changed_sources.sh COMMIT: the C++ sources that clang-tidy has to read for what changed since COMMIT, in the repository of the current
# folder: each changed source, and for each changed header its own source or else one that includes it.
# tests/tidy/changed_sources_test.sh tests it.
set -euo pipefail

git diff --name-only --diff-filter=d "$1" -- '*.cc' '*.h' | while read -r file; do
  if [[ $file == *.cc ]]; then
    echo "$file"
  elif [ -f "${file%.h}.cc" ]; then
    echo "${file%.h}.cc"
  else
    # As it is included: by its name and its last folder.
    git grep -lF "$(basename "$(dirname "$file")")/$(basename "$file")\"" -- '*.cc' | head -n 1 || true
  fi
done | sort -u
