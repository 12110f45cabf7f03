// `hiera tune FILE`: plans every shape of a file ahead of its use, through the C API, just as an
// application would come to ask for them.
#ifndef HIERA_RUNTIME_TOOLS_TUNE_H_
#define HIERA_RUNTIME_TOOLS_TUNE_H_

#include <string>

#include "runtime/base/status.h"

namespace hiera {

struct TuneOptions {
  std::string file;
  std::string store;            // empty: the default
  std::string device = "host";  // as hiera_config::device
  std::string dtype = "f32";
  bool column_major = false;
  bool again = false;    // plan even what has been planned before
  double max_gflop = 0;  // leave out shapes with more work than this a run; 0: none
  uint32_t seconds = 0;  // budget per shape; 0: the planner's default
  uint32_t threads = 0;
};

// Prints a progress bar to standard error where that is a terminal, a line per shape, and a closing
// line per family: "tune: G of M GEMM shapes faster (geomean S x)". The geometric mean is over all
// M shapes, those that stay with their baseline counting as 1. Errors: kInvalidArgument (the file,
// with its line), kUnavailable (no planner).
Status Tune(const TuneOptions& options);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TOOLS_TUNE_H_
