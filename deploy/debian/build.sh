#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh OUT [--prefix FOLDER] [--built BUILD_TREE]: makes the Debian packages of this source tree in the folder OUT, for the
# Debian that it runs on. `./dev package` installs what it needs, and calls it.
#   --prefix   where libraries are that Debian does not have
#   --built    packs the programs of a finished build tree of these sources, instead of compiling what is committed (for tests: they lack the
#              options that dpkg-buildflags adds)
# Beside them a list of what is in them (sbom.sh), and an archive for other Linuxes (deploy/archive/build.sh).
# The same commit makes the same packages, bit by bit, in whatever folder.
set -euo pipefail

ROOT=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../..")
readonly ROOT

fail() {
  echo "build.sh: $*" >&2
  exit 1
}

# Sorts as the releases do: 0.1.0~dev... and 0.1.0~rc1 before 0.1.0 before 0.1.0+5..., and that of Debian 12 before that of Debian 13.
debian_version() {
  local tag behind='' project
  tag=$(git -C "$ROOT" describe --tags --match 'v[0-9]*' 2>/dev/null) || tag=''
  if [[ $tag =~ ^(.*)-([0-9]+)-(g[0-9a-f]+)$ ]]; then
    tag=${BASH_REMATCH[1]}
    behind=+${BASH_REMATCH[2]}.${BASH_REMATCH[3]}
  elif [ -z "$tag" ]; then
    project=$(sed -n 's/^project(lockkeeper VERSION \([0-9.]*\) .*/\1/p' "$ROOT/CMakeLists.txt")
    tag=v$project-dev$(git -C "$ROOT" log -1 --date=format-local:%Y%m%d%H%M%S --format=%cd).$(git -C "$ROOT" rev-parse --short=8 HEAD)
  fi
  tag=${tag#v}
  echo "${tag//-/\~}$behind-1+deb$(. /etc/os-release && echo "${VERSION_ID%%.*}")"
}

# The sources that the packages are made of, in a folder of its own, because that of a Debian package has to have debian/ on top.
stage() {
  rm -rf "$out/source"
  if [ -n "$built" ]; then
    mkdir "$out/source"
    git -C "$ROOT" ls-files -z --cached --others --exclude-standard |
      tar -C "$ROOT" --null --ignore-failed-read -cf - -T - 2>/dev/null | tar -C "$out/source" -xf -
  else
    # With its history, which says what the programs call themselves.
    git -C "$ROOT" diff --quiet HEAD || fail "packages are made of a commit, and there are changes that are not committed: git status"
    git clone --quiet --no-local "$ROOT" "$out/source"
  fi
  cp -r "$out/source/deploy/debian" "$out/source/debian"
}

write_changelog() {
  local maintainer
  maintainer=$(sed -n 's/^Maintainer: //p' "$out/source/debian/control")
  cat >"$out/source/debian/changelog" <<CHANGELOG
lockkeeper ($version) unstable; urgency=medium

  * What is new stands in changelog.gz beside this file.

 -- $maintainer  $(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")
CHANGELOG
}

# In a function, so that the whole is read before it runs: somebody may work on these files meanwhile.
main() {
  local jobs packages
  out=${1:?usage: build.sh OUT [--prefix FOLDER] [--built BUILD_TREE]}
  shift
  prefix='' built=''
  while [ $# -gt 0 ]; do
    case $1 in
      --prefix) prefix=$(readlink -f "$2") ;;
      --built) built=$(readlink -f "$2") ;;
      *) fail "unknown argument: $1" ;;
    esac
    shift 2
  done
  mkdir -p "$out"
  out=$(readlink -f "$out")

  export LC_ALL=C.UTF-8 TZ=UTC
  umask 022
  SOURCE_DATE_EPOCH=$(git -C "$ROOT" log -1 --format=%ct)
  export SOURCE_DATE_EPOCH
  version=$(debian_version)
  stage
  write_changelog

  jobs=$(nproc)
  export DEB_BUILD_OPTIONS="nocheck parallel=$jobs${built:+ noautodbgsym}"
  cd "$out/source"
  # Without a look at the build dependencies: hiredis of Debian 12 is not the one that is used.
  LOCKKEEPER_BUILT=$built LOCKKEEPER_PREFIX=$prefix dpkg-buildpackage --build=binary --no-sign --no-check-builddeps >"$out/build.log" 2>&1 || {
    tail -n 100 "$out/build.log" >&2
    fail "the packages cannot be built; the whole log is $out/build.log"
  }
  cd "$out"
  packages=({liblockkeeper-dev,lockkeeper,lockkeeper-server}_"$version"_*.deb)
  source/deploy/debian/sbom.sh "${built:-$out/source/obj}" "${packages[@]}" >"lockkeeper_$version.spdx.json"
  source/deploy/archive/build.sh "$out"
}

main "$@"; exit
