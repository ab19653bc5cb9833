#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# configuration_page.sh: prints lockkeeper.yaml(5), which is docs/reference/config.md without its table of settings, and the commented
# file instead, which says the same. Man pages have no links: their texts stay. The programs print their own pages.
set -euo pipefail

echo "'\\\" t" # man reads in the first line that tbl, which makes tables, has to run
{
  printf '# NAME\n\nlockkeeper.yaml - configuration of lockkeeperd\n\n# DESCRIPTION\n'
  # The title is that of the man page; its sections are one level higher.
  awk '/^```/ { code = !code } !code && /^# / { next } /^## Settings$/ { exit } !code { sub(/^##/, "#") } 1' docs/reference/config.md
  # shellcheck disable=SC2016  # backticks are meant
  printf '\n# SETTINGS\n\n```\n%s\n```\n' "$(tail -n +3 config/lockkeeper.yaml)"
} | lowdown -sTman --nroff-nolinks -M title=lockkeeper.yaml -M section=5 -M source=lockkeeper -M volume=lockkeeper \
  -M date="$(date --utc --date="@${SOURCE_DATE_EPOCH:?}" +%Y-%m-%d)"
