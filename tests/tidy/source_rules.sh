#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# source_rules.sh [ROOT]: the rules of CONTRIBUTING.md that a look at the text can check, over the files that git knows below ROOT.
# Prints `file:line: rule` for each breach and fails if there is one. tests/tidy/source_rules_test.sh has a case for each rule.
set -euo pipefail

RULES=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")")/source_rules.awk
readonly RULES
cd "${1:-$(dirname "$RULES")/../..}"
status=0

# Files that carry the SPDX line: all that have comments, but for what is other people's (proto/google, proto/grpc).
mapfile -t sources < <(git ls-files --cached --others --exclude-standard \
  '*.cc' '*.h' '*.proto' '*.lua' '*.sh' '*.awk' '*.cmake' '*CMakeLists.txt' dev .ci/run ':!:proto/google/*' ':!:proto/grpc/*')
[ ${#sources[@]} -eq 0 ] || awk -f "$RULES" "${sources[@]}" || status=1

while read -r file; do
  if [ -f "$file" ] && [ "$(stat -c %s "$file")" -gt 200000 ]; then
    echo "$file:1: larger than 200 kB"
    status=1
  fi
done < <(git ls-files --cached --others --exclude-standard)

exit $status
