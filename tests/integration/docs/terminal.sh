#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# terminal.sh BUILD_DIR: sourced by the tests of pages that show a terminal, commands after `$ ` and their answers below them. Types the
# commands into one shell and compares each answer with the page, ids, tokens, durations and names of machines set aside.
# shellcheck source=tests/integration/docs/place.sh
. "$(dirname "${BASH_SOURCE[0]}")/place.sh" "$1"

# What differs from run to run; indentation too.
set_aside() {
  # shellcheck disable=SC2016
  sed -E 's/\b[0-9a-f]{32}\b/LEASE_ID/g; s/\b[0-9]{16}\b/TOKEN/g; s/\b[0-9]+(\.[0-9]+)?(ms|s|m)\b/DURATION/g; s/[^ `]+@[^ `]+/OWNER/g; s/^ +//' <<<"$1"
}

# answer COMMAND LINES: what the shell says to the command: up to its end, and until there are so many lines.
answer() {
  local ended='' said=() line
  # shellcheck disable=SC2016
  printf '%s\n{ status=$?; echo end-of-command; (exit $status); }\n' "$1" >&"${SHELL[1]}"
  while [ -z "$ended" ] || [ ${#said[@]} -lt "$2" ]; do
    read -r -t 60 line <&"${SHELL[0]}" || fail "no answer to: $1"
    case $line in
      end-of-command) ended=yes ;;
      bash:*Killed*) ;;  # What a shell says of a job, each in its own way.
      *) said+=("$line") ;;
    esac
  done
  ANSWER=$(printf '%s\n' "${said[@]}")
}

is_whole() { [[ $1 != *\\ ]] && bash -n <<<"$1" 2>/dev/null; }

check() {
  [ -n "$command" ] || return 0
  answer "$command" ${#shown[@]}
  local expected
  expected=$(set_aside "$(printf '%s\n' "${shown[@]}")")
  [ "$(set_aside "$ANSWER")" = "$expected" ] ||
    fail "$PAGE shows another answer to: $command"$'\n'"page:"$'\n'"$expected"$'\n'"here:"$'\n'"$ANSWER"
  commands=$((commands + 1))
}

# type_page PAGE SECTION: types what the blocks of the page show from the heading SECTION to the next one of its level, in a folder of
# its own. COMMANDS is how many that were.
type_page() {
  local PAGE=$1 command='' commands=0 line
  local shown=()
  mkdir -p "$PLACE/home/build"
  ln -s "$BUILD" "$PLACE/home/build/release"
  cd "$PLACE/home"
  coproc SHELL { exec bash 2>&1; }
  while IFS= read -r line; do
    if [[ $line == '$ '* ]]; then
      check
      command=${line#'$ '}
      shown=()
    elif ! is_whole "$command"; then
      command+=$'\n'$line
    else
      shown+=("$line")
    fi
  done < <(awk -v from="$2" '
    BEGIN { match(from, /^#+/); level = RLENGTH }
    !inside && $0 == from { typed = 1; next }
    !inside && match($0, /^#+ /) && RLENGTH - 1 <= level { typed = 0 }
    /^```/ { inside = !inside; next }
    typed && inside' "$TOP/$PAGE")
  check
  # shellcheck disable=SC2034  # for those who source it
  COMMANDS=$commands
}
