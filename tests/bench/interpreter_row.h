// One formula that bench_interpreter runs, and the loops that a programmer would write for it.
#ifndef HIERA_TESTS_BENCH_INTERPRETER_ROW_H_
#define HIERA_TESTS_BENCH_INTERPRETER_ROW_H_

#include <string>
#include <vector>

namespace hiera {

struct InterpreterRow {
  std::string name, text;
  long outer = 0;  // of the outermost loop
  // Iterations [begin, end) of it, with the call's pointers.
  void (*loops)(void* const* p, long begin, long end) = nullptr;
};

// Stars and boxes of several radii, in f32 and f64.
std::vector<InterpreterRow> StencilRows();

}  // namespace hiera

#endif  // HIERA_TESTS_BENCH_INTERPRETER_ROW_H_
