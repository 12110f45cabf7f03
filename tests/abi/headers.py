#!/usr/bin/env python3
"""Compiles each public header alone in every dialect it promises, warnings being errors.

headers.py INCLUDE_FOLDER COMPILER...   where a compiler is named gcc*, g++*, clang* or clang++*
"""

import pathlib
import shutil
import subprocess
import sys

C = ["c99", "c11", "c17", "c2x"]
CXX = ["c++11", "c++14", "c++17", "c++20"]
FLAGS = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-pedantic-errors", "-fsyntax-only"]

# What a caller writes first, so that macros and inline functions are compiled too.
USE_H = """#include <hiera/hiera.h>
#ifdef __cplusplus
#define VOID
#else
#define VOID void
#endif
int use(VOID);
int use(VOID) {
  hiera_config config = HIERA_CONFIG_INIT;
  hiera_contract contract = HIERA_CONTRACT_INIT;
  hiera_formula formula = HIERA_FORMULA_INIT;
  hiera_gemm gemm = HIERA_GEMM_INIT;
  hiera_conv conv = HIERA_CONV_INIT;
  hiera_stencil stencil = HIERA_STENCIL_INIT;
  hiera_op_info info = HIERA_OP_INFO_INIT;
  hiera_stats stats = HIERA_STATS_INIT;
  formula.contract = &contract;
  return (int)(config.struct_size + formula.struct_size + gemm.struct_size + conv.struct_size +
               stencil.struct_size + info.struct_size + stats.struct_size);
}
"""
USE_HPP = """#include <hiera/hiera.hpp>
int use();
int use() {
  hiera::Engine engine;
  hiera::Op op = engine.Create(hiera::Formula("y[i] = a*x[i]")
                                   .tensor(hiera::Tensor("x").f32({8}).outside(HIERA_OUTSIDE_ZERO))
                                   .tensor(hiera::Tensor("y").f32({8}).strides({2}))
                                   .scalar("a"));
  float x[8], y[16];
  op.Run({x, y}, {2.0});
  return op.Settle(std::chrono::seconds(1)) ? int(op.info().generation + op.Explain().size()) : 0;
}
"""


def compile_text(compiler, language, dialect, include, text):
    command = [compiler, "-x", language, f"-std={dialect}", "-I", include, *FLAGS, "-"]
    done = subprocess.run(command, input=text, text=True, capture_output=True)
    if done.returncode != 0:
        print(" ".join(command) + "\n" + done.stderr)
    return done.returncode == 0


def main():
    include, compilers = sys.argv[1], [c for c in sys.argv[2:] if shutil.which(c)]
    names = [pathlib.Path(c).name for c in compilers]
    if not any("++" in n for n in names) or not any("++" not in n for n in names):
        sys.exit("neither a C nor a C++ compiler among: " + " ".join(sys.argv[2:]))
    good = True
    compiled = 0
    for compiler, name in zip(compilers, names):
        cases = [("c++", d, t) for d in CXX for t in (USE_H, USE_HPP)] if "++" in name else [
            ("c", d, USE_H) for d in C]
        for language, dialect, text in cases:
            good = compile_text(compiler, language, dialect, include, text) and good
            compiled += 1
    print(f"{compiled} compilations with {', '.join(names)}")
    sys.exit(0 if good else 1)


main()
