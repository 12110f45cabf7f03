// Typed constructors: GEMM, convolution and stencils as tasks, in the very form that ParseTask
// would have made of the formula, so that both share a key. Pure functions. Errors:
// kInvalidArgument, naming the field at fault as the C API spells it.
#ifndef HIERA_RUNTIME_TASK_CONSTRUCTORS_H_
#define HIERA_RUNTIME_TASK_CONSTRUCTORS_H_

#include "hiera/hiera.h"
#include "runtime/base/status.h"
#include "runtime/task/task.h"

namespace hiera {

// The descriptors are those of the C API; struct_size has been dealt with, baseline and
// baseline_user are not looked at.
Result<Task> MakeGemm(const hiera_gemm& gemm);           // tensors A, B, C [, bias]; alpha, beta
Result<Task> MakeConv(const hiera_conv& conv);           // tensors X, W, Y [, bias]
Result<Task> MakeStencil(const hiera_stencil& stencil);  // tensors u, v
Result<Task> MakeFormula(const hiera_formula& formula);

// A contract from the C API's struct; null gives the defaults.
Result<Contract> MakeContract(const hiera_contract* contract);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_CONSTRUCTORS_H_
