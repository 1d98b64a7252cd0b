#!/usr/bin/env bash
# From a fresh machine to an answer: installs what is missing, builds, and compares two fleets.
#   ./quickstart.sh                                     the H100-against-A100 comparison
#   ./quickstart.sh run scenarios/long-context.yaml     any ridgeline command
source "$(dirname "$0")/scripts/setup.sh"
configure release
cmake --build --preset release --target ridgeline -j "$jobs" >build/build.log 2>&1 || { cat build/build.log >&2; exit 1; }
if (($#)); then exec build/ridgeline "$@"; fi
build/ridgeline run scenarios/h100-vs-a100.yaml --html build/h100-vs-a100.html
echo
echo "The report, with charts: build/h100-vs-a100.html"
