#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build_hiredis.sh PREFIX: builds hiredis, static and with TLS, from Debian 13's source package and installs it under PREFIX.
# For Debian 12, whose own hiredis (0.14) takes no socket of ours and no function of ours that writes (docs/adr/0007-hiredis-from-debian-13.md);
# `./dev` calls it once.
# Needs apt-get, dpkg-dev, cmake, ninja, a C compiler and libssl-dev, but no root: apt works on a private configuration.
set -euo pipefail

readonly SUITE=trixie
readonly KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
readonly PREFIX=${1:?usage: build_hiredis.sh PREFIX}

fail() {
  echo "build_hiredis: $*" >&2
  exit 1
}

# The archive that this machine already uses for its own release; never written down here.
archive_uri() {
  # shellcheck disable=SC2016  # apt's own variables
  apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' 'Identifier: Packages' |
    awk -v own="$(. /etc/os-release && echo "$VERSION_CODENAME")" \
      '$1 == "Debian" && $2 == own { print $3; exit }'
}

write_apt_configuration() {
  local uri=$1
  mkdir -p "$WORK"/{lists/partial,cache/archives/partial,etc}
  echo "deb-src [signed-by=$KEYRING] $uri $SUITE main" >"$WORK/etc/sources.list"
  # APT::Sandbox::User: the unprivileged `_apt` may not be able to reach the build tree.
  cat >"$WORK/apt.conf" <<CONF
Dir::State::lists "$WORK/lists";
Dir::Cache "$WORK/cache";
Dir::Etc::sourcelist "$WORK/etc/sources.list";
Dir::Etc::sourceparts "-";
Dir::Etc::preferences "-";
Dir::Etc::preferencesparts "-";
APT::Sandbox::User "$(id -un)";
APT::Get::List-Cleanup "false";
CONF
}

fetch_source() {
  (
    cd "$WORK"
    export APT_CONFIG=$WORK/apt.conf
    apt-get update -qq -o APT::Update::Error-Mode=any ||
      fail "the package list of Debian $SUITE cannot be had or is not signed by a key in $KEYRING" \
        "(package debian-archive-keyring >= 2023.3+deb12u2 has that key)"
    apt-get source -qq hiredis >source.log 2>&1 || {
      cat source.log >&2
      fail "no source package of hiredis"
    }
  )
}

build() {
  local source
  source=$(find "$WORK" -mindepth 1 -maxdepth 1 -type d -name 'hiredis-*')
  [ -n "$source" ] || fail "the source package held no hiredis folder"
  {
    cmake -S "$source" -B "$WORK/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
      -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF \
      -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DENABLE_SSL=ON -DDISABLE_TESTS=ON &&
      cmake --build "$WORK/build" &&
      rm -rf "$PREFIX" &&
      cmake --install "$WORK/build"
  } >"$WORK/build.log" 2>&1 || {
    cat "$WORK/build.log" >&2
    fail "hiredis does not build"
  }
}

mkdir -p "$(dirname "$PREFIX")"
WORK=$(mktemp -d "$(dirname "$PREFIX")/hiredis-source.XXXXXX")
readonly WORK
trap 'rm -rf "$WORK"' EXIT

uri=$(archive_uri)
[ -n "$uri" ] || fail "apt knows no Debian archive on this machine; run 'apt-get update' first"
write_apt_configuration "$uri"
fetch_source
build
