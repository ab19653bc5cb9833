#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# docs.sh [ROOT]: the rules of the pages (*.md) that git knows below ROOT:
#   links    a relative link leads to a file, and its #part to a heading there
#   paths    a path in `backticks` that begins with a folder of the house exists (* and {a,b} are patterns, NNNN any number)
#   same     the block behind `<!-- same as FILE -->` is that file; the licence line may be left out
#   named    a page that a source file names, as in docs/concepts/fencing.md, exists
#   comments a file that a comment in C++ or Lua names exists: somewhere, in the tree or as one that the build makes
#   title    the heading that a page begins with has a space behind its #
#   reach    a page below docs/ is linked from another page
#   folder   each folder below server/ has a README.md
#   files    a file that a README below server/ names exists there, below server/ or at the root
#   may use  the first sentence of `May use` in such a README names what cmake/include_law.txt allows its folder, but not Abseil
#   may use  the first sentence of a README's `May use` names the folders that cmake/include_law.txt allows, and the libraries but Abseil
#   steps    those of life_of_a_request.md, there and back, are numbered without a gap, 20 at most, and name their thread
#   size     README.md has at most 120 lines; it and docs/ at most 100 columns but in tables, links and what a shell shows
# Prints `file:line: rule` for each breach and fails if there is one. tests/tidy/docs_test.sh has a case for each rule.
set -euo pipefail
export LC_ALL=C  # awk counts bytes

RULES=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")")/docs.awk
readonly RULES
cd "${1:-$(dirname "$RULES")/../..}"
readonly FOLDERS='proto|server|client|config|cmake|deploy|tests|docs|\.ci'
declare -A linked=()
status=0

breach() {
  echo "$1: $2"
  status=1
}

# path_exists PATTERN: true if a file or folder matches; * and {a,b} only, nothing is executed.
path_exists() {
  local pattern=$1 head rest choice tail
  if [[ $pattern == *"{"*"}"* ]]; then
    head=${pattern%%"{"*} rest=${pattern#*"{"} tail=${pattern#*"}"}
    IFS=, read -ra choices <<<"${rest%%"}"*}"
    for choice in "${choices[@]}"; do path_exists "$head$choice$tail" || return 1; done
    return 0
  fi
  compgen -G "${pattern//NNNN-*/[0-9]*}" >/dev/null
}

check_link() {
  local at=$1 target=$2 file=${1%%:*} path part
  path=${target%%#*} part=${target#"$path"} part=${part#"#"}
  if [ -z "$path" ]; then
    path=$file
  else
    path=$(realpath -m --relative-to=. "$(dirname "$file")/$path")
    linked[$path]=1
  fi
  [ -e "$path" ] || { breach "$at" "link to $target: there is no $path"; return 0; }
  [ -z "$part" ] || awk -v want=headings -f "$RULES" "$path" | grep -qxF -- "$part" ||
    breach "$at" "link to $target: $path has no heading #$part"
}

check_path() {
  local at=$1 text=$2 folder
  if [[ $text =~ ^($FOLDERS)/ ]]; then
    path_exists "$text" || breach "$at" "there is no $text"
  elif [[ $at =~ ^server/.*/README.md: && $text =~ \.(h|cc|lua|def)$ ]]; then
    for folder in "$(dirname "${at%%:*}")" server .; do ! path_exists "$folder/$text" || return 0; done
    breach "$at" "there is no $text"
  fi
}

# without_licence FILE: nor the empty line behind it.
without_licence() {
  awk 'NR == 1 && /SPDX-License-Identifier/ { licence = 1; next } NR == 2 && licence && !NF { next } 1' "$1"
}

check_same() {
  local at=$1 first last path
  read -r first last path <<<"$2"
  [ -f "$path" ] || { breach "$at" "there is no $path"; return 0; }
  sed -n "${first},${last}p" "${at%%:*}" | cmp -s - "$path" ||
    sed -n "${first},${last}p" "${at%%:*}" | cmp -s - <(without_licence "$path") || breach "$at" "the block is not the same as $path"
}

mapfile -t pages < <(git ls-files --cached --others --exclude-standard '*.md' ':!:proto/google/*')
[ ${#pages[@]} -gt 0 ] || exit 0

while IFS=$'\t' read -r kind at text; do
  case $kind in
    link) check_link "$at" "$text" ;;
    path) check_path "$at" "$text" ;;
    same) check_same "$at" "$text" ;;
    breach) breach "$at" "$text" ;;
  esac
done < <(awk -v want=facts -f "$RULES" "${pages[@]}")

while IFS=: read -r file line page; do
  [ -e "$page" ] || breach "$file:$line" "there is no $page"
done < <(git grep --untracked -InoE 'docs/[a-z0-9_/]+\.md' -- ':!*.md' ':!tests/tidy/*' || true)

readonly GENERATED='scripts.h scripts.cc record_columns.h marker_columns.h duration.proto'
while IFS=$'\t' read -r at name; do
  breach "$at" "there is no $name"
done < <(git grep --untracked -InoE '^ *(//|--) .*' -- '*.cc' '*.h' '*.lua' | awk -v generated="$GENERATED" '
  BEGIN {
    while (("git ls-files --cached --others --exclude-standard" | getline file) > 0) { sub(/.*\//, "", file); known[file] = 1 }
    split(generated, names, " ")
    for (i in names) known[names[i]] = 1
  }
  {
    match($0, /^[^:]*:[0-9]*/)
    at = substr($0, 1, RLENGTH)
    rest = substr($0, RLENGTH + 2)
    while (match(rest, /[A-Za-z_][A-Za-z0-9_\/.]*\.(h|cc|lua|md|proto)/)) {
      name = substr(rest, RSTART, RLENGTH)
      rest = substr(rest, RSTART + RLENGTH)
      sub(/.*\//, "", name)
      if (rest !~ /^[A-Za-z0-9_(]/ && !(name in known)) print at "\t" name
    }
  }' || true)

for page in "${pages[@]}"; do
  IFS= read -r title <"$page" || true
  [[ $title != "#"[!#\ ]* ]] || breach "$page:1" "a space follows the # of a heading"
  [[ $page != docs/* ]] || [ -n "${linked[$page]:-}" ] || breach "$page:1" "no page leads here"
done

while read -r folder; do
  [ -f "$folder/README.md" ] || breach "$folder/README.md:1" "each folder says what it is for"
done < <(git ls-files --cached --others --exclude-standard 'server/*/*' | sed 's|/[^/]*$||' | sort -u)

# may_use README: its first sentence on what the folder may use, on one line.
may_use() {
  awk '/^- /{ on = /^- May use:/ } on' "$1" | tr '\n' ' ' | sed 's/\. .*//'
}

while IFS='|' read -r folder folders libraries; do
  folder=${folder%% *} readme=${folder%/}/README.md
  [[ $folder == server/* && $folders != *"*"* && -f $readme ]] || continue
  sentence=$(may_use "$readme")
  # shellcheck disable=SC2016  # backticks are meant
  named=$({ grep -oE '`server/[a-z/]+`' <<<"$sentence" || true; } | tr -d '`' | sort | xargs)
  allowed=$(tr ' ' '\n' <<<"$folders" | sed '/^$/d; s|/$||' | sort | xargs)
  [ "$named" = "$allowed" ] || breach "$readme:1" "\`May use\` names [$named], cmake/include_law.txt [$allowed]"
  for library in $libraries; do
    # One name stands for gRPC with protobuf, and for spdlog with fmt; what the build generates is ours.
    case $library in absl* | grpc?* | google | fmt | lockkeeper_*) continue ;; esac
    grep -qiF -- "$library" <<<"$sentence" || breach "$readme:1" "\`May use\` does not name $library of cmake/include_law.txt"
  done
done < <(cat cmake/include_law.txt 2>/dev/null || true)

exit $status
