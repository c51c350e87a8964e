# syntax=docker/dockerfile:1
# The image of the one binary. Build: docker build -t weir .
# Stages: the dashboard's optimiser, the build, the container that creates the secrets of docker-compose.yml, and the image
# itself, which does not run as root. The image carries the stripped binary; weir.debug in the stage `build` has its debug
# information.
#
# The base images are named by tag and not by digest: a digest holds back their security updates until somebody changes it
# here, and a build is no more trusted than the registry of its tags. To build from images that you have verified, replace
# the names after FROM by name@sha256:digest, from `docker buildx imagetools inspect NAME`.

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
    && cargo xtask release \
    && cp /cache/target/release/weir.cdx.json /usr/local/share/ \
    && cp /cache/target/release/weir /cache/target/release/weir.debug /usr/local/bin/

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
COPY deploy/make-secrets /usr/local/bin/make-secrets
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
EXPOSE 8080 8081 8082 9090
ENTRYPOINT ["weir"]
CMD ["serve", "--roles", "control,gate"]
