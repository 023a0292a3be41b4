#!/usr/bin/env bash
# Installs what warpsmith runs with, unless it is there: a step of action.yml.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [ -d node_modules/commander ]; then
  echo 'warpsmith is installed.'
else
  npm ci --omit=dev --no-audit --no-fund
fi
