#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# packages_test.sh BUILD_DIR|FOLDER: the Debian packages of deploy/debian do what docs/operating/packages.md says. Method: packs the programs of
# the release build, which lack only the compiler options that `./dev package` adds, or takes the packages in FOLDER; has lintian and systemd
# judge them; then boots a throw-away machine, whose disk is this one's with what it writes in memory, and there installs, starts, upgrades,
# removes and purges them (on_machine.sh). Needs root, and the right to mount and to boot: 77 where that is missing.
set -euo pipefail
BUILD=$(readlink -f "$1")
readonly BUILD
cd "$(dirname "${BASH_SOURCE[0]}")"

skip() {
  echo "skipped: $*"
  exit 77
}

fail() {
  echo "FAILED: $*"
  exit 1
}

[ "$(id -u)" = 0 ] || skip "only root can boot a machine"
for program in dpkg-buildpackage dh_installsystemd lowdown lintian patchelf python3 systemd-nspawn systemd-analyze unshare; do
  command -v "$program" >/dev/null || skip "there is no $program"
done
! dpkg-query --show lockkeeper-server >/dev/null 2>&1 || skip "this machine has the package lockkeeper-server"

PLACE=$(mktemp -d)
readonly PLACE
trap 'rm -rf "$PLACE"' EXIT

# quietly LOG COMMAND...: shows what the command says only when it fails.
quietly() {
  local log=$PLACE/$1
  shift
  "$@" >"$log" 2>&1 || {
    cat "$log"
    fail "$*"
  }
}

# check_sbom FILE: it can be read, and has what dpkg-shlibdeps found, which looks at symbols instead of at what the loader would load.
check_sbom() {
  local libraries
  # Those that exist: some depend on a name that another package provides.
  # shellcheck disable=SC2016  # dpkg's own variable
  libraries=$(dpkg-deb --field "$PLACE"/old/lockkeeper-server_*.deb Depends | tr ',' '\n' | awk '$1 ~ /^lib/ { print $1 }' |
    xargs dpkg-query --show --showformat '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')
  python3 - "$1" "$libraries" <<'PYTHON' || fail "the SBOM"
import json, re, sys

sbom = json.load(open(sys.argv[1], encoding="utf-8"))
assert sbom["spdxVersion"] == "SPDX-2.3" and sbom["SPDXID"] == "SPDXRef-DOCUMENT" and sbom["dataLicense"] == "CC0-1.0"
names = {package["SPDXID"]: package["name"] for package in sbom["packages"]}
assert len(names) == len(sbom["packages"]), "one id for two packages"
for package in sbom["packages"]:
    assert package["versionInfo"] and package["downloadLocation"] and re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", package["SPDXID"]), package
links = {}
for relation in sbom["relationships"]:
    if relation["relationshipType"] != "DESCRIBES":
        links.setdefault((names[relation["spdxElementId"]], relation["relationshipType"]), set()).add(names[relation["relatedSpdxElement"]])
libraries = set(sys.argv[2].split())
missing = libraries - links["lockkeeper-server", "DYNAMIC_LINK"]
assert len(libraries) > 5 and not missing, missing
headers = {"libcli11-dev", "nlohmann-json3-dev", "libutfcpp-dev"}  # compiled in, and nowhere else to be seen
assert headers <= links["lockkeeper-server", "STATIC_LINK"], links
PYTHON
}

# check_archive FILE: its programs run, and load what they need from the archive, but for glibc.
check_archive() {
  local program foreign
  mkdir "$PLACE/archive"
  tar -C "$PLACE/archive" --strip-components=1 -xf "$1"
  for program in lockkeeper lockkeeperd; do
    "$PLACE/archive/bin/$program" --version >/dev/null || fail "$program of the archive does not run"
    foreign=$(ldd "$PLACE/archive/bin/$program" | awk -v own="$PLACE/archive/" '$2 == "=>" && index($3, own) != 1 { print $1 }' |
      grep -vE '^(libc|libm|libpthread|libdl|librt|libresolv)\.so\.[0-9]$' || true)
    [ -z "$foreign" ] || fail "$program of the archive needs from elsewhere: $foreign"
  done
}

# The same packages as a newer version, whose configuration file has another text.
make_newer() {
  local package
  mkdir "$PLACE/new"
  for package in "$PLACE"/old/*.deb; do
    rm -rf "$PLACE/tree"
    dpkg-deb --raw-extract "$package" "$PLACE/tree"
    sed -i 's/^Version: .*/Version: 999.0-1/' "$PLACE/tree/DEBIAN/control"
    if [ -e "$PLACE/tree/etc" ]; then
      echo "# of the newer version" >>"$PLACE/tree/etc/lockkeeper/lockkeeper.yaml"
      (cd "$PLACE/tree" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | xargs -0 md5sum >DEBIAN/md5sums)
    fi
    dpkg-deb -Znone --root-owner-group --build "$PLACE/tree" "$PLACE/new" >/dev/null
  done
}

mkdir "$PLACE/old"
made=$BUILD
if ! compgen -G "$BUILD/*.deb" >/dev/null; then
  made=$PLACE/out
  quietly build.log ../../../deploy/debian/build.sh "$made" --built "$BUILD"
fi
cp "$made"/{liblockkeeper-dev,lockkeeper,lockkeeper-server}_*.deb "$PLACE/old"
quietly lintian.log lintian --fail-on error,warning "$PLACE"/old/*.deb

dpkg-deb --extract "$PLACE"/old/lockkeeper-server_*.deb "$PLACE/server"
unit=$(find "$PLACE/server" -name lockkeeperd.service)
quietly security.log systemd-analyze security --no-pager --offline=true --threshold=20 "$unit"  # 2.0 of 10

check_sbom "$made"/lockkeeper_*.spdx.json
check_archive "$made"/lockkeeper-*.tar.gz

dpkg-deb --extract "$PLACE"/old/liblockkeeper-dev_*.deb "$PLACE/dev"
quietly configure.log cmake -S ../../package/consumer -B "$PLACE/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$PLACE/dev/usr"
quietly consumer.log cmake --build "$PLACE/consumer"

make_newer
mountpoint -q / && propagation=private || propagation=unchanged  # unchanged: in a chroot, whose maker has seen to it
unshare --mount --propagation "$propagation" true 2>/dev/null || skip "no right to mount here"
status=0
unshare --mount --propagation "$propagation" --pid --fork --mount-proc ./machine.sh "$PLACE" >"$PLACE/machine.log" 2>&1 || status=$?
[ $status != 77 ] || skip "$(tail -n 1 "$PLACE/machine.log")"
if [ $status != 0 ]; then
  cat "$PLACE/machine.log"
  fail "on the machine"
fi
tail -n 1 "$PLACE/machine.log"
