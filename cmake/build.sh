#!/usr/bin/env bash
# build.sh FOLDER [CMAKE OPTION...]: installs what is missing, configures and builds into FOLDER.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$1
shift
bash "$root/cmake/packages.sh"
cmake -S "$root" -B "$folder" -G Ninja "$@"
cmake --build "$folder"
