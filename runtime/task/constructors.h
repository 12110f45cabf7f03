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
//
// Tensors A, B, C [, bias]; scalars alpha, beta. A, B and C are [m, k], [k, n] and [m, n] with
// strides that say how they are stored, and where batch is above 1 have a batch axis first, unless
// one matrix serves the whole batch (same_a, same_b).
// C[b,i,j] = activation(alpha*sum(k: A[b,i,k]*B[b,k,j]) + beta*C[b,i,j] + bias[i or j])
Result<Task> MakeGemm(const hiera_gemm& gemm);

// Tensors X, W, Y [, bias]. Where groups is above 1 they are an axis of their own: X [n, g, c/g,
// ...], W [g, f/g, c/g, ...], Y [n, g, f/g, ...], bias [g, f/g], the same memory. The rule of X is
// zero where there is padding, else refuse.
// Y[n,f,y] = activation(sum(c,r: X[n,c,stride*y+dilation*r-pad]*W[f,c,r]) + bias[f])
Result<Task> MakeConv(const hiera_conv& conv);

// Tensors u, v; several steps carry v into u.
Result<Task> MakeStencil(const hiera_stencil& stencil);

Result<Task> MakeFormula(const hiera_formula& formula);

// A contract from the C API's struct; null gives the defaults.
Result<Contract> MakeContract(const hiera_contract* contract);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_CONSTRUCTORS_H_
