#include "runtime/device/host/interpreter/interpreter.h"

namespace hiera {

Result<std::unique_ptr<Executable>> MakeInterpreter(const Task&, const ThreadPool&) {
  return Unsupported("this build has no interpreter of formulas");
}

}  // namespace hiera
