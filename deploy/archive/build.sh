#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh FOLDER: makes an archive for Linuxes without packages from the Debian packages in FOLDER, beside them: the programs, with the shared
# libraries that they load, but for those of glibc, which has to be that of this machine or a later one. The programs find them by $ORIGIN, wherever
# the archive is unpacked. Needs patchelf. The same packages make the same archive, bit by bit, on the same release of Debian.
set -euo pipefail
export LC_ALL=C
umask 022

OWNERS=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../debian/owners.sh
readonly OWNERS
cd "$1"
version=$(dpkg-deb --field lockkeeper_*.deb Version)
version=${version%-*} # what follows is Debian's
name=lockkeeper-$version-linux-$(uname -m)

PLACE=$(mktemp -d)
readonly PLACE
trap 'rm -rf "$PLACE"' EXIT
readonly TOP=$PLACE/$name

for package in lockkeeper lockkeeper-server; do
  dpkg-deb --extract "$package"_*.deb "$PLACE/debian"
done
mkdir -p "$TOP"/{bin,lib,share,licenses}
cp "$PLACE"/debian/usr/bin/* "$TOP/bin"
cp -r "$PLACE"/debian/usr/share/{man,bash-completion,zsh,fish} "$TOP/share"
cp "$PLACE/debian/etc/lockkeeper/lockkeeper.yaml" "$TOP/lockkeeper.yaml"
cp "$PLACE/debian/usr/share/doc/lockkeeper/copyright" "$TOP/licenses/lockkeeper"
cp /usr/share/common-licenses/Apache-2.0 "$TOP/licenses/Apache-2.0"

glibc=$(dpkg-query --listfiles libc6)
oldest_glibc=$(dpkg-query --show --showformat '${Version}' libc6)
ldd "$TOP"/bin/* | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | sort -u >"$PLACE/loaded"
while read -r soname library; do
  [[ $glibc$'\n' != */"$soname"$'\n'* ]] || continue
  cp -L "$library" "$TOP/lib/$soname"
  chmod 644 "$TOP/lib/$soname"
  readlink -f "$library" >>"$PLACE/libraries"
done <"$PLACE/loaded"
# shellcheck disable=SC2016  # the loader's own variable
patchelf --set-rpath '$ORIGIN' "$TOP"/lib/*
# shellcheck disable=SC2016
patchelf --set-rpath '$ORIGIN/../lib' "$TOP"/bin/*
"$OWNERS" <"$PLACE/libraries" | while read -r package _; do
  cp "/usr/share/doc/$package/copyright" "$TOP/licenses/$package"
done

cat >"$TOP/README" <<README
lockkeeper $version, for Linux on $(uname -m) with glibc ${oldest_glibc%%-*} or later.

bin/ has the programs; they need lib/ beside it, and nothing else. lockkeeper.yaml has every setting of lockkeeperd; share/ has man pages
and completions; licenses/ those of the libraries.

If this system does not keep its CAs where Debian does, name them: SSL_CERT_FILE=/etc/pki/tls/certs/ca-bundle.crt, or the options and
settings for TLS. An embedded store needs redis-server or valkey-server, 7.0 or later.
README
tar -C "$PLACE" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:?}" --mode=go-w -cf - "$name" | gzip -n >"$name.tar.gz"
echo "$name.tar.gz"
