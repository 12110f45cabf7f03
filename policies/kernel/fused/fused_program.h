// Which tasks the fused family takes, on either device: those made of rows whose elements lie
// beside one another, and that are no matrix product. Pure functions.
#ifndef HIERA_POLICIES_KERNEL_FUSED_FUSED_PROGRAM_H_
#define HIERA_POLICIES_KERNEL_FUSED_FUSED_PROGRAM_H_

#include <string_view>

#include "policies/kernel/fused/row_program.h"
#include "runtime/base/status.h"
#include "runtime/task/task.h"

namespace hiera {

// Errors: kUnsupported, with the reason.
Result<RowProgram> MakeFusedProgram(const Task& task);

// "pointwise" or "rowwise".
std::string_view FusedFamily(const RowProgram& program);

}  // namespace hiera

#endif  // HIERA_POLICIES_KERNEL_FUSED_FUSED_PROGRAM_H_
