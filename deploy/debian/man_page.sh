#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# man_page.sh NAME SECTION WHAT PAGE [FILE]: prints the page of docs/ as a man page, and FILE, which it describes, as its end. Of a page that
# ends with a table of what FILE says too, the table is left out. Man pages have no links: their texts stay.
set -euo pipefail

readonly NAME=$1 SECTION=$2 WHAT=$3 PAGE=$4 FILE=${5:-}

echo "'\\\" t" # man reads in the first line that tbl, which makes tables, has to run
{
  printf '# NAME\n\n%s - %s\n\n# DESCRIPTION\n' "$NAME" "$WHAT"
  # The title is that of the man page; its sections are one level higher.
  awk -v file="$FILE" '/^```/ { code = !code } !code && /^# / { next } file != "" && /^## Settings$/ { exit } !code { sub(/^##/, "#") } 1' "$PAGE"
  if [ -n "$FILE" ]; then
    # shellcheck disable=SC2016  # backticks are meant
    printf '\n# SETTINGS\n\n```\n%s\n```\n' "$(tail -n +3 "$FILE")"
  fi
} | lowdown -sTman --nroff-nolinks -M title="$NAME" -M section="$SECTION" -M source=lockkeeper -M volume=lockkeeper \
  -M date="$(date --utc --date="@${SOURCE_DATE_EPOCH:?}" +%Y-%m-%d)"
