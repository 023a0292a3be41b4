#!/usr/bin/env bash
# What the seconds of a light profile on a real GPU go to: start of ncu and of its target, the first kernel, metrics, and opcodes of machine code.
#
#     bash bench/counters/profile-parts.sh ARGUMENTS FOLDER
#
# ARGUMENTS: a file with ncu's arguments, a line each, as warpsmith gives them; FOLDER: its working folder with the replay's request. A wrapper named ncu, first
# on the search path, keeps both. Prints milliseconds of each part, twice.
set -u
mapfile -t arguments < "$1"
cd "$2" || exit 1
for i in "${!arguments[@]}"; do [[ "${arguments[$i]}" == */node ]] && { at=$i; break; }; done
options=("${arguments[@]:0:$at}")
target=("${arguments[@]:$at}")

timed() {
  local name=$1; shift
  for _ in 1 2; do
    local start=$EPOCHREALTIME
    "$@" > /dev/null 2>&1
    local end=$EPOCHREALTIME
    echo "$(((${end/./} - ${start/./}) / 1000)) ms $name"
  done
}

# Without the metrics that need instrumented machine code; with one metric alone; with no kernel that is profiled.
plain=(); lone=(); isList=no
for option in "${options[@]}"; do
  if [ $isList = yes ]; then
    plain+=("$(tr , '\n' <<< "$option" | grep -v sass__ | paste -sd,)"); lone+=(gpu__time_duration.sum); isList=no
  else
    plain+=("$option"); lone+=("$option")
  fi
  [ "$option" = --metrics ] && isList=yes
done
timed 'all of it' ncu "${options[@]}" "${target[@]}"
timed 'without opcodes' ncu "${plain[@]}" "${target[@]}"
timed 'one metric' ncu "${lone[@]}" "${target[@]}"
timed 'no kernel is profiled' ncu "${lone[@]/^(/^(none}" "${target[@]}"
timed 'the target without ncu' "${target[@]}"
timed 'ncu and a program that does nothing' ncu --target-processes application-only "${target[0]}" -e 0
