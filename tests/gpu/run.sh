#!/usr/bin/env bash
# run.sh: runs every GPU test and gpu_rates, those beside this script (see pack.sh) or those of
# build/bin, under compute-sanitizer too where SANITIZE=1, and leaves tables and logs in
# ${OUT:-.}. Ends with 1 if any failed.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$here
[ -x "$bin/gpu_rates" ] || bin=$here/../../build/bin
out=${OUT:-.}
failed=0
# NVIDIA's libraries: those of this machine's Python, else of its toolkit.
wheels=$(python3 -c 'import nvidia; print("\n".join(nvidia.__path__))' 2>/dev/null)
# shellcheck disable=SC2086
nvidia=$(find $wheels /usr/local/cuda/lib64 \( -name 'libcublasLt.so*' -o -name 'libcudnn.so*' \) \
  2>/dev/null | xargs -r -n1 dirname | sort -u | tr '\n' ':')
export LD_LIBRARY_PATH=$nvidia${LD_LIBRARY_PATH:-}

# The product's processes, where they were carried.
if [ -d "$bin/prefix" ]; then
  export HIERA_PLANNER=$bin/prefix/libexec/hiera/hiera-planner
  export HIERA_EVALUATOR=$bin/prefix/libexec/hiera/hiera-evaluator
fi

# Carried programs may be newer than the machine's C++ library.
run() {
  if [ -d "$bin/lib" ] && ! "$bin/gpu_device_test" --gtest_list_tests >/dev/null 2>&1; then
    LD_LIBRARY_PATH=$bin/lib:$LD_LIBRARY_PATH timeout 150 "$@"
  else
    timeout 150 "$@"
  fi
}

for program in gpu_device_test gpu_capture_test gpu_api_test gpu_interpreter_test \
  gpu_generated_test gpu_evaluator_test gpu_swap_test library_gpu_test; do
  run "$bin/$program" >"$out/$program.log" 2>&1
  code=$?
  [ $code -eq 0 ] || failed=1
  echo "$program: $(tail -n 1 "$out/$program.log") (exit $code)"
  grep -h "Failure" -A 12 "$out/$program.log" | head -n 60
done
run "$bin/gpu_rates" | tee "$out/gpu_rates.md"
if [ "${SANITIZE:-0}" = 1 ]; then
  for program in gpu_device_test gpu_capture_test; do
    run compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 9 \
      "$bin/$program" >"$out/$program.memcheck.log" 2>&1
    code=$?
    [ $code -eq 0 ] || failed=1
    echo "memcheck $program: $(tail -n 1 "$out/$program.memcheck.log") (exit $code)"
  done
fi
exit $failed
