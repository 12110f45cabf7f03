#!/usr/bin/env bash
# The main job from nothing on Debian 12: installs what is missing, builds, installs into
# build/demo, builds the samples against that, runs the heat solver cold and then warm, and plans
# DeepBench's GEMM shapes that fit a CPU. Its store lies in build/demo too: yours is not touched.
#   bash samples/demo.sh
# DEMO_MAX_GFLOP (0.1) bounds the GEMM shapes, DEMO_SECONDS (6) the time that is spent on each.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
demo=$root/build/demo

bash "$root/cmake/build.sh" "$root/build"
cmake --install "$root/build" --prefix "$demo/prefix" >/dev/null
cmake -S "$root/samples" -B "$demo/samples" -G Ninja -DCMAKE_PREFIX_PATH="$demo/prefix" >/dev/null
cmake --build "$demo/samples"

# OpenBLAS chooses its kernels for this processor, whatever the environment would have it choose.
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
rm -rf "$demo/store"
export HIERA_STORE=$demo/store
hiera=$demo/prefix/bin/hiera
trap '"$hiera" stop >/dev/null 2>&1 || true' EXIT

heat() {
  "$demo/samples/heat" --in "$root/samples/heat/lighthouse.png" --out "$demo/$1.png" |
    tee "$demo/$1.txt"
}
echo "--- heat, cold store"
heat cold
echo "--- heat, warm store"
heat warm
echo "--- DeepBench GEMM shapes of at most ${DEMO_MAX_GFLOP:-0.1} GFLOP, f32"
"$hiera" tune --column-major --max-gflop "${DEMO_MAX_GFLOP:-0.1}" --seconds "${DEMO_SECONDS:-6}" \
  "$root/samples/shapes/deepbench_gemm.csv" | tee "$demo/tune.txt" |
  grep --line-buffered -v 'left out'

rate='[0-9.]+'
cold=$(sed -nE "s/^heat: (baseline $rate steps.s, swapped $rate steps.s \($rate x\)).*/\1/p" \
  "$demo/cold.txt")
warm=$(sed -nE 's/^heat: baseline .* swapped at call ([0-9]+)$/\1/p' "$demo/warm.txt")
gemm=$(sed -nE "s/^tune: (.* GEMM shapes faster \(geomean $rate x\))$/\1/p" "$demo/tune.txt")
echo "demo: $cold, warm from call $warm, $gemm"
