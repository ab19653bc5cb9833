#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# man_test.sh BUILD_DIR: the manual pages that the programs print have each command, option and setting, and groff warns of nothing.
set -euo pipefail

PATH=$(readlink -f "$1"):$PATH

fail() {
  echo "FAILED: $*"
  exit 1
}

command -v groff >/dev/null || {
  echo "SKIPPED: groff is not installed"
  exit 77
}

# page PROGRAM ARGUMENT: its page as text, on one line.
page() {
  local problems text
  problems=$("$@" | groff -man -ww -Wbreak -Tascii -z 2>&1) || fail "groff does not read the page of $1: $problems"
  [ -z "$problems" ] || fail "groff warns of the page of $1: $problems"
  text=$("$@" | groff -man -Tascii -P-cbou -rLL=400n -rHY=0) || fail "groff does not write the page of $1"
  [ -n "$text" ] || fail "the page of $1 is empty"
  printf '%s' "$text" | tr -s ' \n' ' '
}

# has WORD PAGE
has() { [[ $2 == *"$1"* ]] || fail "the page does not have: $1"; }

text=$(page lockkeeper man)
commands=$(lockkeeper --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
for command in $commands; do
  has " $command " "$text"
  for option in $(lockkeeper "$command" --help | sed -n 's/^  \(--[a-z-]*\).*/\1/p'); do has "$option" "$text"; done
done
has "LOCKKEEPER_SERVER the same as --server ADDRESS" "$text"
has "EXIT STATUS" "$text"

text=$(page lockkeeperd --man-page)
for option in $(lockkeeperd --help | sed -n 's/^  \(--[a-z-]*\).*/\1/p'); do has "$option" "$text"; done
has "store.request_timeout (LOCKKEEPERD_STORE_REQUEST_TIMEOUT)" "$text"
has "default: 1s" "$text"
