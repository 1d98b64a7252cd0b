#!/usr/bin/env bash
# Installs what is missing, builds everything and runs every test.  ./test.sh [PRESET] [CTEST ARGS...]
#   ./test.sh            Release
#   ./test.sh asan       AddressSanitizer and UndefinedBehaviorSanitizer;  ./test.sh tsan  ThreadSanitizer
source "$(dirname "$0")/scripts/setup.sh"
preset=${1:-release}
(($#)) && shift
configure "$preset"
cmake --build --preset "$preset" -j "$jobs"
ctest --preset "$preset" -j "$jobs" "$@"
