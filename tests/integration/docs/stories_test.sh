#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# stories_test.sh BUILD_DIR PACKAGES: docs/guides/stories.md. Its excerpts stand in the programs that they name, its first commands run the
# first story, and its line for crontab runs a report once. The clients' own tests run all stories. PACKAGES: see node_test.sh; without it
# this ends with 77 (skipped), when all else has passed.
# shellcheck source=tests/integration/docs/place.sh
. "$(dirname "${BASH_SOURCE[0]}")/place.sh" "$1"
readonly PAGE=docs/guides/stories.md

without_indent() { sed 's/^ *//'; }

check_excerpts() {
  local line file='' excerpt count=0
  while IFS= read -r line; do
    if [[ $line =~ ^'<!-- part of '(.*)' -->'$ ]]; then
      file=${BASH_REMATCH[1]}
    elif [ "$line" = '```js' ]; then
      [ -n "$file" ] || fail "$PAGE has an excerpt that names no program"
      excerpt=
      while IFS= read -r line && [ "$line" != '```' ]; do excerpt+=$line$'\n'; done
      excerpt=$(without_indent <<<"$excerpt")
      [[ $(without_indent <"$TOP/$file") == *"$excerpt"* ]] || fail "$file has not: $excerpt"
      file=
      count=$((count + 1))
    fi
  done <"$TOP/$PAGE"
  [ $count = 7 ] || fail "$PAGE has $count excerpts"
}

# cron_command: what cron would give to a shell. The report is a program of ours.
cron_command() {
  local line
  line=$(awk '/^```crontab/ { shown = 1; next } /^```/ { shown = 0 } shown' "$TOP/$PAGE")
  [ "${line:0:9}" = '0 0 * * *' ] || fail "$PAGE has no line for crontab"
  line=${line:9}
  line=${line//\\%/%}
  echo "${line/\/usr\/local\/bin\/report/$PLACE/report}"
}

# strike COMMAND: three clocks strike midnight, one after the other. Prints the exit codes.
strike() {
  local clock
  for clock in 1 2 3; do
    PATH=$BUILD:$PATH sh -c "$1" >"said.$clock" 2>&1 && echo 0 || echo $?
  done
}

check_crontab() {
  local command
  printf '#!/bin/sh\necho run >>"%s/runs"\n' "$PLACE" >report
  chmod +x report
  command=$(cron_command)
  [ "$(strike "$command" | xargs)" = '0 75 75' ] || fail "the replicas ended otherwise: $(cat said.*)"
  [ "$(wc -l <runs)" = 1 ] || fail 'the report did not run once'
  # Without the option it runs each time: on another date, whose lock is free.
  command=${command/--hold-at-least 1m /}
  [ "$(strike "${command/report\//control/}" | xargs)" = '0 0 0' ] || fail "the control ended otherwise: $(cat said.*)"
}

check_first_story() {
  local commands
  ln -s "$TOP/proto" .
  mkdir -p client/node
  cp -r "$TOP"/client/node/{src,examples,package.json,tsconfig.json,build.mjs} client/node
  ln -s "$1/node_modules" client/node/
  commands=$(commands 1)
  [ "$(head -n 1 <<<"$commands")" = 'npm ci --prefix client/node' ] || fail "$PAGE brings the packages by another command"
  bash -euc "$(tail -n +2 <<<"$commands")" >story.log 2>&1 || fail "the story ended with $?: $(cat story.log)"
  grep -qx 'Ada has 1 mail.' story.log || fail "the story said: $(cat story.log)"
}

check_excerpts
start_daemon --embedded --data-dir "$PLACE/data"
check_crontab
[ -e "$2/installed" ] || {
  echo "SKIPPED: ./dev test could not bring the npm packages of client/node"
  exit 77
}
check_first_story "$2"
stop_daemon
