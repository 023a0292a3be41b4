#!/bin/sh
# Starts warpsmith with the Node that lies beside it, from any folder and through symbolic links.
self=$0
while [ -L "$self" ]; do
  target=$(readlink "$self")
  case $target in
    /*) self=$target ;;
    *) self=$(dirname "$self")/$target ;;
  esac
done
home=$(CDPATH='' cd "$(dirname "$self")" && pwd -P) || exit 3
exec "$home/node/bin/node" "$home/bin/warpsmith.mjs" "$@"
