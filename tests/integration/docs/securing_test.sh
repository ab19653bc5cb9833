#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# securing_test.sh BUILD_DIR: the commands of docs/guides/securing.md do what it says. Method: types them one block after the other, with
# the ports that the system has chosen in place of the page's; then the page's program once more, with a JWT.
# shellcheck source=tests/integration/docs/place.sh
. "$(dirname "${BASH_SOURCE[0]}")/place.sh" "$1"
readonly PAGE=docs/guides/securing.md
PATH=$BUILD:$PATH

# The Nth block, with the addresses of this daemon.
typed() {
  commands "$1" | sed -e "s/127.0.0.1:7610/$MTLS/g" -e "s/127.0.0.1:7612/$TLS/g" -e 's/python3 who/\/usr\/bin\/python3 who/'
}

# expect CODE TEXT COMMAND...
expect() {
  local code=0 output
  output=$(set -o pipefail; timeout 20 bash -c "$3" 2>&1 | tr -d '\0') || code=$?
  [ "$code" = "$1" ] || fail "$3: ended with $code, not $1: $output"
  [[ $output == *"$2"* ]] || fail "$3: not \"$2\": $output"
}

MTLS='' TLS=''
for block in 1 2 3; do
  typed "$block" >block.sh
  bash -euo pipefail block.sh 2>block.log || fail "block $block: $(cat block.log)"
done
[ "$(stat -c %a ci.token)" = 600 ] || fail "others can read ci.token"

mapfile -t lines < <(commands 4)
[ "${#lines[@]}" = 2 ] || fail "$PAGE has other commands than this test knows"
expect 0 "" "${lines[0]} --data-dir $PLACE/data"
[[ ${lines[1]} == "lockkeeperd --embedded "*" &" ]] || fail "not the daemon: ${lines[1]}"
# shellcheck disable=SC2034  # for start_daemon
LISTEN=mtls://127.0.0.1:0
line=${lines[1]/--listen mtls:\/\/127.0.0.1:7610 /}
line=${line/:7612/:0}
read -ra command <<<"${line% &}"
start_daemon "${command[@]:1}" --data-dir "$PLACE/data"
for address in ${LOCKKEEPER_SERVER//,/ }; do
  case $address in
    mtls://*) MTLS=${address#mtls://} ;;
    tls://*) TLS=${address#tls://} ;;
  esac
done
unset LOCKKEEPER_SERVER

mapfile -t lines < <(typed 5)
[ "${lines[0]}" = "export LOCKKEEPER_TLS_CA=ca.pem" ] || fail "not the CA: ${lines[0]}"
export LOCKKEEPER_TLS_CA=ca.pem
expect 0 "report
  proof    certificate
  roles    operator worker" "${lines[1]}"
expect 0 "ci
  proof    token
  roles    worker" "${lines[2]}"
expect 0 "anonymous
  roles    none" "${lines[3]}"

mapfile -t lines < <(typed 6)
expect 0 "ci may acquire" "${lines[0]}"
expect 0 "" "${lines[1]}"
expect 77 "ci may not acquire" "${lines[2]}"
denied=${lines[2]}
expect 65 "max_ttl" "${lines[3]}"
expect 0 "ci/deploy" "${lines[4]}"

bash -euo pipefail -c "$(typed 7)"
for _ in {1..100}; do
  ! timeout 20 bash -c "$denied" >/dev/null || break
  sleep 0.1  # between two looks at what the daemon has read
done
expect 0 "ci may acquire" "$denied"

mkdir -p build/python
protoc -I "$TOP/proto" --python_out=build/python --grpc_python_out=build/python \
  --plugin=protoc-gen-grpc_python=/usr/bin/grpc_python_plugin "$TOP"/proto/lockkeeper/v1/*.proto
export PYTHONPATH=build/python
cp "$TOP/client/python/example/who_am_i.py" .
mapfile -t lines < <(typed 8)
[ "${lines[0]}" = "export TLS_CA=ca.pem" ] || fail "not the CA: ${lines[0]}"
export TLS_CA=ca.pem
expect 0 "report (certificate): operator, worker
fencing token " "${lines[1]}"
expect 0 "ci (token): worker
fencing token " "${lines[2]}"

# A JWT of an issuer of our own, RS256.
base64url() { base64 -w 0 | tr '+/' '-_' | tr -d =; }
openssl genrsa -out issuer.pem 2048 2>openssl.log || fail "issuer: $(cat openssl.log)"
modulus=$(openssl rsa -in issuer.pem -noout -modulus | sed 's/.*=//' |
  /usr/bin/python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(sys.stdin.read()))' | base64url)
echo "{\"keys\":[{\"kty\":\"RSA\",\"kid\":\"k\",\"alg\":\"RS256\",\"n\":\"$modulus\",\"e\":\"AQAB\"}]}" >jwks.json
cat >>policy.yaml <<'END'
jwt: [{issuer: "https://issuer", audience: lockkeeper, jwks_file: jwks.json, principal: "jwt/*"}]
END
sed -i 's/principals: \[report, ci\]/principals: [report, ci, "jwt\/*"]/' policy.yaml
jwt=$(printf '{"alg":"RS256","kid":"k"}' | base64url).$(
  printf '{"iss":"https://issuer","aud":"lockkeeper","sub":"ann","exp":%s}' $(($(date +%s) + 600)) | base64url)
printf '%s.%s\n' "$jwt" "$(printf %s "$jwt" | openssl dgst -sha256 -sign issuer.pem | base64url)" >jwt
with_jwt="TOKEN_FILE=jwt /usr/bin/python3 who_am_i.py $TLS shared/x"
for _ in {1..100}; do
  ! timeout 20 bash -c "$with_jwt" >/dev/null 2>&1 || break
  sleep 0.1  # the same
done
expect 0 "jwt/ann (jwt): worker
fencing token " "$with_jwt"
expect 1 "PERMISSION_DENIED" "TOKEN_FILE=jwt /usr/bin/python3 who_am_i.py $TLS other/x"
echo "lkt_wrong" >wrong
expect 1 "UNAUTHENTICATED" "TOKEN_FILE=wrong /usr/bin/python3 who_am_i.py $TLS ci/x"
expect 1 "UNAVAILABLE" "/usr/bin/python3 who_am_i.py $MTLS report/x"

expect 0 "ALPN protocol: h2" "$(typed 9)"
# Releases of OpenSSL write names in different ways.
expect 0 "Acceptable client certificate CA names
CN = my CA" "$(typed 9) -nameopt oneline"
expect 1 "" "$(typed 9) -tls1_1"

stop_daemon
echo "securing: certificate, token and JWT are who they are, and may what the policy says"
