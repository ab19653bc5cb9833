#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016  # the inner shell expands it
lockkeeper run visits --wait 10s -- sh -euc '
  visits=$(fenced_file.sh read visits)
  echo $((${visits:-0} + 1)) | fenced_file.sh write visits'
