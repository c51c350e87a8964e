# syntax=docker/dockerfile:1
# The image of the one binary. Build: docker build -t weir .
# Stages: the dashboard's optimiser, the build, a one-shot maker of secrets for docker-compose.yml,
# and last the image itself, which runs as nobody's root.

FROM node:22-bookworm-slim AS tools
WORKDIR /tools
COPY tests/browser/package.json tests/browser/package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund

FROM rust:1.95-bookworm AS build
COPY --from=node:22-bookworm-slim /usr/local/bin/node /usr/local/bin/node
WORKDIR /source
COPY . .
COPY --from=tools /tools/node_modules tests/browser/node_modules
ENV XDG_CACHE_HOME=/cache CARGO_TARGET_DIR=/cache/target
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/cache \
    cargo xtask setup --for image \
    && cargo xtask dashboard \
    && cargo xtask release \
    && cargo xtask sbom --out /usr/local/share/weir.cdx.json \
    && cp /cache/target/release/weir /usr/local/bin/weir

FROM debian:bookworm-slim AS base
RUN groupadd --gid 10001 weir \
    && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin weir

FROM base AS secrets
RUN apt-get update \
    && apt-get install -y --no-install-recommends openssl \
    && rm -rf /var/lib/apt/lists/* \
    && install -d -o weir -g weir -m 0750 /secrets/postgres /secrets/redis \
        /secrets/weir /secrets/owner /secrets/control /secrets/gate
USER 10001:10001
# Makes what is missing and changes nothing that exists.
COPY --chmod=0555 <<'SCRIPT' /usr/local/bin/make-secrets
#!/bin/sh
set -eu
umask 0227
cd /secrets
if [ ! -e postgres/password ]; then
    openssl rand -hex 24 | tr -d '\n' >postgres/password
fi
if [ ! -e redis/password ]; then
    openssl rand -hex 24 | tr -d '\n' >redis/password
fi
if [ ! -e redis/redis.conf ]; then
    {
        echo 'port 6379'
        echo 'save ""'
        echo 'appendonly no'
        echo 'maxmemory-policy noeviction'
        echo "requirepass $(cat redis/password)"
    } >redis/redis.conf
fi
[ -e owner/database_url ] ||
    printf 'postgres://weir:%s@postgres:5432/weir' "$(cat postgres/password)" >owner/database_url
# A login for each plane, which `weir migrate` creates; only that plane reads its address.
for plane in control gate; do
    [ -e owner/${plane}_password ] ||
        openssl rand -hex 24 | tr -d '\n' >owner/${plane}_password
    [ -e $plane/database_url ] ||
        printf 'postgres://weir_%s_login:%s@postgres:5432/weir' \
            "$plane" "$(cat owner/${plane}_password)" >$plane/database_url
done
[ -e weir/redis_url ] ||
    printf 'redis://:%s@redis:6379/0' "$(cat redis/password)" >weir/redis_url
[ -e control/jwt_key ] || openssl rand -base64 32 >control/jwt_key
SCRIPT
ENTRYPOINT ["make-secrets"]

FROM base AS weir
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && install -d -o weir -g weir -m 0700 /var/lib/weir
COPY --from=build /usr/local/bin/weir /usr/local/bin/weir
COPY --from=build /usr/local/share/weir.cdx.json /usr/local/share/weir.cdx.json
USER 10001:10001
ENV WEIR_STATE_DIR=/var/lib/weir
VOLUME /var/lib/weir
EXPOSE 8080 8081 9090
ENTRYPOINT ["weir"]
CMD ["serve", "--roles", "control,gate"]
