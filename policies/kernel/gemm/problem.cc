#include "policies/kernel/gemm/problem.h"

#include <string>
#include <utility>

#include "policies/kernel/gemm/source.h"

namespace hiera::gemm {
namespace {

// C^T = B^T A^T.
void Transpose(Problem* p) {
  std::swap(p->rows, p->cols);
  std::swap(p->a, p->b);
  std::swap(p->a_row, p->b_col);
  std::swap(p->a_col, p->b_row);
  std::swap(p->bias_row, p->bias_col);
  for (BatchAxis& axis : p->batch) std::swap(axis.a, axis.b);
}

// Joins neighbouring axes where the outer one continues the inner one in every operand.
std::vector<BatchAxis> Joined(const std::vector<BatchAxis>& axes) {
  std::vector<BatchAxis> joined;
  for (const BatchAxis& axis : axes) {
    if (axis.extent == 1) continue;
    if (!joined.empty()) {
      BatchAxis& outer = joined.back();
      if (outer.a == axis.extent * axis.a && outer.b == axis.extent * axis.b &&
          outer.c == axis.extent * axis.c && outer.bias == axis.extent * axis.bias) {
        const int64_t extent = outer.extent * axis.extent;
        outer = axis;
        outer.extent = extent;
        continue;
      }
    }
    joined.push_back(axis);
  }
  return joined;
}

// A batch that shares B and runs on along the rows of A and C is one taller matrix.
void StackRows(Problem* p) {
  while (!p->batch.empty()) {
    const BatchAxis& axis = p->batch.back();
    const bool stacks = axis.b == 0 && axis.a == p->rows * p->a_row &&
                        axis.c == p->rows * p->c_row &&
                        (p->bias < 0 || axis.bias == p->rows * p->bias_row);
    if (!stacks) return;
    p->rows *= axis.extent;
    p->batch.pop_back();
  }
}

}  // namespace

int64_t Problem::matrices() const {
  int64_t count = 1;
  for (const BatchAxis& axis : batch) count *= axis.extent;
  return count;
}

double Problem::bytes() const {
  double a_count = 1, b_count = 1, c_count = 1;
  for (const BatchAxis& axis : batch) {
    if (axis.a != 0) a_count *= axis.extent;
    if (axis.b != 0) b_count *= axis.extent;
    c_count *= axis.extent;
  }
  const bool reads_c = beta.scalar >= 0 || beta.value != 0;
  return element_bytes() * (a_count * rows * depth + b_count * depth * cols +
                            c_count * rows * cols * (reads_c ? 2 : 1));
}

Result<Problem> ProblemOf(const GemmView& view, DType dtype) {
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    return Unsupported("the GEMM templates multiply f32 and f64, not " +
                       std::string(DTypeName(dtype)));
  }
  if (view.m == 0 || view.n == 0 || view.k == 0 || view.batch_count() == 0) {
    return Unsupported("an extent is zero: there is nothing to multiply");
  }
  if (view.alpha.scalar < 0 && view.alpha.value == 0) {
    return Unsupported("alpha is always zero: there is nothing to multiply");
  }
  for (Op op : view.activation) {
    if (ActivationFunction(op).empty()) {
      return Unsupported("no epilogue of the GEMM templates applies this function");
    }
  }
  Problem p;
  p.dtype = dtype;
  p.rows = view.m;
  p.cols = view.n;
  p.depth = view.k;
  p.a_row = view.a_m;
  p.a_col = view.a_k;
  p.b_row = view.b_k;
  p.b_col = view.b_n;
  p.bias_row = view.bias_m;
  p.bias_col = view.bias_n;
  p.a = view.a;
  p.b = view.b;
  p.c = view.c;
  p.bias = view.bias;
  p.alpha = view.alpha;
  p.beta = view.beta;
  p.activation = view.activation;
  for (const GemmView::BatchAxis& axis : view.batch) {
    p.batch.push_back({axis.extent, axis.stride_a, axis.stride_b, axis.stride_c, axis.stride_bias});
  }
  // The contiguous dimension becomes the columns; of a single row or column, the longer one.
  const bool down = view.c_m == 1 || view.m == 1;
  const bool across = view.c_n == 1 || view.n == 1;
  if (!down && !across) {
    return Unsupported("C has a unit stride along neither rows nor columns");
  }
  if (!across || (down && view.m > view.n)) {
    Transpose(&p);
    p.c_row = view.c_n;
  } else {
    p.c_row = view.c_m;
  }
  // The stride of a dimension of one element says nothing.
  if (p.cols == 1) p.b_col = 1;
  if (p.depth == 1) p.a_col = p.b_row = 1;
  p.batch = Joined(p.batch);
  StackRows(&p);
  return p;
}

Result<Problem> ProblemOf(const Task& task) {
  const std::optional<GemmView> view = AsGemm(task);
  if (!view) return Unsupported("not a matrix product");
  if (task.contract.arithmetic == Arithmetic::kExact) {
    return Unsupported("exact arithmetic admits neither fused multiply-add nor another order");
  }
  const DType dtype = task.tensors[view->c].dtype;
  for (int tensor : {view->a, view->b, view->bias}) {
    if (tensor >= 0 && task.tensors[tensor].dtype != dtype) {
      return Unsupported("operands of different element types");
    }
  }
  if (task.contract.accumulate != dtype) {
    return Unsupported("sums are kept in " + std::string(DTypeName(task.contract.accumulate)) +
                       ", which is not the operands' type");
  }
  Result<Problem> problem = ProblemOf(*view, dtype);
  if (problem.ok()) problem->workspace_limit = task.contract.workspace_bytes;
  return problem;
}

}  // namespace hiera::gemm
