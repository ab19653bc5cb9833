#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# docs_test.sh: a case for each rule of docs.sh, and for what looks like a breach and is none.
set -euo pipefail
shopt -s lastpipe  # so that a case behind a pipe counts its failure

HERE=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")")
readonly HERE
TREE=$(mktemp -d)
readonly TREE
trap 'rm -rf "$TREE"' EXIT
failures=0

# tell FILE: what docs.sh says of a tree with a few other files and FILE, whose text is on standard input.
tell() {
  find "$TREE" -mindepth 1 -delete
  mkdir -p "$TREE/cmake" "$TREE/docs/concepts" "$TREE"/server/{core,os,rpc} "$TREE/$(dirname "$1")"
  echo 'server/loop/ | server/core/ server/os/ | absl uv lockkeeper_proto' >"$TREE/cmake/include_law.txt"
  # shellcheck disable=SC2016
  printf '# Other\n\n## A part: with `code` & more\n' >"$TREE/other.md"
  printf '# SPDX-License-Identifier: Apache-2.0\n\necho\n' >"$TREE/licensed.sh"
  touch "$TREE/server/core/types.h" "$TREE/server/core/types.cc" "$TREE/server/core/README.md"
  cat >"$TREE/$1"
  git -C "$TREE" init -q
  "$HERE/docs.sh" "$TREE" || true
}

expect_breach() {
  local file=$1 line=$2 rule=$3 said
  said=$(tell "$file")
  if ! grep -F "$file:$line:" <<<"$said" | grep -qF -- "$rule"; then
    echo "FAILED: '$rule' not said of $file:$line, but: $said"
    failures=$((failures + 1))
  fi
}

expect_clean() {
  local said
  said=$(tell "$1")
  [ -z "$said" ] || {
    echo "FAILED: must be clean: $said"
    failures=$((failures + 1))
  }
}

# shellcheck disable=SC2016  # backticks are meant, in all that follows
page_breaches() { printf '%s\n' "$2" | expect_breach "$1" 1 "$3"; }
page_is_clean() { printf '%s\n' "$2" | expect_clean "$1"; }

page_breaches README.md '[x](missing.md)' 'there is no missing.md'
page_breaches README.md '[x](other.md) [y](docs/missing.md#part)' 'there is no docs/missing.md'
page_breaches README.md '[x](other.md#no-part)' 'no heading #no-part'
page_is_clean README.md '[x](other.md#a-part-with-code--more)'
page_is_clean README.md '[x](https://example.org/missing.md)'
page_breaches README.md '[x](#elsewhere)' 'no heading #elsewhere'
printf '# Here it is\n\n[x](#here-it-is)\n' | expect_clean README.md
# shellcheck disable=SC2016
printf '```\n[x](missing.md) `server/missing.h`\n# Here\n```\n' | expect_clean README.md
# shellcheck disable=SC2016
printf '```\n# Here\n```\n[x](#here)\n' | expect_breach README.md 4 'no heading #here'

# shellcheck disable=SC2016
{
  page_breaches README.md 'See `server/core/missing.h`.' 'there is no server/core/missing.h'
  page_breaches README.md 'See `server/core/types.{h,lua}`.' 'there is no server/core/types.{h,lua}'
  page_is_clean README.md 'See `server/core/types.{h,cc}`, `server/core/` and `server/*/types.h`.'
  page_is_clean README.md 'Not paths: `core/missing.h`, `cat server/missing.h`, `and/or`.'
}

# shellcheck disable=SC2016
{
  page_breaches server/core/README.md 'Start with `missing.h`.' 'there is no missing.h'
  page_is_clean server/core/README.md 'Start with `types.h`, `core/types.cc`, `other.md`, `x.y`.'
  page_is_clean client/README.md 'Of no folder in particular: `missing.h`.'
}
# shellcheck disable=SC2016
{
  page_is_clean server/loop/README.md '- May use: `server/os`, `server/core`, libuv. Not `server/rpc`.'
  printf '%s\n' '- May use: `server/core`, libuv,' '  `server/os`.' '- Not `server/rpc`.' | expect_clean server/loop/README.md
  page_breaches server/loop/README.md '- May use: `server/core`, libuv. Not `server/os`.' 'names [server/core], cmake/include_law.txt [server/core server/os]'
  page_breaches server/loop/README.md '- May use: `server/core`, `server/os`, `server/rpc`, libuv.' 'names [server/core server/os server/rpc]'
  page_breaches server/loop/README.md '- May use: `server/core`, `server/os`.' 'does not name uv'
  page_breaches server/loop/README.md '# The loop' 'names []'
}
said=$(tell server/redis/node/node.h <<<'// No README beside it.')
grep -qF 'server/redis/node/README.md:1: each folder says what it is for' <<<"$said" || {
  echo "FAILED: a folder without README.md must be told, but: $said"
  failures=$((failures + 1))
}

page_breaches docs/concepts/lonely.md '# Lonely' 'no page leads here'
page_is_clean client/notes.md '# Need not be linked'

# shellcheck disable=SC2016
{
  same='<!-- same as other.md -->\n```\n# Other\n\n## A part: with `code` & more\n%b```\n'
  # shellcheck disable=SC2059
  printf "$same" '' | expect_clean README.md
  # shellcheck disable=SC2059
  printf "$same" 'x\n' | expect_breach README.md 7 'not the same as other.md'
  printf '<!-- same as missing.md -->\n```\n```\n' | expect_breach README.md 3 'there is no missing.md'
  printf '```\nx\n```\n' | expect_clean README.md
  printf '<!-- same as licensed.sh -->\n```\necho\n```\n' | expect_clean README.md
  printf '<!-- same as licensed.sh -->\n```\necho more\n```\n' | expect_breach README.md 4 'not the same as licensed.sh'
}

printf '// See docs/concepts/missing.md.\n' | expect_breach server/a.h 1 'there is no docs/concepts/missing.md'

printf '// As missing.h says.\n' | expect_breach server/a.h 1 'there is no missing.h'
printf -- '-- As core/types.h and redis/scripts.h say.\n' | expect_clean server/a.lua

# Two steps and what follows them; $1: the second one.
life() { printf '## In\n\n| step | file | what happens | thread |\n| 1 | a | b | loop |\n## And back\n%s\n## Else\n| 1 | a |\n' "$1"; }
life '| 2 | a | b | loop |' | expect_clean client/life_of_a_request.md
life '| 3 | a | b | loop |' | expect_breach client/life_of_a_request.md 6 'a step needs the next number'
life '| 2 | a | b |  |' | expect_breach client/life_of_a_request.md 6 'a step needs the next number'
{ echo '## In'; for ((i = 1; i <= 21; i++)); do echo "| $i | a | b | loop |"; done; } |
  expect_breach client/life_of_a_request.md 22 'at most 20'

page_breaches README.md '#Title' 'a space follows'

long=$(printf 'x%.0s' {1..101})
page_breaches README.md "$long" 'longer than 100 columns'
page_is_clean README.md "${long:1}"
page_is_clean README.md "| $long |"
# shellcheck disable=SC2016
{
  printf '```\n$ command\n%s\n```\n' "$long" | expect_clean README.md
  printf '```\n%s\n```\n' "$long" | expect_breach README.md 2 'longer than 100 columns'
  printf '```\n$ command\n```\n```\n%s\n```\n' "$long" | expect_breach README.md 5 'longer than 100 columns'
}
page_is_clean README.md "$(printf 'é%.0s' {1..100})"
page_is_clean CONTRIBUTING.md "$long"
for ((i = 0; i < 120; i++)); do echo; done | expect_clean README.md
for ((i = 0; i < 121; i++)); do echo; done | expect_breach README.md 121 'longer than 120 lines'

# A page that is linked from elsewhere is reached.
printf '[x](docs/concepts/linked.md)\n' | tell README.md >/dev/null
echo '# Linked' >"$TREE/docs/concepts/linked.md"
said=$("$HERE/docs.sh" "$TREE") || true
[ -z "$said" ] || {
  echo "FAILED: a linked page must be clean: $said"
  failures=$((failures + 1))
}

[ $failures -eq 0 ] && echo "docs: all cases as expected"
exit $((failures > 0))
