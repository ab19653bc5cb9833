#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# packages_test.sh BUILD_DIR|FOLDER: the Debian packages of deploy/debian do what docs/operating/packages.md says. Method: packs the programs of
# the release build, which lack only the compiler options that `./dev package` adds, or takes the packages in FOLDER; has lintian and systemd
# judge them; then boots a throw-away machine, whose disk is this one's with what it writes in memory, and there installs, starts, removes and
# purges them, and upgrades to them from packages with the scripts, unit and configuration of an earlier commit (on_machine.sh). Needs root, and
# the right to mount and to boot: 77 where that is missing.
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
  libraries=$(dpkg-deb --field "$PLACE"/new/lockkeeper-server_*.deb Depends | tr ',' '\n' | awk '$1 ~ /^lib/ { print $1 }' |
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

# check_pages FOLDER: the pages that messages of the programs name are in the documentation of the package.
check_pages() {
  local page pages
  pages=$(grep -rhv '^ *//' ../../../server ../../../client/cli --include='*.cc' | grep -oE 'docs/[a-z_]+/[a-z_]+\.md' | sort -u)
  [ -n "$pages" ] || fail "no message names a page"
  for page in $pages; do
    compgen -G "$1/usr/share/doc/lockkeeper-server/${page#docs/}*" >/dev/null || fail "a message names $page, which is not in the package"
  done
}

# What an upgrade begins with: the last release before this commit, else the first commit that made packages, or the oldest that a shallow clone has.
former_commit() {
  git describe --tags --match 'v[0-9]*' --abbrev=0 HEAD^ 2>/dev/null ||
    git log --diff-filter=A --format=%h -- :/deploy/debian/control | tail -n 1
}

# What debhelper makes of deploy/debian as of a commit, in $PLACE/former_source/debian/lockkeeper-server: maintainer scripts and unit.
make_former_scripts() {
  mkdir "$PLACE/former_source"
  git -C ../../.. archive "$1" deploy/debian config/lockkeeper.yaml | tar -C "$PLACE/former_source" -xf -
  (
    cd "$PLACE/former_source"
    mv deploy/debian debian
    printf 'lockkeeper (0.0.1-1) unstable; urgency=medium\n\n  * Former.\n\n -- %s  %s\n' \
      "$(sed -n 's/^Maintainer: //p' debian/control)" "$(date --utc --rfc-email)" >debian/changelog
    make -f debian/rules override_dh_installsysusers override_dh_installsystemd
    dh_installdeb --package=lockkeeper-server
  )
}

# The same programs as an older version, with the scripts, unit and configuration of the former commit.
make_former() {
  local package
  mkdir "$PLACE/former"
  for package in "$PLACE"/new/*.deb; do
    rm -rf "$PLACE/tree"
    dpkg-deb --raw-extract "$package" "$PLACE/tree"
    sed -i 's/^Version: .*/Version: 0.0.1-1/' "$PLACE/tree/DEBIAN/control"
    if [ -e "$PLACE/tree/etc" ]; then
      rm -f "$PLACE"/tree/DEBIAN/{pre,post}{inst,rm}
      find "$PLACE/tree" \( -name lockkeeperd.service -o -path '*/sysusers.d/*' \) -type f -delete
      cp -r "$PLACE/former_source/debian/lockkeeper-server/." "$PLACE/tree"
      # Another text, even if nothing has changed since.
      { cat "$PLACE/former_source/config/lockkeeper.yaml" && echo "# of the former version"; } >"$PLACE/tree/etc/lockkeeper/lockkeeper.yaml"
    fi
    (cd "$PLACE/tree" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | xargs -0 md5sum >DEBIAN/md5sums)
    dpkg-deb -Znone --root-owner-group --build "$PLACE/tree" "$PLACE/former" >/dev/null
  done
}

mkdir "$PLACE/new"
made=$BUILD
if ! compgen -G "$BUILD/*.deb" >/dev/null; then
  made=$PLACE/out
  quietly build.log ../../../deploy/debian/build.sh "$made" --built "$BUILD"
fi
cp "$made"/{liblockkeeper-dev,lockkeeper,lockkeeper-server}_*.deb "$PLACE/new"
quietly lintian.log lintian --fail-on error,warning "$PLACE"/new/*.deb

dpkg-deb --extract "$PLACE"/new/lockkeeper-server_*.deb "$PLACE/server"
unit=$(find "$PLACE/server" -name lockkeeperd.service)
quietly security.log systemd-analyze security --no-pager --offline=true --threshold=20 "$unit"  # 2.0 of 10

check_pages "$PLACE/server"
check_sbom "$made"/lockkeeper_*.spdx.json
check_archive "$made"/lockkeeper-*.tar.gz

dpkg-deb --extract "$PLACE"/new/liblockkeeper-dev_*.deb "$PLACE/dev"
quietly configure.log cmake -S ../../package/consumer -B "$PLACE/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$PLACE/dev/usr"
quietly consumer.log cmake --build "$PLACE/consumer"

former=$(former_commit)
quietly former.log make_former_scripts "$former"
make_former
mountpoint -q / && propagation=private || propagation=unchanged  # unchanged: in a chroot, whose maker has seen to it
unshare --mount --propagation "$propagation" true 2>/dev/null || skip "no right to mount here"
status=0
unshare --mount --propagation "$propagation" --pid --fork --mount-proc ./machine.sh "$PLACE" >"$PLACE/machine.log" 2>&1 || status=$?
[ $status != 77 ] || skip "$(tail -n 1 "$PLACE/machine.log")"
if [ $status != 0 ]; then
  cat "$PLACE/machine.log"
  fail "on the machine"
fi
echo "$(tail -n 1 "$PLACE/machine.log"); the upgrade was from the packaging of $former"
