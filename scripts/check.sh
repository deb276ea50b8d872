#!/usr/bin/env bash
# Builds and tests everything; the last line is ctest's. Before that the parsers are fuzzed for half a
# minute each. `--full` fuzzes for ten minutes each, and repeats the tests under the address,
# undefined-behaviour and thread sanitizers.
set -euo pipefail
cd "$(dirname "$0")/.."

full=no
case "${1:-}" in
  "") ;;
  --full) full=yes ;;
  *) echo "usage: scripts/check.sh [--full]" >&2; exit 2 ;;
esac

check() {
  cmake --preset "$1"
  cmake --build --preset "$1" -j "$(nproc)"
  tests/run "$2"
}

scripts/install_packages.sh
scripts/install_plugins.sh xla_cpu cuda-compiler
if [ $full = yes ]; then
  export LOCKSTEP_FULL_TESTS=1
  scripts/fuzz.sh 600
  check asan build-asan
  check tsan build-tsan
else
  scripts/fuzz.sh 30
fi
check release build
