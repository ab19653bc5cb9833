#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fenced_file.sh read FILE: prints a file, if there is one, and raises its mark.
# fenced_file.sh write FILE <NEW: replaces the file by what is on standard input.
# The token is in LOCKKEEPER_FENCING_TOKEN, where `lockkeeper run` puts it. FILE.mark keeps the mark; fenced_file.py uses the same
# files. Exit codes: 0 done, 76 the token is stale and nothing was changed, 64 or 65 a wrong argument or token.
set -euo pipefail

[[ $# = 2 && $1 =~ ^(read|write)$ ]] || { echo "usage: fenced_file.sh read|write FILE" >&2 && exit 64; }
token=${LOCKKEEPER_FENCING_TOKEN:-}
[[ $token =~ ^[1-9][0-9]{0,15}$ && $token -le 9007199254740991 ]] ||
  { echo "fenced_file.sh: LOCKKEEPER_FENCING_TOKEN must be an integer from 1 to 9007199254740991" >&2 && exit 65; }
file=$(realpath -m -- "$2") # a rename would replace a link instead of the file

# replace FILE NEW: NEW takes the place of FILE, and survives a power failure.
replace() {
  sync -- "$2"
  mv -fT -- "$2" "$1"
  sync -- "$(dirname -- "$1")"
}

new=$file.$$.new
trap 'rm -f -- "$new"' EXIT
[ "$1" = read ] || cat >"$new" # before the lock: nobody waits for slow input

exec 9>>"$file.lock"
flock 9 # until this script ends
mark=0
[ ! -e "$file.mark" ] || read -r mark <"$file.mark"
((token >= mark)) || { echo "fenced_file.sh: stale: token $token is below the mark $mark of $file" >&2 && exit 76; }
if ((token > mark)); then
  echo "$token" >"$file.mark.new"
  replace "$file.mark" "$file.mark.new" # before the data: a crash between them harms nothing
fi
case $1 in
  read) [ ! -e "$file" ] || cat -- "$file" ;;
  write) replace "$file" "$new" ;;
esac
