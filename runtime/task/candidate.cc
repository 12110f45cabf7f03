#include "runtime/task/candidate.h"

namespace hiera {

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFaster:
      return "faster";
    case Verdict::kNotFaster:
      return "not faster";
    case Verdict::kBuildFailed:
      return "build failed";
    case Verdict::kCrashed:
      return "crashed";
    case Verdict::kTimedOut:
      return "timed out";
    case Verdict::kWrong:
      return "wrong";
    case Verdict::kMisbehaved:
      return "misbehaved";
    case Verdict::kUnloadable:
      return "could not be loaded";
  }
  return "?";
}

}  // namespace hiera
