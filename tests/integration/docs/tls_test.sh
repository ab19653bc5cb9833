#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tls_test.sh BUILD_DIR: the commands of docs/guides/tls.md do what it says. Method: makes its certificates, and starts its daemon and its
# client as they stand there, but on a port of the system's choice and with a folder of the test's own.
# shellcheck source=tests/integration/docs/place.sh
. "$(dirname "${BASH_SOURCE[0]}")/place.sh" "$1"
readonly PAGE=docs/guides/tls.md ADDRESS=127.0.0.1:7610

commands 1 >certificates.sh
bash -euo pipefail certificates.sh 2>openssl.log || fail "certificates: $(cat openssl.log)"

mapfile -t lines < <(commands 2)
[ "${#lines[@]}" = 2 ] || fail "$PAGE has other commands than this test knows"
[[ ${lines[0]} == "lockkeeperd --embedded --listen mtls://$ADDRESS "*" &" ]] || fail "not the daemon: ${lines[0]}"
[[ ${lines[1]} == "lockkeeper --server $ADDRESS "* ]] || fail "not the client: ${lines[1]}"

# shellcheck disable=SC2034  # for start_daemon
LISTEN=mtls://127.0.0.1:0
daemon_line=${lines[0]/--listen mtls:\/\/$ADDRESS /}
read -ra command <<<"${daemon_line% &}"
start_daemon "${command[@]:1}" --data-dir "$PLACE/data"
read -ra command <<<"${lines[1]/$ADDRESS/${LOCKKEEPER_SERVER#mtls://}}"
timeout 20 "$BUILD/${command[0]}" "${command[@]:1}" || fail "lockkeeper acquire: ended with $?"

code=0
timeout 20 "$BUILD/lockkeeper" --server "tls://${LOCKKEEPER_SERVER#mtls://}" --tls-ca ca.pem --timeout 300ms health || code=$?
[ "$code" = 77 ] || fail "without a certificate: ended with $code"

stop_daemon
echo "tls: the client locks through mutual TLS, and not without its certificate"
