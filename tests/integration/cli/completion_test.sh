#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# completion_test.sh BUILD_DIR: the scripts of `lockkeeper completion` complete what the command line takes. Method: keys are typed to
# bash and zsh at a terminal, where a function that tells its arguments stands for lockkeeper; fish is asked what may follow.
set -euo pipefail

PATH=$(readlink -f "$1"):$PATH
PLACE=$(mktemp -d)
SHELL_PID=''
trap '[ -z "$SHELL_PID" ] || kill "$SHELL_PID" || true; wait; rm -rf "$PLACE"' EXIT
cd "$PLACE"
mkdir dir functions
touch token.txt "my file"
mkfifo answers
exec {ANSWERS}<>answers
export HOME=$PLACE TERM=dumb INPUTRC=/dev/null

fail() {
  echo "FAILED: $*"
  tail -n 20 screen.txt 2>/dev/null || true
  exit 1
}

# What each shell runs first. TAB completes, as ever; ? inserts all that may follow.
lockkeeper completion bash >script.bash
lockkeeper completion zsh >script.zsh
cp script.zsh functions/_lockkeeper
cat >start.bash <<'END'
source script.bash
lockkeeper() { echo "$*" >answers; }
bind '"?": insert-completions'
END
cat >start.zsh <<'END'
autoload -U compinit && compinit -D -u
source script.zsh
lockkeeper() { print -r -- "$*" >answers; }
zle -C all-matches complete-word _generic
bindkey '?' all-matches
zstyle ':completion:all-matches:*' insert yes
zstyle ':completion:all-matches::::' completer _all_matches _complete
END
# As a package has it: zsh loads the function when it is first needed.
{ echo 'fpath+=(functions)' && grep -v '^source' start.zsh; } >start_package.zsh

# start COMMAND FILE: starts a shell, which reads the file.
start() {
  mkfifo "keys.$2"
  script --quiet --flush --command "$1" screen.txt <"keys.$2" >/dev/null {ANSWERS}>&- &
  SHELL_PID=$!
  exec {KEYS}>"keys.$2"
  printf '. ./%s\r' "$2" >&"$KEYS"
}

end_shell() {
  printf 'exit\r' >&"$KEYS"
  wait "$SHELL_PID"
  SHELL_PID=''
}

# types KEYS: types them and Enter; `answer` gets the arguments that lockkeeper was run with.
types() {
  printf 'lockkeeper %b\r' "$1" >&"$KEYS"
  read -r -t 30 -u "$ANSWERS" answer || fail "$NAME, $1: no answer"
}

# completes KEYS EXPECTED: what TAB makes of the line.
completes() {
  types "$1"
  [ "$answer" = "$2" ] || fail "$NAME, $1: $answer, not $2"
}

sorted() { tr ' ' '\n' <<<"$1" | sort -u | xargs; }

# offers LINE EXPECTED: all that may stand for its last word, in any order.
offers() {
  types "$1?"
  local before=${1% *}
  [ "$before" != "$1" ] || before=''
  local found=${answer#"$before"}
  [ "$(sorted "$found")" = "$(sorted "$2")" ] || fail "$NAME, $1: $found, not $2"
}

in_both() {
  NAME=$1
  # Values with : and =, before the command and behind it.
  completes "--server 127.0.0.1:7600 --quiet rel\t" "--server 127.0.0.1:7600 --quiet release"
  completes "--server=127.0.0.1:7600 rel\t" "--server=127.0.0.1:7600 release"
  completes "--output=json rel\t" "--output=json release"
  completes "get x --server unix:/a=b --outp\t js\t" "get x --server unix:/a=b --output json"
  completes "--output=j\t" "--output=json"
  completes "contended --by=w\t" "contended --by=waits"
  completes "--token-file 'a b' rel\t" "--token-file a b release"

  # Whether an option takes a value is a matter of the command.
  completes "drain --wait --rea\t why" "drain --wait --reason why"
  completes "acquire --wait --quie\t" "acquire --wait --quie"

  # Files and directories, with blanks too.
  completes "--token-file tok\tx" "--token-file token.txt x"
  completes "--token-file di\tx" "--token-file dir/x"
  completes "--token-file=di\tx" "--token-file=dir/x"
  completes "backup-check --save my\t" "backup-check --save my file"
  completes "--server di\t" "--server di"

  # The command of run.
  completes "run x --ttl 5s -- printen\t" "run x --ttl 5s -- printenv"
  completes "run x -- cat --server tok\t" "run x -- cat --server token.txt"
  completes "run x -- ./di\ta" "run x -- ./dir/a"

  offers "acq" "acquire"
  offers "get --output " "text json shell"
  offers "acquire name --loc" "--lock-delay"
  offers "list --tls" "--tls-ca --tls-cert --tls-key"
  offers "token " "create hash" && completes "token create h\t" "token create h"
  offers "can e" "extend end-quarantine"
  offers "can d" "drain"
  offers "completion b" "bash"
  offers "top --sort a" "age"
  offers "contended --by " "waits time"
  offers "h" "help health history" && offers "help h" "health help history" && completes "help get h\t" "help get h"
  offers "top --o" "--once --output"
  completes "extend name --loc\t" "extend name --loc"
  completes "acquire --ttl a\t" "acquire --ttl a"

  # Whatever the help names.
  for command in $COMMANDS; do
    offers "$command" "$(grep "^$command" <<<"$COMMANDS" | xargs)"
  done
}

COMMANDS=$(lockkeeper --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z-]*\) .*/\1/p')

start "bash --norc --noprofile -i" start.bash
in_both bash
# A user may let bash part words at blanks only.
printf 'COMP_WORDBREAKS=" "\r' >&"$KEYS"
completes "--output=j\t" "--output=json"
completes "--server 127.0.0.1:7600 rel\t" "--server 127.0.0.1:7600 release"
end_shell

start "zsh -f -i" start.zsh
in_both zsh
end_shell
start "zsh -f -i" start_package.zsh
NAME="zsh of a package"
completes "--output=j\t" "--output=json"
completes "drain --wait --rea\t why" "drain --wait --reason why"
end_shell

# in_fish EXPECTED LINE: all that may stand for its last word, in any order.
in_fish() {
  local found
  # shellcheck disable=SC2016  # for fish
  found=$(fish --no-config -c 'lockkeeper completion fish | source; complete -C $argv[1]' "$2" | cut -f1 | sort -u | xargs)
  [ "$found" = "$(sorted "$1")" ] || fail "fish, $2: $found, not $1"
}

in_fish "acquire" "lockkeeper acq"
in_fish "release" "lockkeeper --server 127.0.0.1:7600 --quiet rel"
in_fish "release" "lockkeeper --server=127.0.0.1:7600 rel"
in_fish "text json shell" "lockkeeper get --output "
in_fish "--output=json" "lockkeeper --output=j"
in_fish "--lock-delay" "lockkeeper --output json acquire name --loc"
in_fish "" "lockkeeper extend name --loc"
in_fish "" "lockkeeper extend acquire --loc"
in_fish "--reason" "lockkeeper drain --wait --rea"
in_fish "create hash" "lockkeeper token " && in_fish "" "lockkeeper token create h"
in_fish "waits time" "lockkeeper contended --by "
in_fish "help health history" "lockkeeper h" && in_fish "health help history" "lockkeeper help h"
in_fish "" "lockkeeper help get h"
in_fish "token.txt" "lockkeeper --token-file tok"
in_fish "printenv" "lockkeeper run x --ttl 5s -- printen"
in_fish "token.txt" "lockkeeper run x -- cat --server tok"
in_fish "" "lockkeeper get x -- cat tok"
in_fish "--token-file=dir/" "lockkeeper --token-file=di"

code=0
output=$(lockkeeper completion tcsh 2>&1) || code=$?
[ "$code" = 64 ] || fail "an unknown shell ends with $code: $output"
