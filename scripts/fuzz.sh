#!/usr/bin/env bash
# Builds the fuzz targets of all parsers and runs each on its corpus and SECONDS (30) more, two at a
# time. What breaks one is left in build-fuzz/found/<target>.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-30}

scripts/install_packages.sh clang libclang-rt-dev
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz -j "$(nproc)"

run_target() {
  local target=$1 seconds=$2 found=build-fuzz/found/$1 corpus=tests/fuzz/corpus/$1
  mkdir -p "$found"
  [ -d "$corpus" ] || corpus=
  # libhdf5 keeps memory of files it could not open, and copies from beyond its own headers:
  # lockstep/formats/hdf5.h says what is not promised.
  if ASAN_OPTIONS=suppressions=tests/asan_suppressions.txt:detect_leaks=$([ "$target" = hdf5 ] && echo 0 || echo 1) \
    "build-fuzz/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 \
    -artifact_prefix="$found/" -print_final_stats=1 "$found" $corpus >"$found.log" 2>&1; then
    echo "fuzz $target: no finding in $(sed -n 's/^stat::number_of_executed_units: *//p' "$found.log") runs"
  else
    tail -40 "$found.log"
    echo "fuzz $target: FAILED, see $found" >&2
    return 1
  fi
}
export -f run_target

ls tests/fuzz/fuzz_*.cpp | sed 's,.*/fuzz_\(.*\)\.cpp,\1,' |
  xargs -P 2 -I TARGET bash -c "run_target TARGET $seconds"
