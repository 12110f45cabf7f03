// An Executable that makes the calls of a CblasCall. Immutable; several threads may run it at once,
// as far as the library allows.
#ifndef HIERA_RUNTIME_LIBRARY_CBLAS_EXECUTABLE_H_
#define HIERA_RUNTIME_LIBRARY_CBLAS_EXECUTABLE_H_

#include <memory>

#include "runtime/device/device.h"
#include "runtime/library/blas_library.h"
#include "runtime/task/cblas_call.h"

namespace hiera {

std::unique_ptr<Executable> MakeCblasExecutable(const CblasCall& call,
                                                const CblasFunctions& functions);

}  // namespace hiera

#endif  // HIERA_RUNTIME_LIBRARY_CBLAS_EXECUTABLE_H_
