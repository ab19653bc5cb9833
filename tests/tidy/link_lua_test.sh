#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# link_lua_test.sh LUA LINKER: proves what cmake/link_lua.lua writes out and leaves out. Each case is a part, a script, and the text
# that Redis has to get.
set -euo pipefail

readonly LUA=$1 LINKER=$2
FOLDER=$(mktemp -d)
readonly FOLDER
trap 'rm -rf "$FOLDER"' EXIT
failures=0

link() { "$LUA" "$LINKER" "$1" "$FOLDER/script.lua" "$FOLDER/part.lua" 2>&1; }

# expect NAME KEYS PART SCRIPT EXPECTED: the script's text is EXPECTED after its first line.
expect() {
  local found
  printf '%s\n' "$3" >"$FOLDER/part.lua"
  printf '#!lua\n%s\n' "$4" >"$FOLDER/script.lua"
  found=$(link "$2" || true)
  [ "$found" = "#!lua"$'\n'"$5" ] || {
    printf 'FAILED: %s\n  expected: %s\n  found:    %s\n' "$1" "$5" "$found"
    failures=$((failures + 1))
  }
}

# expect_refusal NAME PART SCRIPT MESSAGE
expect_refusal() {
  local found
  printf '%s\n' "$2" >"$FOLDER/part.lua"
  printf '#!lua\n%s\n' "$3" >"$FOLDER/script.lua"
  if found=$(link 1) || [[ $found != *"$4"* ]]; then
    printf 'FAILED: %s\n  found: %s\n' "$1" "$found"
    failures=$((failures + 1))
  fi
}

expect 'comments and empty lines go' 1 '-- a part' $'-- a script\n\nreturn 1' 'return 1'
expect 'constants are written out' 1 "local AT, WHO = 3, 'me, you'" 'return sub(x, AT) .. WHO' "return sub(x, 3) .. 'me, you'"
expect 'names in quotes and fields stay' 1 'local AT = 3' "return 'AT' .. t.AT" "return 'AT' .. t.AT"
expect 'tables are no constants' 1 'local T = {A = 1}' 'return T' $'local T = {A = 1}\nreturn T'
expect 'one-line functions are written into their callers' 1 'local function f(a, b) return a + b end' 'return f(x, y) * 2' \
  'return (x + y) * 2'
expect 'given expressions keep their brackets' 1 'local function f(a) return a * 2 end' 'return f(g(1, 2) + 3)' 'return ((g(1, 2) + 3) * 2)'
expect 'a function that only calls keeps all values' 1 'local function f(a) return g(a) end' 'return f(x)' 'return g(x)'
expect 'one-line functions in one-line functions' 1 $'local function f(a) return a + 1 end\nlocal function h(a) return f(a) * 2 end' \
  'return h(x)' 'return ((x + 1) * 2)'
expect 'functions that nobody names go' 1 $'local function f()\n  return 1\nend\nlocal function g()\n  return 2\nend' 'return g()' \
  $'local function g()\n  return 2\nend\nreturn g()'
expect 'what a used function names stays' 1 $'local function f()\n  return 1\nend\nlocal function g()\n  return f()\nend' 'return g()' \
  $'local function f()\n  return 1\nend\nlocal function g()\n  return f()\nend\nreturn g()'
readonly WITH_LINE=$'if line then return f() end -- two keys\nreturn 1' F=$'local function f()\n  return 2\nend'
expect 'lines for two keys go from the script for one, with what only they name' 1 "$F" "$WITH_LINE" 'return 1'
expect 'lines for two keys stay in the script for two' 2 "$F" "$WITH_LINE" "$F"$'\nif line then return f() end\nreturn 1'
expect_refusal 'an expression is not written out twice' 'local function f(a) return a + a end' 'return f(g())' 'needs a name for its a'
expect_refusal 'arguments are counted' 'local function f(a) return a end' 'return f(1, 2)' 'wrong number of arguments'

exit $((failures > 0))
