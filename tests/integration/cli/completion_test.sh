#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# completion_test.sh BUILD_DIR: the scripts of `lockkeeper completion` complete what the command line takes. Method: each shell loads its
# script and is asked what may follow; of zsh, whether it has taken the functions of bash, which are asked in bash.
set -euo pipefail

PATH=$(readlink -f "$1"):$PATH
PLACE=$(mktemp -d)
trap 'rm -rf "$PLACE"' EXIT
cd "$PLACE"
touch token.txt

fail() {
  echo "FAILED: $*"
  exit 1
}

# shellcheck source=/dev/null
source <(lockkeeper completion bash)

# in_bash EXPECTED WORD...: what may stand for the last word, in any order.
in_bash() {
  local expected=$1
  shift
  COMP_WORDS=(lockkeeper "$@") COMP_CWORD=$# COMPREPLY=()
  _lockkeeper || true  # compgen fails if it finds nothing
  local found
  found=$(printf '%s\n' "${COMPREPLY[@]}" | sort -u | xargs)
  [ "$found" = "$(tr ' ' '\n' <<<"$expected" | sort -u | xargs)" ] || fail "bash, $*: $found, not $expected"
}

# in_fish EXPECTED LINE: the same.
in_fish() {
  local found
  # shellcheck disable=SC2016  # for fish
  found=$(fish --no-config -c 'lockkeeper completion fish | source; complete -C $argv[1]' "$2" | cut -f1 | sort -u | xargs)
  [ "$found" = "$(tr ' ' '\n' <<<"$1" | sort -u | xargs)" ] || fail "fish, $2: $found, not $1"
}

in_bash "acquire" acq
in_bash "release" --server 127.0.0.1:7600 --quiet rel
in_bash "text json shell" get --output ""
in_bash "--lock-delay" acquire name --loc
in_bash "" extend name --loc
in_bash "--tls-ca --tls-cert --tls-key" list --tls
in_bash "token.txt" --token-file tok
in_bash "" acquire --ttl ""
in_bash "create hash" token "" && in_bash "" token create h
in_bash "extend end-quarantine" can e
in_bash "bash" completion b
in_bash "age" top --sort a
in_bash "drain" can d
in_bash "--once --output" top --o
in_bash "token.txt" run name -- token.t

in_fish "acquire" "lockkeeper acq"
in_fish "text json shell" "lockkeeper get --output "
in_fish "--lock-delay" "lockkeeper acquire name --loc"
in_fish "" "lockkeeper extend name --loc"
in_fish "create hash" "lockkeeper token "
in_fish "token.txt" "lockkeeper --token-file tok"

taken=$(zsh -fc 'autoload -U compinit && compinit -D -u; source <(lockkeeper completion zsh); print -r -- $_comps[lockkeeper]')
[[ $taken == *"_lockkeeper"* ]] || fail "zsh has not taken the script: $taken"

# Whatever the help names can be completed.
commands=$(lockkeeper --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
for command in $commands; do
  in_bash "$(grep "^$command" <<<"$commands" | xargs)" "$command"
done
code=0
output=$(lockkeeper completion tcsh 2>&1) || code=$?
[ "$code" = 64 ] || fail "an unknown shell ends with $code: $output"
