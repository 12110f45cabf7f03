#include "runtime/task/cublas_call.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>

namespace hiera {
namespace {

using Routine = CublasCall::Routine;

constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();

struct Operand {
  bool transposed = false;
  int64_t leading = 1;
};

// A rows x cols matrix with the given strides, seen in column-major order; empty where neither
// dimension is contiguous or columns overlap. The stride of a dimension of one element says
// nothing.
std::optional<Operand> AsStored(int64_t rows, int64_t cols, int64_t row_stride,
                                int64_t col_stride) {
  const auto leading = [](int64_t length, int64_t count, int64_t stride) -> std::optional<int64_t> {
    const int64_t least = std::max<int64_t>(length, 1);
    const int64_t found = count <= 1 ? least : stride;
    if (found < least || found > kMaxInt) return std::nullopt;
    return found;
  };
  if (rows <= 1 || row_stride == 1) {
    if (const auto found = leading(rows, cols, col_stride)) return Operand{false, *found};
  }
  if (cols <= 1 || col_stride == 1) {
    if (const auto found = leading(cols, rows, row_stride)) return Operand{true, *found};
  }
  return std::nullopt;
}

Status NoLayout(const char* operand) {
  return Unsupported(std::string("no leading dimension describes operand ") + operand +
                     ": one of its strides must be 1 and the other span the columns");
}

Status SetBatch(const GemmView& view, bool swap, CublasCall* call) {
  if (view.batch.empty()) return {};
  if (view.batch.size() > 1) {
    return Unsupported("one stride does not describe a batch of " +
                       std::to_string(view.batch.size()) + " axes");
  }
  const GemmView::BatchAxis& axis = view.batch[0];
  if (axis.extent > kMaxInt) return Unsupported("a batch above 32-bit integers");
  call->batch = axis.extent;
  call->stride_a = swap ? axis.stride_b : axis.stride_a;
  call->stride_b = swap ? axis.stride_a : axis.stride_b;
  call->stride_c = axis.stride_c;
  call->stride_bias = view.bias >= 0 ? axis.stride_bias : 0;
  return {};
}

Status SetEnding(const GemmView& view, bool swap, CublasCall* call) {
  call->alpha = view.alpha;
  call->beta = view.beta;
  if (view.bias < 0 && view.activation.empty()) return {};
  if (call->routine == Routine::kGemm) {
    return Unsupported("cublasGemmEx applies no bias and no activation");
  }
  if (view.bias >= 0) {
    const int64_t along = swap ? view.bias_n : view.bias_m;
    const int64_t across = swap ? view.bias_m : view.bias_n;
    if ((call->m > 1 && along != 1) || (call->n > 1 && across != 0)) {
      return Unsupported("cuBLASLt adds a dense bias along the contiguous side of C only");
    }
    call->bias = view.bias;
  }
  if (view.activation.size() > 1) return Unsupported("more than one activation");
  if (view.activation.empty()) return {};
  // cuBLASLt's GELU is the approximation by tanh, which is up to 5e-4 away from the function.
  if (view.activation[0] != Op::kRelu) {
    return Unsupported("cuBLASLt applies no activation but relu exactly");
  }
  call->ending = CublasCall::Ending::kRelu;
  return {};
}

// With `swap` the call computes the transpose of C, which is how row-major products are said.
Result<CublasCall> CallOf(const GemmView& view, const CublasCall& start, bool swap) {
  CublasCall call = start;
  const auto c = swap ? AsStored(view.n, view.m, view.c_n, view.c_m)
                      : AsStored(view.m, view.n, view.c_m, view.c_n);
  if (!c || c->transposed) return NoLayout("C");
  const auto a = swap ? AsStored(view.n, view.k, view.b_n, view.b_k)
                      : AsStored(view.m, view.k, view.a_m, view.a_k);
  if (!a) return NoLayout(swap ? "B" : "A");
  const auto b = swap ? AsStored(view.k, view.m, view.a_k, view.a_m)
                      : AsStored(view.k, view.n, view.b_k, view.b_n);
  if (!b) return NoLayout(swap ? "A" : "B");
  call.transpose_a = a->transposed;
  call.transpose_b = b->transposed;
  call.m = swap ? view.n : view.m;
  call.n = swap ? view.m : view.n;
  call.k = view.k;
  call.lda = a->leading;
  call.ldb = b->leading;
  call.ldc = c->leading;
  call.a = swap ? view.b : view.a;
  call.b = swap ? view.a : view.b;
  call.c = view.c;
  HIERA_RETURN_IF_ERROR(SetBatch(view, swap, &call));
  HIERA_RETURN_IF_ERROR(SetEnding(view, swap, &call));
  return call;
}

Result<CublasCall> Start(const Task& task, const GemmView& view, Routine routine) {
  CublasCall call;
  call.routine = routine;
  call.inputs = task.tensors[view.a].dtype;
  call.output = task.tensors[view.c].dtype;
  call.compute = task.contract.accumulate;
  if (task.contract.arithmetic == Arithmetic::kExact) {
    return Unsupported("a library does not promise the order of exact arithmetic");
  }
  if (task.tensors[view.b].dtype != call.inputs) {
    return Unsupported("operands of different element types");
  }
  if (view.bias >= 0 && task.tensors[view.bias].dtype != call.output) {
    return Unsupported("a bias of another element type than the output");
  }
  const DType wide = call.inputs == DType::kF64 ? DType::kF64 : DType::kF32;
  if (call.compute != wide) {
    return Unsupported("the sums are kept in " + std::string(DTypeName(call.compute)) +
                       ", cuBLAS keeps those of " + std::string(DTypeName(call.inputs)) + " in " +
                       std::string(DTypeName(wide)));
  }
  if (call.output != call.inputs && call.output != wide) {
    return Unsupported("cuBLAS makes no " + std::string(DTypeName(call.output)) + " of " +
                       std::string(DTypeName(call.inputs)));
  }
  if (view.m > kMaxInt || view.n > kMaxInt || view.k > kMaxInt) {
    return Unsupported("an extent is above cuBLAS's 32-bit integers");
  }
  if (routine == Routine::kLt && (view.m == 0 || view.n == 0 || view.k == 0)) {
    return Unsupported("cuBLASLt refuses empty matrices");
  }
  call.alignment =
      std::max(task.contract.alignment, std::min(SizeOf(call.inputs), SizeOf(call.output)));
  return call;
}

std::string FactorText(const GemmView::Factor& factor) {
  if (factor.scalar >= 0) return "s" + std::to_string(factor.scalar);
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", factor.value);
  return text;
}

}  // namespace

bool operator==(const GemmView::Factor& x, const GemmView::Factor& y) {
  return x.value == y.value && x.scalar == y.scalar;
}

std::string CublasCall::Text() const {
  std::string text = routine == Routine::kGemm ? "cublas_gemm" : "cublaslt";
  const auto add = [&text](const char* name, const std::string& value) {
    text += std::string(" ") + name + "=" + value;
  };
  const auto number = [&add](const char* name, int64_t value) { add(name, std::to_string(value)); };
  add("compute", tf32 ? "tf32" : std::string(DTypeName(compute)));
  add("in", std::string(DTypeName(inputs)));
  add("out", std::string(DTypeName(output)));
  add("transa", transpose_a ? "t" : "n");
  add("transb", transpose_b ? "t" : "n");
  number("m", m);
  number("n", n);
  number("k", k);
  add("alpha", FactorText(alpha));
  add("a", "t" + std::to_string(a));
  number("lda", lda);
  add("b", "t" + std::to_string(b));
  number("ldb", ldb);
  add("beta", FactorText(beta));
  add("c", "t" + std::to_string(c));
  number("ldc", ldc);
  if (batch != 1) {
    add("batch", std::to_string(batch) + ":" + std::to_string(stride_a) + ":" +
                     std::to_string(stride_b) + ":" + std::to_string(stride_c));
  }
  if (bias >= 0) add("bias", "t" + std::to_string(bias) + ":" + std::to_string(stride_bias));
  if (ending == Ending::kRelu) add("then", "relu");
  number("align", alignment);
  return text;
}

double CublasCall::flops() const {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
         static_cast<double>(batch);
}

Result<std::vector<CublasCall>> CublasCallsOf(const Task& task, Routine routine) {
  const std::optional<GemmView> view = AsGemm(task);
  if (!view) return Unsupported("not a matrix product");
  const Result<CublasCall> start = Start(task, *view, routine);
  if (!start.ok()) return start.status();
  const bool may_round =
      start->inputs == DType::kF32 && task.contract.arithmetic == Arithmetic::kTf32;
  std::vector<CublasCall> calls;
  Status why;
  for (const bool tf32 : {true, false}) {
    if (tf32 && !may_round) continue;
    for (const bool swap : {true, false}) {
      CublasCall from = *start;
      from.tf32 = tf32;
      Result<CublasCall> call = CallOf(*view, from, swap);
      if (call.ok()) {
        calls.push_back(*std::move(call));
      } else if (why.ok()) {
        why = call.status();
      }
    }
  }
  if (calls.empty()) return why;
  return calls;
}

}  // namespace hiera
