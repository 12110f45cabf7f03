#!/usr/bin/env bash
# pack.sh [BUILD [FOLDER]]: puts the GPU tests, the product, its samples and the shared libraries
# that they need into FOLDER (default dist/gpu), so that they run on a machine that has a GPU but no
# build: bash FOLDER/run.sh, bash FOLDER/product.sh. Needs patchelf.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(realpath "${1:-$root/build}")
folder=$(realpath -m "${2:-$root/dist/gpu}")
rm -rf "$folder"
mkdir -p "$folder/lib"
for program in gpu_device_test gpu_capture_test gpu_interpreter_test gpu_generated_test \
  gpu_api_test gpu_evaluator_test gpu_swap_test gpu_rates hiera-evaluator \
  library_gpu_test library_rows; do
  strip -o "$folder/$program" "$build/bin/$program"
done
strip -o "$folder/libhiera.so.0" "$build/bin/libhiera.so.0"
# shellcheck disable=SC2016  # the dynamic linker knows what $ORIGIN is
patchelf --force-rpath --set-rpath '$ORIGIN/lib' "$folder/hiera-evaluator"
# What the tests link beside libc, for a machine whose own are older.
for program in "$folder"/gpu_* "$folder"/library_* "$folder"/hiera-evaluator; do
  ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }'
done | sort -u | while read -r library; do
  case $(basename "$library") in
    libhiera.* | libc.* | libm.* | libpthread.* | libdl.* | ld-linux*) ;;
    *) cp -L "$library" "$folder/lib/" ;;
  esac
done

# The product as it is installed. Its processes find the libraries that they link beside them.
prefix=$folder/prefix
cmake --install "$build" --prefix "$prefix" --strip >/dev/null
for program in "$prefix/bin/hiera" "$prefix"/libexec/hiera/*; do
  ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | while read -r library; do
    case $(basename "$library") in
      libhiera.* | libc.* | libm.* | libpthread.* | libdl.* | ld-linux*) ;;
      *) cp -Lu "$library" "$folder/lib/" ;;
    esac
  done
  # shellcheck disable=SC2016  # the dynamic linker knows what $ORIGIN is
  patchelf --force-rpath --set-rpath '$ORIGIN/../lib:$ORIGIN/../../lib:$ORIGIN/../../../lib' \
    "$program"
done
samples=$build/samples-to-pack
cmake -S "$root/samples" -B "$samples" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$samples" --target heat_cuda >/dev/null
strip -o "$folder/heat_cuda" "$samples/heat_cuda"
# shellcheck disable=SC2016
patchelf --force-rpath --set-rpath '$ORIGIN/prefix/lib' "$folder/heat_cuda"

cp "$root"/tests/gpu/{run,product}.sh "$root/samples/shapes/deepbench_gemm.csv" "$folder/"
du -sh "$folder"
