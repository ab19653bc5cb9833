#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tour_test.sh BUILD_DIR: the tour of README.md says what it shows. Method: types its commands into one shell, against a daemon of its own,
# and compares each answer with the page, ids, tokens, durations and names of machines set aside.
# shellcheck source=tests/integration/docs/place.sh
. "$(dirname "${BASH_SOURCE[0]}")/place.sh" "$1"

# What differs from run to run; indentation too.
set_aside() {
  # shellcheck disable=SC2016
  sed -E 's/\b[0-9a-f]{32}\b/LEASE_ID/g; s/\b[0-9]{16}\b/TOKEN/g; s/\b[0-9]+(\.[0-9]+)?(ms|s|m)\b/DURATION/g; s/[^ `]+@[^ `]+/OWNER/g; s/^ +//' <<<"$1"
}

start_daemon --embedded --data-dir "$PLACE/data"

mkdir -p "$PLACE/home/build"
ln -s "$BUILD" "$PLACE/home/build/release"
cd "$PLACE/home"
coproc SHELL { exec bash 2>&1; }

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

check() {
  [ -n "$command" ] || return 0
  answer "$command" ${#shown[@]}
  local expected
  expected=$(set_aside "$(printf '%s\n' "${shown[@]}")")
  [ "$(set_aside "$ANSWER")" = "$expected" ] ||
    fail "README.md shows another answer to: $command"$'\n'"page:"$'\n'"$expected"$'\n'"here:"$'\n'"$ANSWER"
  commands=$((commands + 1))
}

commands=0
command=
shown=()
while IFS= read -r line; do
  if [[ $line == '$ '* ]]; then
    check
    command=${line#'$ '}
    shown=()
  else
    shown+=("$line")
  fi
done < <(awk '/^## A tour/ { tour = 1; next } /^## / { tour = 0 } /^```/ { inside = !inside; next } tour && inside' "$TOP/README.md")
check
[ $commands -ge 8 ] || fail "README.md has a tour of $commands commands"
echo "tour: $commands commands answer as shown"
