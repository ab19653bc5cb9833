#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# link_lua_test.sh LUA LINKER: proves what cmake/link_lua.lua writes out and leaves out. Each case is a part, a script, and the text
# that Redis has to get.
set -euo pipefail

LUA=$1
LINKER=$(readlink -f "$2")
readonly LUA LINKER
FOLDER=$(mktemp -d)
readonly FOLDER
trap 'rm -rf "$FOLDER"' EXIT
failures=0

# With the frame, once there is one.
link() { (cd "$FOLDER" && "$LUA" "$LINKER" "$1" script.lua ./*part.lua 2>&1); }

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

expect 'lines for one key go from the script for two' 2 "" $'f() -- one key\nreturn 1 -- two keys' 'return 1'

# expect_operation NAME PART OPERATION EXPECTED: what stands at `-- parts` of the frame.
printf '%s\n' $'local function run()\n  -- parts\n  local result = operate(key, at, line)\nend\nreturn ARGUMENTS, STRIDE, RESULTS, KEYS_PER_LOCK, WRONG_LENGTH' >"$FOLDER/a_frame_part.lua"
expect_operation() {
  expect "$1" 1 "$2" $'return each({8, 0, {6, 7}}, 4, function(key, at, line)\n'"$3"$'\nend)' \
    $'local function run()\n'"$4"$'\n  local result = operate(key, at, line)\nend\nreturn 3, 3, 4, 1, #arguments[at] ~= 8 or #arguments[at + 2] ~= 6 and #arguments[at + 2] ~= 7'
}
readonly OPERATE='local function operate(key, at, line)'
readonly G=$'local function g(x)\n  if x then return 1, KEYS end\n  return 2\nend'
readonly LOOP=$'local function h(x)\n  while x do x = x - 1 end\n  return x\nend'

expect_operation 'the operation is a function' '' $'  if key then return 1 end\n  return f(\'return end\'), at' \
  "$OPERATE"$'\n  if key then return 1 end\n  return f(\'return end\'), at\nend'
expect_operation 'a function that is returned once is written out' "$G" $'  if line then return g(at) end\n  return 3' \
  "$OPERATE"$'\n  if line then do\nlocal x = at\ndo\n  if x then return 1, KEYS end\n  return 2\nend\nreturn end end\n  return 3\nend'
expect_operation 'also with a loop, and at the end' "$LOOP" $'  return h(at)' \
  "$OPERATE"$'\n  do\nlocal x = at\ndo\n  while x do x = x - 1 end\n  return x\nend\nreturn end\nend'
expect_operation 'a function that is called once for a local is made there' "$G" $'  if line then\n    local one, two = g(at)\n    return two\n  end\n  return 1' \
  "$OPERATE"$'\n  if line then\n    '"$G"$'\nlocal one, two = g(at)\n    return two\n  end\n  return 1\nend'
expect_operation 'a function whose value goes on is a part' "$G" $'  return g(at) or line' "$G"$'\n'"$OPERATE"$'\n  return g(at) or line\nend'
expect_operation 'a function that is called twice is a part' "$G" $'  if line then return g(at) end\n  return g(key)' \
  "$G"$'\n'"$OPERATE"$'\n  if line then return g(at) end\n  return g(key)\nend'
expect_operation 'what only a function uses that is written out stands there' \
  "$LOOP"$'\nlocal function f(x)\n  if h(x) == h(1) then return 1 end\n  return 2\nend' $'  if line then return f(at) end\n  return 3' \
  "$OPERATE"$'\n  if line then do\nlocal x = at\n'"$LOOP"$'\ndo\n  if h(x) == h(1) then return 1 end\n  return 2\nend\nreturn end end\n  return 3\nend'
expect_refusal 'an operation gets the key, the place of its arguments and the line' '' $'return each({}, 1, function(name)\n  return 1\nend)' \
  'function(key, at, line)'
expect_refusal 'a script has an operation' '' 'return 1' 'no operation'
expect_refusal 'a function does not see other variables where it is written out' $'local now = g\nlocal function f(x)\n  return now\nend' \
  $'return each({}, 1, function(key)\n  local now = 1\n  return f(key)\nend)' 'would see a now of its caller'

exit $((failures > 0))
