#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# commit_subjects.sh [BASE]: checks the subjects of the commits after BASE, in the repository of the current folder. Without BASE those after the
# commit that added this file. A clone may be shallow: then the commits that it has. The rule, which CONTRIBUTING.md explains:
#   `area: do what is meant`: at most 72 characters, no full stop, first word after the colon a lower-case imperative.
# No list of words can know an imperative; this one refuses what certainly is none: articles, numbers, forms in -ed, -ing and -s.
# tests/tidy/commit_subjects_test.sh has a case for each rule.
set -euo pipefail

readonly NO_VERB=' a an the this that these those it its we our you they who whoever what which when where why how if no not nor nothing one two
  three four five both all each every everybody nobody some any more less fewer many only also now then there here in on at of for from by with without
  small new old better is are was were has had does did must can may will should '
readonly LIKE_ED=' need feed embed speed shed seed bleed breed heed proceed exceed succeed wed '
readonly LIKE_ING=' bring ring sing string swing cling fling sting ping '
readonly LIKE_S=' focus bias alias '

# what_is_wrong SUBJECT: prints what is wrong with it, if anything.
what_is_wrong() {
  local subject=$1 word
  [ ${#subject} -le 72 ] || echo "longer than 72 characters (${#subject})"
  [[ $subject != *. ]] || echo "ends in a full stop"
  [[ $subject =~ ^[a-z][a-z0-9_/,\ -]*:\ ([^ ].*)$ ]] || { echo "not of the form \`area: do something\`"; return; }
  word=${BASH_REMATCH[1]%% *}
  if [[ ! $word =~ ^[a-z]+(-[a-z]+)*$ || ${NO_VERB//$'\n'/ } == *" $word "* ]] ||
    [[ $word == *ed && $LIKE_ED != *" $word "* ]] ||
    [[ $word == *ing && $LIKE_ING != *" $word "* ]] ||
    [[ $word == *[^s]s && $LIKE_S != *" $word "* ]]; then
    echo "\`$word\` is no imperative: say what the commit does, as in \`add\` or \`reject\`"
  fi
}

base=${1:-$(git log --diff-filter=A --format=%H -- tests/tidy/commit_subjects.sh | tail -n 1)}
status=0
while IFS=$'\t' read -r commit subject; do
  while read -r problem; do
    echo "commit $commit: $problem: $subject"
    status=1
  done < <(what_is_wrong "$subject")
done < <(git log --no-merges --format='%h%x09%s' ${base:+"$base..HEAD"})
exit $status
