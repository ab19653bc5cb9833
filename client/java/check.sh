#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check.sh [OUT]: builds and tests the Java client against the daemon LOCKKEEPERD with the command line LOCKKEEPER, and leaves the driver of
# tests/conformance in OUT. What Maven brings and builds stays in OUT. Exit codes: 0 all well, 69 the Maven repository cannot be reached,
# else a failure. With LOCKKEEPER_BROKEN=1 it only builds the driver.
set -euo pipefail
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly TOP
OUT=$(realpath -m "${1:-$TOP/build/clients/java}")
readonly OUT REPOSITORY=${LOCKKEEPER_MAVEN_REPOSITORY:-$OUT/repository}
mkdir -p "$OUT"
cd "$TOP/client/java"

say() { echo "client/java: $*"; }

fail() {
  echo "client/java: $*" >&2
  exit 1
}

maven() { mvn -B -q -ntp "-Dmaven.repo.local=$REPOSITORY" "-Dlockkeeper.build=$OUT/target" "$@"; }

# The driver: the client with its tests, and a list of the jars that it needs. Jars only, so that the JVM can keep an archive of the classes.
build_driver() {
  local classpath=$OUT/lockkeeper.jar:$OUT/driver.jar
  maven test-compile dependency:build-classpath "-Dmdep.outputFile=$OUT/classpath" || return 1
  jar -c -f "$OUT/lockkeeper.jar" -C "$OUT/target/classes" .
  jar -c -f "$OUT/driver.jar" -C "$OUT/target/test-classes" .
  classpath+=:$(<"$OUT/classpath")
  local java=(java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$classpath")
  rm -f "$OUT/classes.jsa"
  "${java[@]}" "-XX:ArchiveClassesAtExit=$OUT/classes.jsa" -Xlog:cds=off -Xlog:cds+dynamic=off io.lockkeeper.conformance.Driver </dev/null
  printf '#!/bin/sh\nexec %s -XX:SharedArchiveFile="%s" -Xshare:auto io.lockkeeper.conformance.Driver\n' \
    "$(printf '"%s" ' "${java[@]}")" "$OUT/classes.jsa" >"$OUT/driver"
  chmod +x "$OUT/driver"
}

# with_registry COMMAND...: a command that needs what Maven brings.
with_registry() {
  local log=$OUT/build.log
  "$@" >"$log" 2>&1 && return
  cat "$log" >&2
  grep -qE 'Could not transfer|Unknown host|Connect(ion)? (to|timed out|refused)' "$log" || exit 1
  echo "client/java: what the client needs cannot be had: no connection to the Maven repository" >&2
  exit 69
}

with_registry build_driver
[ -z "${LOCKKEEPER_BROKEN:-}" ] || exit 0

: "${LOCKKEEPERD:?must name the daemon}" "${LOCKKEEPER:?must name the command line}"
say "$(java -version 2>&1 | head -1)"
maven install
"$TOP/client/fenced/tests/late_holder.py" --stopped java -cp "$OUT/lockkeeper.jar:$OUT/driver.jar:$(<"$OUT/classpath")" io.lockkeeper.LateHolder

# --- the shortest program of the README and the guide, in a project of its own ----------------------------------------------

place=$(mktemp -d)
daemon=
finish() {
  [ -z "$daemon" ] || kill "$daemon"
  wait
  rm -rf "$place"
}
trap finish EXIT
mkfifo "$place/ready"
"$LOCKKEEPERD" --embedded --data-dir "$place/data" --listen 127.0.0.1:0 --http-listen 127.0.0.1:0 >"$place/ready" 2>"$place/log" &
daemon=$!
read -r -t 30 line <"$place/ready" || fail "the daemon does not start: $(cat "$place/log")"
LOCKKEEPER_SERVER=$(sed -n 's/.* grpc=\([^ ]*\).*/\1/p' <<<"$line")
export LOCKKEEPER_SERVER

rm -rf "$OUT/project"
cp -r example/report "$OUT/project"
sed -i "s|ClientOptions.defaults()|ClientOptions.defaults().servers(\"$LOCKKEEPER_SERVER\")|" "$OUT/project/src/main/java/Report.java"
grep -qx 'mvn -q compile exec:java' "$TOP/docs/guides/java.md" || fail "docs/guides/java.md runs its first program by another command"
with_registry maven -f "$OUT/project/pom.xml" compile exec:java
said=$(grep -o 'nobody else writes the report; fencing token [0-9]*' "$OUT/build.log") || fail "the first program said: $(<"$OUT/build.log")"
say "the first program: $said"

# --- the guide --------------------------------------------------------------------------------------------------------------

mkdir -p "$place/bin"
ln -s "$LOCKKEEPERD" "$place/bin/lockkeeperd"
ln -s "$LOCKKEEPER" "$place/bin/lockkeeper"
bash guide_test.sh "$place/bin" "$OUT/classpath" "$OUT/lockkeeper.jar"
say "the guide does what it says"

# --- the recipe for Spring Boot ---------------------------------------------------------------------------------------------

with_registry maven -f example/spring/pom.xml "-Dshop.build=$OUT/spring" test
say "the recipe for Spring Boot does what the guide says"
