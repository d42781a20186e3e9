# A static binary in an empty image: docker build -t contrail . && docker run --rm contrail demo
#
# To record into the current folder, with the proxy on port 8080:
#   docker run --rm -p 127.0.0.1:8080:8080 -v "$PWD:/work" --user "$(id -u):$(id -g)" \
#     contrail record --listen 0.0.0.0:8080 --upstream https://TENANT --out fixtures/first
#
# A proxy that stays, with metrics and health checks: examples/compose.yaml, examples/kubernetes/
#
# With what reaches beyond one machine (docs/fleet.md): docker build --build-arg FEATURES=fleet -t contrail .
FROM rust:1.95-alpine AS build
RUN apk add --no-cache musl-dev make
WORKDIR /src
COPY . .
ARG FEATURES=""
# What --version prints of the source: the context has no history. As `git log -1 --format='%h %cs'` prints it.
ARG CONTRAIL_COMMIT=""
RUN cargo build --locked --release --features "$FEATURES"
# Modes of directories survive a copy of their parent.
RUN mkdir /image && mkdir -m 1777 /image/tmp && mkdir -m 0777 /image/work

FROM scratch
COPY --from=build /src/target/release/contrail /contrail
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /image/ /
WORKDIR /work
# Nobody in particular. Name another user with --user, for files of your own.
USER 65532:65532
# Where the certificate authority is kept; mount a folder there to keep it longer than the container.
ENV XDG_DATA_HOME=/tmp
ENTRYPOINT ["/contrail"]
