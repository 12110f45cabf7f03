// The C++ compilers of this machine, and how candidates are built with them.
// Pure functions but for DiscoverCompilers, which runs each compiler once.
#ifndef HIERA_RUNTIME_EVALUATOR_COMPILERS_H_
#define HIERA_RUNTIME_EVALUATOR_COMPILERS_H_

#include <string>
#include <vector>

#include "runtime/base/environment.h"
#include "runtime/base/status.h"
#include "runtime/task/candidate.h"
#include "runtime/task/contract.h"

namespace hiera {

struct Compiler {
  std::string path;     // "" where there is none
  std::string version;  // its first line about itself
};

struct Compilers {
  Compiler gcc, clang;
  const Compiler& of(Candidate::Compiler which) const {
    return which == Candidate::Compiler::kClang ? clang : gcc;
  }
};

// HIERA_GCC and HIERA_CLANG, else g++ and the newest of clang++-19 ... clang++-14 and clang++ on
// PATH. A compiler that does not run is none.
Compilers DiscoverCompilers(const Environment& environment);

// The arguments between the compiler's name and the files. Errors: kInvalidArgument, naming the
// flag of the candidate that is not on the list of those allowed and why the list is what it is.
Result<std::vector<std::string>> BuildArguments(const std::vector<std::string>& candidate_flags,
                                                Arithmetic arithmetic);

// What compilers are started with.
std::vector<std::string> CompilerEnvironment(const Environment& environment,
                                             const std::string& temporary);

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_COMPILERS_H_
