#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# broken.sh LANGUAGE [PATCH...]: proves that the conformance suite notices. Applies each patch of broken/LANGUAGE, or these, to a copy of
# the tree below build/broken, builds the client's driver there, and plays the suite: it has to fail. LOCKKEEPERD, LOCKKEEPER and
# CLOCK_SHIM name programs that are built already; without them those of build/release are taken.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
readonly LANGUAGE=${1:?which language?}
shift
readonly COPY=$PWD/build/broken/$LANGUAGE/tree OUT=$PWD/build/broken/$LANGUAGE/out LOG=$PWD/build/broken/$LANGUAGE/log
export LOCKKEEPERD=${LOCKKEEPERD:-$PWD/build/release/lockkeeperd} LOCKKEEPER=${LOCKKEEPER:-$PWD/build/release/lockkeeper}
readonly CLOCK_SHIM=${CLOCK_SHIM:-$PWD/build/release/tests/liblockkeeper_clock_shim.so}
export LOCKKEEPER_BROKEN=1

patches=()
for name in "$@"; do patches+=("tests/conformance/broken/$LANGUAGE/$(basename -s .patch "$name").patch"); done
[ $# -gt 0 ] || patches=(tests/conformance/broken/"$LANGUAGE"/*.patch)

# The tree as git knows it, at the same place each time, so that what was built there is built again only where a patch changed it.
# rsync would do this in one call, but a bare Debian has none.
copy_tree() {
  local file
  mkdir -p "$COPY/build" "$OUT"
  (cd "$COPY" && find . -path ./build -prune -o -type f -print) | while read -r file; do
    [ -f "$file" ] || rm "$COPY/$file"
  done
  while read -r file; do
    cmp -s "$file" "$COPY/$file" || install -D -m "$(stat -c %a "$file")" "$file" "$COPY/$file"
  done < <(git ls-files --cached --others --exclude-standard)
  [ ! -d build/deps ] || ln -sfn "$PWD/build/deps" "$COPY/build/deps"
}

apply() { (cd "$COPY" && GIT_CEILING_DIRECTORIES=$(dirname "$COPY") git apply "$@"); }

# try PATCH: 0 if the suite fails for the client with this patch.
try() {
  local patch=$PWD/$1 name cases=() status=0 case
  name=$(basename -s .patch "$patch")
  while read -r case; do cases+=(--case "$case"); done < <(sed -n '1,/^--- /s/^Fails: //p' "$patch" | tr ' ' '\n')
  apply "$patch" || return 1
  if (cd "$COPY" && "client/$LANGUAGE/check.sh" "$OUT") >"$LOG" 2>&1; then
    "$COPY/tests/conformance/run.py" "$LANGUAGE" --driver "$OUT/driver" --daemon "$LOCKKEEPERD" --cli "$LOCKKEEPER" \
      --clock-shim "$CLOCK_SHIM" "${cases[@]}" >"$LOG" 2>&1 || status=$?
  else
    status=build
  fi
  apply -R "$patch"
  case $status in
    1)
      echo "found      $name: $(sed -n 's/^FAILED *\([a-z_]*\):.*/\1/p' "$LOG" | paste -sd ' ')"
      return 0
      ;;
    0) echo "NOT FOUND  $name: $(sed 1q "$patch")" ;;
    *)
      echo "NOT TRIED  $name: $status"
      tail -n 20 "$LOG"
      ;;
  esac
  return 1
}

copy_tree
found=0
for each in "${patches[@]}"; do
  if try "$each"; then found=$((found + 1)); fi
done
echo "$found of ${#patches[@]} found"
[ "$found" = ${#patches[@]} ]
