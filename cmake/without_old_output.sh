#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# without_old_output.sh COMMAND... -o OUTPUT...: removes OUTPUT, then runs the command. For precompiled headers: the preprocessor that
# ccache runs would take an old one for the headers that it was made of, and ccache would answer with what it once made of these.
set -eu
before=
for word in "$@"; do
  [ "$before" != -o ] || rm -f "$word"
  before=$word
done
exec "$@"
