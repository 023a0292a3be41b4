#!/usr/bin/env bash
# Judges the kernels of a change and tells GitHub what came of it: a step of action.yml, which sets INPUT_….
# Exits as `warpsmith gate` does. Nothing of an input becomes a part of a command: each is one word.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
results=${RUNNER_TEMP:?}/warpsmith-gate
mkdir -p "$results"
# An earlier step of the same job may have left some.
rm -f "$results/gate.md" "$results/gate.sarif"

words=(gate "--base=${INPUT_BASE:-}" "--markdown=$results/gate.md" "--sarif=$results/gate.sarif")
given() {
  if [ -n "$2" ]; then words+=("$1=$2"); fi
}
given --device "${INPUT_DEVICE:-}"
given --max-slowdown "${INPUT_MAX_SLOWDOWN:-}"
given --checks "${INPUT_CHECKS:-}"
given --most "${INPUT_MOST:-}"
given --baseline "${INPUT_BASELINE:-}"
while IFS= read -r workload; do given --workload "$workload"; done <<<"${INPUT_WORKLOADS:-}"

code=0
node "$root/bin/warpsmith.mjs" "${words[@]}" -- "${INPUT_FOLDER:-.}" || code=$?

if [ -f "$results/gate.md" ]; then cat "$results/gate.md" >>"${GITHUB_STEP_SUMMARY:?}"; fi
{
  echo "exit-code=$code"
  if [ -f "$results/gate.md" ]; then echo "markdown=$results/gate.md"; fi
  if [ -f "$results/gate.sarif" ]; then echo "sarif=$results/gate.sarif"; fi
} >>"${GITHUB_OUTPUT:?}"
exit "$code"
