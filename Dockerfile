# SPDX-License-Identifier: Apache-2.0
# lockkeeperd and lockkeeper on Debian 13. `docker build -t lockkeeper .`, then for example, with its data in a volume:
#   docker run --rm -v lockkeeper:/var/lib/lockkeeper -p 127.0.0.1:7600:7600 -e LOCKKEEPERD_SERVER_ALLOW_INSECURE=true \
#     lockkeeper --embedded --listen 0.0.0.0:7600
# By default it listens on 127.0.0.1 of the container, where nobody outside reaches it. Beyond that it does so only if it is told that
# there is no transport security; 127.0.0.1 in -p keeps other machines out.
#
# BASE_DIGEST pins the base image of both stages: `--build-arg BASE_DIGEST=sha256:...`, which
# `docker buildx imagetools inspect debian:trixie-slim --format '{{.Manifest.Digest}}'` prints. Without it the newest one is taken.
ARG BASE_DIGEST=

FROM debian:trixie-slim${BASE_DIGEST:+@$BASE_DIGEST} AS build
WORKDIR /src
COPY . .
RUN ./dev build release lockkeeperd lockkeeper
RUN cmake --install build/release --component programs --prefix /out --strip
# The Debian packages that the programs' libraries come from, so that the image below has these and no more.
RUN ldd /out/bin/* | awk '$2 == "=>" { print $3 }' | sort -u | xargs realpath | xargs dpkg -S | cut -d: -f1 | sort -u > /out/packages

FROM debian:trixie-slim${BASE_DIGEST:+@$BASE_DIGEST}
# redis-server is for --embedded, ca-certificates for rediss:// without a CA file; nothing here starts a service.
RUN --mount=type=bind,from=build,source=/out,target=/out \
    apt-get update -qq \
    && apt-get install -qq -y --no-install-recommends $(cat /out/packages) redis-server ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /var/lib/lockkeeper --create-home --shell /usr/sbin/nologin lockkeeper
COPY --from=build /out/bin/ /usr/local/bin/
COPY LICENSE /usr/local/share/doc/lockkeeper/
USER 10001
VOLUME /var/lib/lockkeeper
EXPOSE 7600 7601
# Over HTTP, which has no TLS unless it is told to, while gRPC may need a certificate. A container that gets the address by a flag or a
# file needs a check of its own.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD lockkeeper health --timeout 2s --http "${LOCKKEEPERD_SERVER_HTTP_LISTEN:-127.0.0.1:7601}"
ENTRYPOINT ["lockkeeperd"]
