#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# healthy.sh: asks the daemon of a container over HTTP whether it is ready, because that port has no TLS unless it is told to, while gRPC
# may need a certificate. The address is that of the variable; a container that gets it by a flag or a file needs a check of its own.
address=${LOCKKEEPERD_SERVER_HTTP_LISTEN:-127.0.0.1:7601}
host=${address%:*}
host=${host#[}  # of [v6]
exec 3<>"/dev/tcp/${host%]}/${address##*:}" || exit 1
printf 'GET /readyz HTTP/1.0\r\n\r\n' >&3
read -r _ status _ <&3 && [ "$status" = 200 ]
