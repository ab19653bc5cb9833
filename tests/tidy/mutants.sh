#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Whether every patch of tests/mutants and of tests/conformance/broken still applies: a change near its lines would leave it unused until somebody runs them all.
set -euo pipefail
cd "$(dirname "$0")/../.."

status=0
for patch in tests/mutants/*.patch tests/conformance/broken/*/*.patch; do
  git apply --check "$patch" || { echo "$patch does not apply any more: mend it, so that it breaks the same" >&2; status=1; }
done
exit $status
