#!/usr/bin/env bash
# Builds with a sanitizer and runs the unit, property, fault and end-to-end tests under it.
#   bash tests/sanitize.sh address|thread [CTEST OPTION...]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
preset=${1:?address or thread}
shift
bash "$root/cmake/packages.sh"
cd "$root"
cmake --preset "$preset"
cmake --build --preset "$preset"
# RocksDB and the libraries of the system are not built with the sanitizer.
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 halt_on_error=1 ${TSAN_OPTIONS:-}"
ctest --preset "$preset" --no-tests=error -j "$(nproc)" "$@"
