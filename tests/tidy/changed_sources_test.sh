#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# changed_sources_test.sh: changed_sources.sh names a source for everything that changed, and nothing else.
set -euo pipefail

HERE=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")")
readonly HERE
REPOSITORY=$(mktemp -d)
readonly REPOSITORY
trap 'rm -rf "$REPOSITORY"' EXIT
export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@localhost GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@localhost GIT_CONFIG_GLOBAL=/dev/null
cd "$REPOSITORY"

git init -q
mkdir -p server/core tests/unit
for name in changed same deleted with_header; do echo "int x;" >server/core/$name.cc; done
touch server/core/with_header.h server/core/header_only.h server/core/header_of_nobody.h README.md
echo '#include "core/header_only.h"' | tee tests/unit/a_test.cc tests/unit/b_test.cc >server/core/uses_other_header.cc
sed -i 's/header_only/same/' server/core/uses_other_header.cc
git add . && git commit -qm 'base: begin'
echo >>server/core/changed.cc
rm server/core/deleted.cc
for header in server/core/*.h; do echo >>"$header"; done
git commit -qam 'core: change'
echo >>README.md
echo 'int y;' >server/core/new.cc
git add . && git commit -qm 'docs: change'

expected='server/core/changed.cc
server/core/new.cc
server/core/with_header.cc
tests/unit/a_test.cc'
said=$("$HERE/changed_sources.sh" HEAD~2)
[ "$said" = "$expected" ] || {
  echo "FAILED: expected"$'\n'"$expected"$'\n'"but it said"$'\n'"$said"
  exit 1
}
[ "$("$HERE/changed_sources.sh" HEAD~1)" = server/core/new.cc ] || { echo "FAILED: changes before the base are named" && exit 1; }
echo "changed sources: as expected"
