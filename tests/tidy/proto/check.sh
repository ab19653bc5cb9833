#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check.sh BUF [PROTO_DIR]: proto style (buf's STANDARD and COMMENTS), and that nothing a client may use was taken away or changed.
# Compares with the last release (tag v*); before the first one with tests/tidy/proto/baseline.txtpb, the API as it first landed.
# A wanted break before the first release: `check.sh BUF --accept` writes the baseline anew; the diff shows what breaks.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

readonly BUF=$1 PROTOS=${2:-proto}
readonly BASELINE=tests/tidy/proto/baseline.txtpb

if [ "$PROTOS" = --accept ]; then
  exec "$BUF" build proto --exclude-source-info -o "$BASELINE"
fi

"$BUF" lint "$PROTOS"

if release=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null); then
  released=$(mktemp -d)
  trap 'rm -rf "$released"' EXIT
  git archive "$release" proto | tar -x -C "$released"
  "$BUF" breaking "$PROTOS" --against "$released/proto"
elif ! "$BUF" breaking "$PROTOS" --against "$BASELINE"; then
  echo "If this break is meant, say why in the commit and run: tests/tidy/proto/check.sh $BUF --accept" >&2
  exit 1
fi
