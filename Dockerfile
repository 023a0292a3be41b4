# warpsmith with its virtual GPUs:
#   docker build -t warpsmith .
#   docker run --rm warpsmith doctor
#   docker run --rm -v "$PWD:/work" warpsmith evaluate my-problem --trust --device virtual:l4
FROM node:24-slim AS build
WORKDIR /build
COPY . .
RUN npm ci --ignore-scripts && npm pack --pack-destination /tmp

FROM node:24-slim
COPY --from=build /tmp/warpsmith-*.tgz /tmp/
RUN npm install --global --ignore-scripts /tmp/warpsmith-*.tgz && npm cache clean --force && rm /tmp/warpsmith-*.tgz
# Builders differ in who owns a folder that WORKDIR makes.
RUN mkdir /work && chown node:node /work
# Also for a user whom `docker run --user` names.
ENV HOME=/home/node
# Kernels are untrusted: nothing here runs as root.
USER node
WORKDIR /work
ENTRYPOINT ["warpsmith"]
CMD ["doctor"]
