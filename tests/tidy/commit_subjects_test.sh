#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# commit_subjects_test.sh: a case for each rule of commit_subjects.sh, and for what looks like a breach and is none.
set -euo pipefail

HERE=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")")
readonly HERE
REPOSITORY=$(mktemp -d)
readonly REPOSITORY
trap 'rm -rf "$REPOSITORY"' EXIT
export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@localhost GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@localhost GIT_CONFIG_GLOBAL=/dev/null
cd "$REPOSITORY"
failures=0

commit() { git commit -q --allow-empty -m "$1"; }

failed() {
  echo "FAILED: $1"
  failures=$((failures + 1))
}

# breaches SUBJECT RULE: a commit with SUBJECT is reported, and RULE is part of the report.
breaches() {
  local said
  commit "$1"
  ! said=$("$HERE/commit_subjects.sh" HEAD~1) || failed "must fail: $1"
  grep -qF -- "$2" <<<"$said" || failed "'$2' not said of '$1', but: $said"
}

is_clean() {
  local said
  commit "$1"
  said=$("$HERE/commit_subjects.sh" HEAD~1) || failed "must be clean: $said"
}

git init -q
commit 'Whatever was before the rule.'

is_clean 'core: forget an offer once it is claimed'
is_clean 'redis, rpc: pass the deadline on'
is_clean 'tests/mutants: embed the seed'
is_clean 'docs: bring the glossary'
is_clean 'core: focus on what is due'
is_clean 'rpc: re-read the certificate'
is_clean "core: $(printf 'add %062d' 1)"
breaches "core: $(printf 'add %063d' 1)" 'longer than 72 characters (73)'
breaches 'core: forget an offer.' 'full stop'
breaches 'forget an offer once it is claimed' 'not of the form'
breaches 'Core: forget an offer' 'not of the form'
breaches 'core:forget an offer' 'not of the form'
breaches 'core: Forget an offer' 'no imperative'
breaches 'core: what was worked out is not worked out again' 'no imperative'
breaches 'core: an offer is forgotten' 'no imperative'
breaches 'core: added a queue' 'no imperative'
breaches 'core: adding a queue' 'no imperative'
breaches 'core: adds a queue' 'no imperative'
breaches 'core: 14 files become one' 'no imperative'

# Without a base: what came after the commit that added the rule.
mkdir -p tests/tidy
cp "$HERE/commit_subjects.sh" tests/tidy
git add tests
commit 'The commit that adds the rule'
tests/tidy/commit_subjects.sh || failed 'commits up to the rule are not judged'
commit 'added later'
! tests/tidy/commit_subjects.sh >/dev/null || failed 'commits after the rule are judged'

[ $failures -eq 0 ] && echo "commit subjects: all cases as expected"
exit $((failures > 0))
