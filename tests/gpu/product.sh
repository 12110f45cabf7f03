#!/usr/bin/env bash
# product.sh: the product at work on a GPU, with an empty store: the heat solver cold and warm, and
# DeepBench's GEMM shapes planned for the time that SHAPE_SECONDS (4) gives each. Runs what pack.sh
# put beside this script, and leaves what was printed in ${OUT:-.}. Ends with 1 if anything failed.
#   DTYPES="f32 f16 bf16" ROWS=6 bash product.sh      (every so many rows of the file)
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${OUT:-.}
failed=0
HIERA_STORE=$(mktemp -d)
HIERA_RUNTIME_DIR=$(mktemp -d)
export HIERA_STORE HIERA_RUNTIME_DIR
hiera=$here/prefix/bin/hiera
trap '"$hiera" stop >/dev/null 2>&1; rm -rf "$HIERA_STORE" "$HIERA_RUNTIME_DIR"' EXIT

run() {
  local name=$1
  shift
  timeout 150 "$@" >"$out/$name.log" 2>&1
  local code=$?
  [ $code -eq 0 ] || failed=1
  echo "--- $name (exit $code)"
  tail -n "${TAIL:-12}" "$out/$name.log"
}

run heat_cold "$here/heat_cuda" 8192 60
run heat_warm "$here/heat_cuda" 8192 3
for dtype in ${DTYPES:-f32 f16}; do
  awk -v every="${ROWS:-12}" 'NR == 1 || NR % every == 2' "$here/deepbench_gemm.csv" \
    >"$out/gemm_$dtype.csv"
  run "gemm_$dtype" "$hiera" tune --device cuda --column-major --dtype "$dtype" \
    --seconds "${SHAPE_SECONDS:-4}" "$out/gemm_$dtype.csv"
done
"$hiera" ls >"$out/ls.log" 2>&1
exit $failed
