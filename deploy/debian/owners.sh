#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# owners.sh <FILES: the Debian packages that the files are from, one a line: `name version architecture`. A file that is no package's counts for
# nothing. One look at all lists of dpkg, because its own search takes seconds for each hundred of files.
set -euo pipefail
export LC_ALL=C

wanted=$(mktemp)
trap 'rm -f "$wanted"' EXIT
cat >"$wanted"

# Paths count without /usr: Debian 12 and before name some files with it and some without, whatever links there are.
# shellcheck disable=SC2016  # dpkg's own variables
awk '{ sub(/^\/usr\//, "/") }
  FILENAME == ARGV[1] { wanted[$0]; next }
  FNR == 1 { name = FILENAME; sub(/.*\//, "", name); sub(/(:[^:]*)?\.list$/, "", name) }
  $0 in wanted { print name }' "$wanted" /var/lib/dpkg/info/*.list |
  sort -u | xargs -r dpkg-query --show --showformat '${Package} ${Version} ${Architecture}\n' | sort -u
