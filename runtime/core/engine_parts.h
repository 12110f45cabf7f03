// EngineParts as an application gets them: the configured device, store, planner and libraries.
#ifndef HIERA_RUNTIME_CORE_ENGINE_PARTS_H_
#define HIERA_RUNTIME_CORE_ENGINE_PARTS_H_

#include "runtime/base/status.h"
#include "runtime/core/engine.h"

namespace hiera {

// The engine of a configuration whose struct_size has been dealt with. A store that cannot be had
// is no error: the engine then has baselines alone, and one warning says why. Errors:
// kInvalidArgument (names the field), kUnsupported (no such device here).
Result<EngineParts> RealParts(const hiera_config& config);

}  // namespace hiera

#endif  // HIERA_RUNTIME_CORE_ENGINE_PARTS_H_
