# syntax=docker/dockerfile:1
# One image per program: docker build --target NAME .
# The programs are NAME of each `FROM runtime AS NAME` below; without --target it is karmada-failover, all controllers
# in one program (without the demo and its in-memory API server).

FROM rust:1.95.0-bookworm AS build
WORKDIR /src
COPY . .
# The context has no .git: --build-arg KARMADA_FAILOVER_VERSION="0.1.0+$(git rev-parse --short HEAD)" says which commit
# this is. Without it --version shows the package's version alone.
ARG KARMADA_FAILOVER_VERSION=""
# Two commands for all: the programs of each share nearly all they are made of. The services are built for speed; the
# program with everything in it and the one that people call are built for size. Of these packages only karmada-failover
# has default features, and only the demo among them.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --release --locked --bins \
        --package agent \
        --package taint-policy-controller \
        --package cluster-health-controller \
        --package taint-manager \
        --package application-failover-controller \
        --package eviction-queue \
        --package graceful-eviction-controller \
        --package scheduler \
        --package propagation-controllers \
        --package webhook \
    && cargo build --profile compact --locked --no-default-features --bins \
        --package karmada-failover \
        --package failoverctl \
    && OUT="${OUT:-/out}" \
    && mkdir -p "$OUT" \
    && cargo run --release --locked --package xtask -- sbom --output "$OUT/sbom.cdx.json" \
    && cargo run --release --locked --package xtask -- third-party --output "$OUT/THIRD-PARTY.txt" \
    && for program in agent \
        taint-policy-controller \
        cluster-health-controller \
        taint-manager \
        application-failover-controller \
        eviction-queue \
        graceful-eviction-controller \
        scheduler \
        propagation-controllers \
        webhook; \
    do cp "${CARGO_TARGET_DIR:-target}/release/$program" "$OUT/" || exit 1; done \
    && for program in karmada-failover failoverctl; \
    do cp "${CARGO_TARGET_DIR:-target}/compact/$program" "$OUT/" || exit 1; done

# glibc and nothing else: no shell, no package manager, a user without rights.
FROM gcr.io/distroless/cc-debian12:nonroot AS runtime
# What the programs are made of, and under which licences.
COPY LICENSE /usr/share/doc/karmada-failover/LICENSE
COPY --from=build /out/sbom.cdx.json /usr/share/doc/karmada-failover/sbom.cdx.json
COPY --from=build /out/THIRD-PARTY.txt /usr/share/doc/karmada-failover/THIRD-PARTY.txt
ARG KARMADA_FAILOVER_VERSION=""
LABEL org.opencontainers.image.title="karmada-failover" \
    org.opencontainers.image.version="${KARMADA_FAILOVER_VERSION}" \
    org.opencontainers.image.licenses="Apache-2.0"
USER 65532:65532

FROM runtime AS failoverctl
COPY --from=build /out/failoverctl /usr/local/bin/failoverctl
ENTRYPOINT ["/usr/local/bin/failoverctl"]

FROM runtime AS agent
COPY --from=build /out/agent /usr/local/bin/agent
ENTRYPOINT ["/usr/local/bin/agent"]

FROM runtime AS taint-policy-controller
COPY --from=build /out/taint-policy-controller /usr/local/bin/taint-policy-controller
ENTRYPOINT ["/usr/local/bin/taint-policy-controller"]

FROM runtime AS cluster-health-controller
COPY --from=build /out/cluster-health-controller /usr/local/bin/cluster-health-controller
ENTRYPOINT ["/usr/local/bin/cluster-health-controller"]

FROM runtime AS taint-manager
COPY --from=build /out/taint-manager /usr/local/bin/taint-manager
ENTRYPOINT ["/usr/local/bin/taint-manager"]

FROM runtime AS application-failover-controller
COPY --from=build /out/application-failover-controller /usr/local/bin/application-failover-controller
ENTRYPOINT ["/usr/local/bin/application-failover-controller"]

FROM runtime AS eviction-queue
COPY --from=build /out/eviction-queue /usr/local/bin/eviction-queue
ENTRYPOINT ["/usr/local/bin/eviction-queue"]

FROM runtime AS graceful-eviction-controller
COPY --from=build /out/graceful-eviction-controller /usr/local/bin/graceful-eviction-controller
ENTRYPOINT ["/usr/local/bin/graceful-eviction-controller"]

FROM runtime AS scheduler
COPY --from=build /out/scheduler /usr/local/bin/scheduler
ENTRYPOINT ["/usr/local/bin/scheduler"]

FROM runtime AS propagation-controllers
COPY --from=build /out/propagation-controllers /usr/local/bin/propagation-controllers
ENTRYPOINT ["/usr/local/bin/propagation-controllers"]

FROM runtime AS webhook
COPY --from=build /out/webhook /usr/local/bin/webhook
ENTRYPOINT ["/usr/local/bin/webhook"]

# The last one is what `docker build .` makes.
FROM runtime AS karmada-failover
COPY --from=build /out/karmada-failover /usr/local/bin/karmada-failover
ENTRYPOINT ["/usr/local/bin/karmada-failover"]
