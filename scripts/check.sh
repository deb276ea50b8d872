#!/usr/bin/env bash
# Builds and tests everything; the last line is ctest's. `--full` first repeats the tests under the
# address, undefined-behaviour and thread sanitizers (about three times as long).
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
if [ $full = yes ]; then
  check asan build-asan
  check tsan build-tsan
fi
check release build
