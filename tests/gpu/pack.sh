#!/usr/bin/env bash
# pack.sh [BUILD [FOLDER]]: puts the GPU tests and the shared libraries that they need into FOLDER
# (default dist/gpu), so that they run on a machine that has a GPU but no build: bash FOLDER/run.sh.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build}
folder=${2:-$root/dist/gpu}
rm -rf "$folder"
mkdir -p "$folder/lib"
for program in gpu_device_test gpu_capture_test gpu_interpreter_test gpu_generated_test \
  gpu_api_test gpu_rates \
  library_gpu_test library_rows; do
  strip -o "$folder/$program" "$build/bin/$program"
done
strip -o "$folder/libhiera.so.0" "$build/bin/libhiera.so.0"
# What the tests link beside libc, for a machine whose own are older.
for program in "$folder"/gpu_* "$folder"/library_*; do
  ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }'
done | sort -u | while read -r library; do
  case $(basename "$library") in
    libhiera.* | libc.* | libm.* | libpthread.* | libdl.* | ld-linux*) ;;
    *) cp -L "$library" "$folder/lib/" ;;
  esac
done
cp "$root/tests/gpu/run.sh" "$folder/run.sh"
du -sh "$folder"
