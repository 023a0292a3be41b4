#!/usr/bin/env bash
# Records on a machine with a GPU, in one go, what docs/measuring.md shows of it: throughput with what a screen costs, the red
# team, exploits, honest kernels, A/A and the sensitivity to 3 %.
#
#   bash bench/referee/record-on-gpu.sh [--device cuda:0] [--bundle FILE] [--output FOLDER]
#
# Run it in a checkout. Node and packages come from the checkout, or else from the bundle (`npm run bundle`). Each recording is
# made anew in FOLDER (docs/results by default) and replaces the one before when its part has ended; a part that fails is
# said, and the others go on. Expected, from the limits below and what these took on an H200 before:
#
#   throughput   45 s of screens, start and two profiles      1.2 min
#   red team     some 55 kernels, half a second each          0.8 min
#   exploits     some 17 acceptances of 3 to 5 s              1.2 min
#   honest       100 evaluations of about 1.1 s               1.9 min
#   A/A          as many of 200 as fit                        2.1 min
#   sensitivity  as many of 50 as fit                         2.1 min
#                                                    together 9.3 min; whatever is not done after 12 is ended
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

device=cuda:0
bundle=''
output=docs/results
while [ $# -gt 0 ]; do
  case "$1" in
    --device) device=$2 ;;
    --bundle) bundle=$2 ;;
    --output) output=$2 ;;
    *) echo "unknown option $1; there are --device, --bundle and --output" >&2; exit 2 ;;
  esac
  shift 2 || { echo "an option without its value" >&2; exit 2; }
done

work=$(mktemp -d)
linked=''
finish() {
  [ -n "$linked" ] && rm -f node_modules
  rm -rf "$work"
}
trap finish EXIT

node=node_modules/.bin/node
if [ -n "$bundle" ]; then
  mkdir "$work/bundle"
  tar -xf "$bundle" -C "$work/bundle" --strip-components=1 || exit 1
  node="$work/bundle/node/bin/node"
  [ -e node_modules ] || { ln -s "$work/bundle/node_modules" node_modules && linked=yes; }
fi
[ -x "$node" ] || node=$(command -v node) || { echo "no Node: name a bundle with --bundle" >&2; exit 3; }

mkdir -p "$output"
failed=''
# record NAME LIMIT_SECONDS PROGRAM OPTIONS...
record() {
  local name=$1 limit=$2 file="$work/$1.json" started=$SECONDS
  shift 2
  echo "== $name" >&2
  if timeout --kill-after=10 "$limit" "$node" "$@" --device "$device" --output "$file"; then
    mv "$file" "$output/$name.json"
  else
    # What there is of it is kept beside the one before.
    [ -e "$file" ] && mv "$file" "$output/$name.partial.json"
    failed="$failed $name"
  fi
  echo "== $name: $((SECONDS - started)) s" >&2
}

# What exploits gained on versions without defence stays; what they are told now is recorded anew.
if [ -e docs/results/h200-exploits.json ]; then
  "$node" -e 'const { readFileSync: read, writeFileSync: write } = require("node:fs");
    const earlier = JSON.parse(read(process.argv[1], "utf8"));
    write(process.argv[2], JSON.stringify({ ...earlier, after: [] }));' \
    docs/results/h200-exploits.json "$work/h200-exploits.json"
fi

record h200-throughput 110 bench/referee/throughput.ts --seconds 45
record h200-red-team 110 bench/referee/red-team.ts
record h200-exploits 110 bench/referee/exploits.ts
record h200-honest 125 bench/referee/honest.ts --count 100
record h200-a-a 130 bench/measuring/a-a.ts --minutes 2
record h200-sensitivity 130 bench/measuring/sensitivity.ts --minutes 2

echo "$SECONDS s in all" >&2
[ -z "$failed" ] || { echo "not recorded:$failed" >&2; exit 1; }
echo "now: npm run figures" >&2
