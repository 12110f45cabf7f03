#include "runtime/task/cblas_call.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <limits>
#include <optional>

namespace hiera {
namespace {

// How one operand of a call is stored.
struct Operand {
  bool transposed = false;
  int32_t leading = 1;
};

constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();

// A rows x cols matrix with the given strides, seen in row-major order; empty where neither
// dimension is contiguous, where rows overlap, or where a size does not fit CBLAS's integers.
std::optional<Operand> AsStored(int64_t rows, int64_t cols, int64_t row_stride,
                                int64_t col_stride) {
  // The stride of a dimension of one element says nothing.
  if (cols <= 1 || col_stride == 1) {
    const int64_t leading = rows <= 1 ? std::max<int64_t>(cols, 1) : row_stride;
    if (leading >= std::max<int64_t>(cols, 1) && leading <= kMaxInt) {
      return Operand{false, static_cast<int32_t>(leading)};
    }
  }
  if (rows <= 1 || row_stride == 1) {
    const int64_t leading = cols <= 1 ? std::max<int64_t>(rows, 1) : col_stride;
    if (leading >= std::max<int64_t>(rows, 1) && leading <= kMaxInt) {
      return Operand{true, static_cast<int32_t>(leading)};
    }
  }
  return std::nullopt;
}

Status NoLayout(const char* operand) {
  return Unsupported(std::string("no leading dimension describes operand ") + operand +
                     ": one of its strides must be 1 and the other span the rows");
}

void SetEnding(const GemmView& view, CblasCall* call) {
  call->alpha = view.alpha;
  call->beta = view.beta;
  call->rows = view.m;
  call->cols = view.n;
  call->c_row = view.c_m;
  call->c_col = view.c_n;
  call->bias = view.bias;
  call->bias_row = view.bias_m;
  call->bias_col = view.bias_n;
  call->activation = view.activation;
}

Result<CblasCall> GemmCall(const GemmView& view, DType dtype) {
  CblasCall call;
  call.dtype = dtype;
  const std::optional<Operand> c = AsStored(view.m, view.n, view.c_m, view.c_n);
  if (!c) return NoLayout("C");
  call.column_major = c->transposed;
  // Column-major order sees every matrix transposed.
  const bool swap = call.column_major;
  const std::optional<Operand> a = swap ? AsStored(view.k, view.m, view.a_k, view.a_m)
                                        : AsStored(view.m, view.k, view.a_m, view.a_k);
  const std::optional<Operand> b = swap ? AsStored(view.n, view.k, view.b_n, view.b_k)
                                        : AsStored(view.k, view.n, view.b_k, view.b_n);
  if (!a) return NoLayout("A");
  if (!b) return NoLayout("B");
  call.transpose_a = a->transposed;
  call.transpose_b = b->transposed;
  call.m = static_cast<int32_t>(view.m);
  call.n = static_cast<int32_t>(view.n);
  call.k = static_cast<int32_t>(view.k);
  call.lda = a->leading;
  call.ldb = b->leading;
  call.ldc = c->leading;
  call.a = view.a;
  call.b = view.b;
  call.c = view.c;
  call.batch = view.batch;
  SetEnding(view, &call);
  return call;
}

// A matrix-vector product: n = 1, or m = 1 with the operands in exchanged roles.
Result<CblasCall> GemvCall(const GemmView& view, DType dtype) {
  CblasCall call;
  call.routine = CblasCall::Routine::kGemv;
  call.dtype = dtype;
  const bool swap = view.n != 1;
  const int64_t rows = swap ? view.n : view.m;
  const std::optional<Operand> matrix = swap ? AsStored(rows, view.k, view.b_n, view.b_k)
                                             : AsStored(rows, view.k, view.a_m, view.a_k);
  if (!matrix) return NoLayout(swap ? "B" : "A");
  const int64_t x_step = view.k == 1 ? 1 : swap ? view.a_k : view.b_k;
  const int64_t y_step = rows == 1 ? 1 : swap ? view.c_n : view.c_m;
  if (x_step < 1 || x_step > kMaxInt || y_step < 1 || y_step > kMaxInt) {
    return Unsupported("a vector's stride must be at least 1 and fit 32 bits");
  }
  call.transpose_a = matrix->transposed;
  call.m = static_cast<int32_t>(matrix->transposed ? view.k : rows);
  call.n = static_cast<int32_t>(matrix->transposed ? rows : view.k);
  call.k = 1;
  call.lda = matrix->leading;
  call.ldb = static_cast<int32_t>(x_step);
  call.ldc = static_cast<int32_t>(y_step);
  call.a = swap ? view.b : view.a;
  call.b = swap ? view.a : view.b;
  call.c = view.c;
  call.batch = view.batch;
  if (swap) {
    for (GemmView::BatchAxis& axis : call.batch) std::swap(axis.stride_a, axis.stride_b);
  }
  SetEnding(view, &call);
  return call;
}

std::string FactorText(const GemmView::Factor& factor) {
  if (factor.scalar >= 0) return "s" + std::to_string(factor.scalar);
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", factor.value);
  return text;
}

// The name of a function that may follow the call; null for any other.
const char* ActivationName(Op op) {
  switch (op) {
    case Op::kRelu:
      return "relu";
    case Op::kGelu:
      return "gelu";
    case Op::kSilu:
      return "silu";
    case Op::kTanh:
      return "tanh";
    case Op::kSigmoid:
      return "sigmoid";
    default:
      return nullptr;
  }
}

}  // namespace

std::string CblasCall::Text() const {
  const char letter = dtype == DType::kF64 ? 'd' : 's';
  const bool gemm = routine == Routine::kGemm;
  std::string text = std::string("cblas_") + letter + (gemm ? "gemm" : "gemv");
  const auto add = [&text](const std::string& name, const std::string& value) {
    text += " " + name + "=" + value;
  };
  const auto number = [&add](const char* name, int64_t value) { add(name, std::to_string(value)); };
  add("order", column_major ? "col" : "row");
  add("transa", transpose_a ? "t" : "n");
  if (gemm) add("transb", transpose_b ? "t" : "n");
  number("m", m);
  number("n", n);
  if (gemm) number("k", k);
  add("alpha", FactorText(alpha));
  add("a", "t" + std::to_string(a));
  number("lda", lda);
  add(gemm ? "b" : "x", "t" + std::to_string(b));
  number(gemm ? "ldb" : "incx", ldb);
  add("beta", FactorText(beta));
  add(gemm ? "c" : "y", "t" + std::to_string(c));
  number(gemm ? "ldc" : "incy", ldc);
  for (const GemmView::BatchAxis& axis : batch) {
    add("batch", std::to_string(axis.extent) + ":" + std::to_string(axis.stride_a) + ":" +
                     std::to_string(axis.stride_b) + ":" + std::to_string(axis.stride_c) +
                     (bias >= 0 ? ":" + std::to_string(axis.stride_bias) : ""));
  }
  if (bias >= 0) {
    add("bias", "t" + std::to_string(bias) + ":" + std::to_string(bias_row) + ":" +
                    std::to_string(bias_col));
  }
  for (Op op : activation) add("then", ActivationName(op));
  return text;
}

Result<std::vector<CblasCall>> CblasCallsOf(const GemmView& view, DType dtype) {
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    return Unsupported("CBLAS multiplies f32 and f64 only, not " + std::string(DTypeName(dtype)));
  }
  if (view.m > kMaxInt || view.n > kMaxInt || view.k > kMaxInt) {
    return Unsupported("an extent is above CBLAS's 32-bit integers");
  }
  for (Op op : view.activation) {
    if (!ActivationName(op)) return Unsupported("no pass after the call applies this function");
  }
  std::vector<CblasCall> calls;
  Status why;
  // The matrix-vector routines leave C alone where the sum is empty.
  const bool vector = (view.m == 1 || view.n == 1) && view.k > 0;
  for (int gemv = vector ? 1 : 0; gemv >= 0; --gemv) {
    Result<CblasCall> call = gemv ? GemvCall(view, dtype) : GemmCall(view, dtype);
    if (call.ok()) {
      calls.push_back(*std::move(call));
    } else {
      why = call.status();
    }
  }
  if (calls.empty()) return why;
  return calls;
}

Result<std::vector<CblasCall>> CblasCallsOf(const Task& task) {
  const std::optional<GemmView> view = AsGemm(task);
  if (!view) return Unsupported("not a matrix product");
  if (task.contract.arithmetic == Arithmetic::kExact) {
    return Unsupported("a library does not promise the order of exact arithmetic");
  }
  const DType dtype = task.tensors[view->c].dtype;
  for (int tensor : {view->a, view->b, view->bias}) {
    if (tensor >= 0 && task.tensors[tensor].dtype != dtype) {
      return Unsupported("operands of different element types");
    }
  }
  if (task.contract.accumulate != dtype) {
    return Unsupported("the sums are kept in " + std::string(DTypeName(task.contract.accumulate)) +
                       ", a library keeps them in " + std::string(DTypeName(dtype)));
  }
  return CblasCallsOf(*view, dtype);
}

}  // namespace hiera
