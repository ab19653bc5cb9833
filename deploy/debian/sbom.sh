#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# sbom.sh BUILD_TREE PACKAGE.deb...: prints what is in the packages, as JSON in the form of SPDX 2.3: for each package the Debian packages whose
# shared libraries its programs load (DYNAMIC_LINK), and for all of them those whose headers or static libraries are compiled in (STATIC_LINK).
# Headers are those that the compiler opened, as the build tree's Ninja has noted them. Versions are those of this machine; SOURCE_DATE_EPOCH is
# the time of the list.
set -euo pipefail
export LC_ALL=C

readonly TREE=$1
shift

OWNERS=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/owners.sh
readonly OWNERS
PLACE=$(mktemp -d)
readonly PLACE
trap 'rm -rf "$PLACE"' EXIT

# The files that the objects of the packages are made of.
compiled_in() {
  ninja -C "$TREE" -t deps | awk -v tree="$TREE" '
    /^[^ ]/ { ours = /^(server|client|proto|CMakeFiles\/precompiled_headers)/ && !/conformance/; next }
    ours && NF { print ($1 ~ /^\//) ? $1 : tree "/" $1 }' | sort -u
}

# Libraries that are no Debian package: `name version none`, as their pkg-config files tell.
not_from_debian() {
  local file prefix
  { grep -E '/include/[^/]+/[^/]+$' || true; } | while read -r file; do
    prefix=${file%/include/*}
    file=${file#"$prefix"/include/}
    [[ $prefix == /usr || ! -f $prefix/lib/pkgconfig/${file%%/*}.pc ]] || echo "${file%%/*} $(sed -n 's/^Version: *//p' "$prefix/lib/pkgconfig/${file%%/*}.pc") none"
  done | sort -u
}

loaded() {
  find "$1" -type f -path '*/bin/*' -exec ldd {} + | awk '$2 == "=>" { print $3 } $1 ~ /^\// && NF == 2 && $1 !~ /:$/ { print $1 }' |
    sort -u | xargs -r readlink -f
}

id_of() { sed 's/[^A-Za-z0-9.]/-/g; s/^/SPDXRef-/' <<<"$1"; }

# Version strings have no quotes and no backslashes: nothing needs to be escaped.
print_debian_package() {
  local name=$1 version=$2 architecture=$3 url
  printf '    {"SPDXID": "%s", "name": "%s", "versionInfo": "%s", "downloadLocation": "NOASSERTION", "filesAnalyzed": false, ' \
    "$(id_of "$name")" "$name" "$version"
  if [ "$architecture" != none ]; then
    url=$(sed 's/%/%25/g; s/+/%2B/g; s/:/%3A/g' <<<"$version")
    printf '"supplier": "Organization: Debian", "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", '
    printf '"referenceLocator": "pkg:deb/debian/%s@%s?arch=%s"}], ' "$name" "$url" "$architecture"
  fi
  printf '"licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION"}'
}

print_own_package() {
  local deb=$1
  printf '    {"SPDXID": "%s", "name": "%s", "versionInfo": "%s", "packageFileName": "%s", "downloadLocation": "NOASSERTION", "filesAnalyzed": false, ' \
    "$(id_of "$(dpkg-deb --field "$deb" Package)")" "$(dpkg-deb --field "$deb" Package)" "$(dpkg-deb --field "$deb" Version)" "$(basename "$deb")"
  printf '"checksums": [{"algorithm": "SHA256", "checksumValue": "%s"}], ' "$(sha256sum "$deb" | cut -d' ' -f1)"
  printf '"licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION"}'
}

relate() { printf '    {"spdxElementId": "%s", "relationshipType": "%s", "relatedSpdxElement": "%s"}\n' "$1" "$2" "$3"; }

compiled_in >"$PLACE/headers"
{ "$OWNERS" <"$PLACE/headers" && not_from_debian <"$PLACE/headers"; } >"$PLACE/static"
cp "$PLACE/static" "$PLACE/all"
: >"$PLACE/relations"
: >"$PLACE/packages"
for deb in "$@"; do
  own=$(id_of "$(dpkg-deb --field "$deb" Package)")
  { print_own_package "$deb" && echo; } >>"$PLACE/packages"
  relate SPDXRef-DOCUMENT DESCRIBES "$own" >>"$PLACE/relations"
  rm -rf "$PLACE/tree"
  dpkg-deb --extract "$deb" "$PLACE/tree"
  loaded "$PLACE/tree" | "$OWNERS" >"$PLACE/dynamic"
  cat "$PLACE/dynamic" >>"$PLACE/all"
  while read -r name _; do relate "$own" DYNAMIC_LINK "$(id_of "$name")"; done <"$PLACE/dynamic" >>"$PLACE/relations"
  while read -r name _; do relate "$own" STATIC_LINK "$(id_of "$name")"; done <"$PLACE/static" >>"$PLACE/relations"
done
while read -r name version architecture; do
  print_debian_package "$name" "$version" "$architecture"
  echo
done < <(sort -u "$PLACE/all") >>"$PLACE/packages"

digest=$(sha256sum "$@" | sha256sum | cut -c1-16)
cat <<JSON
{
  "spdxVersion": "SPDX-2.3",
  "dataLicense": "CC0-1.0",
  "SPDXID": "SPDXRef-DOCUMENT",
  "name": "lockkeeper",
  "documentNamespace": "https://spdx.org/spdxdocs/lockkeeper-$digest",
  "creationInfo": {"created": "$(date --utc --date="@${SOURCE_DATE_EPOCH:?}" +%Y-%m-%dT%H:%M:%SZ)", "creators": ["Tool: lockkeeper-sbom.sh"]},
  "packages": [
$(sed '$!s/$/,/' "$PLACE/packages")
  ],
  "relationships": [
$(sed '$!s/$/,/' "$PLACE/relations")
  ]
}
JSON
