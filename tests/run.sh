#!/usr/bin/env bash
# Installs what is missing on Debian 12, builds, and runs every test.
#   bash tests/run.sh [CTEST OPTION...]     for example: -L unit, or -R parse
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
bash "$root/cmake/build.sh" "$root/build"
cd "$root/build"
ctest --output-on-failure --no-tests=error -j "$(nproc)" "$@"
