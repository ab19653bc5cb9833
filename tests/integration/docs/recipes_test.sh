#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# recipes_test.sh BUILD_DIR: the commands of docs/operating/recipes.md answer what the page shows.
# shellcheck source=tests/integration/docs/terminal.sh
. "$(dirname "${BASH_SOURCE[0]}")/terminal.sh" "$1"

command -v jq >/dev/null || { echo "there is no jq" && exit 77; }
mkdir home
start_daemon --embedded --data-dir "$PLACE/data" --audit-to "$PLACE/home/audit.log"
PATH=$BUILD:$PATH
type_page docs/operating/recipes.md "# Recipes with jq"
[ "$COMMANDS" -ge 20 ] || fail "the page has $COMMANDS commands"
echo "recipes: $COMMANDS commands answer as shown"
