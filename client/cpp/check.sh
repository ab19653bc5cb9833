#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check.sh [OUT]: builds the driver of the C++ client for tests/conformance into OUT (default build/clients/cpp). The client's own
# tests, its installed package and its examples are checked with the tree's (tests/unit/client, tests/integration, tests/package).
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
OUT=${1:-$PWD/build/clients/cpp}
mkdir -p "$OUT"
[ build/release/build.ninja -nt CMakePresets.json ] || cmake --preset release
cmake --build --preset release --target lockkeeper_conformance_driver
cp build/release/lockkeeper_conformance_driver "$OUT/driver"
