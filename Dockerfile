# warpsmith with its virtual GPUs:
#   docker build -t warpsmith .
#   docker run --rm warpsmith doctor
#   docker run --rm -v "$PWD:/work" warpsmith evaluate my-problem --device virtual:l4
FROM node:24-slim AS build
WORKDIR /build
COPY . .
RUN npm ci --ignore-scripts && npm pack --pack-destination /tmp

FROM node:24-slim
COPY --from=build /tmp/warpsmith-*.tgz /tmp/
RUN npm install --global --ignore-scripts /tmp/warpsmith-*.tgz && npm cache clean --force
# Kernels are untrusted: nothing here runs as root.
USER node
WORKDIR /work
ENTRYPOINT ["warpsmith"]
CMD ["doctor"]
