// MakeGemm: see constructors.h and hiera_gemm.
#include <string>
#include <utility>
#include <vector>

#include "runtime/task/constructors.h"
#include "runtime/task/descriptor.h"
#include "runtime/task/limits.h"

namespace hiera {
namespace {

Status CheckFields(const hiera_gemm& g) {
  HIERA_RETURN_IF_ERROR(CheckReal("dtype", g.dtype));
  const bool widens = g.dtype_c == HIERA_F32 && (g.dtype == HIERA_F16 || g.dtype == HIERA_BF16);
  if (g.dtype_c != 0 && g.dtype_c != g.dtype && !widens) {
    return InvalidArgument("dtype_c is " + std::to_string(g.dtype_c) +
                           " (0 or the same as dtype; HIERA_F32 where dtype is HIERA_F16 or "
                           "HIERA_BF16)");
  }
  const std::pair<const char*, int64_t> sizes[] = {{"m", g.m},
                                                   {"n", g.n},
                                                   {"k", g.k},
                                                   {"batch", g.batch},
                                                   {"lda", g.lda},
                                                   {"ldb", g.ldb},
                                                   {"ldc", g.ldc},
                                                   {"batch_stride_a", g.batch_stride_a},
                                                   {"batch_stride_b", g.batch_stride_b},
                                                   {"batch_stride_c", g.batch_stride_c}};
  for (const auto& [field, value] : sizes) {
    HIERA_RETURN_IF_ERROR(CheckRange(field, value, 0, kMaxElements - 1));
  }
  const std::pair<const char*, uint32_t> flags[] = {{"transpose_a", g.transpose_a},
                                                    {"transpose_b", g.transpose_b},
                                                    {"same_a", g.same_a},
                                                    {"same_b", g.same_b},
                                                    {"column_major", g.column_major}};
  for (const auto& [field, value] : flags) HIERA_RETURN_IF_ERROR(CheckRange(field, value, 0, 1));
  HIERA_RETURN_IF_ERROR(CheckRange("alpha_class", g.alpha_class, 0, HIERA_SCALAR_ONE));
  HIERA_RETURN_IF_ERROR(CheckRange("beta_class", g.beta_class, 0, HIERA_SCALAR_ONE));
  HIERA_RETURN_IF_ERROR(CheckRange("bias", g.bias, 0, HIERA_BIAS_PER_COLUMN));
  return CheckRange("activation", g.activation, 0, HIERA_ACTIVATION_SIGMOID);
}

// One matrix of the product, rows x columns as the formula sees it.
struct Matrix {
  const char* name;
  uint32_t dtype;
  int64_t rows, columns;
  bool columns_first;  // stored with consecutive elements down a column
  int64_t leading;     // 0: dense
  int64_t batch;       // 0: one for all
  int64_t batch_stride;
  const char* leading_field;
  const char* batch_field;
};

Result<TensorSpec> MakeMatrix(const Matrix& m) {
  const int64_t run = m.columns_first ? m.rows : m.columns;
  const int64_t runs = m.columns_first ? m.columns : m.rows;
  const int64_t leading = m.leading == 0 ? std::max<int64_t>(run, 1) : m.leading;
  if (leading < run) {
    return InvalidArgument(std::string(m.leading_field) + " is " + std::to_string(leading) +
                           ", less than the " + std::to_string(run) + " elements of a " +
                           (m.columns_first ? "column" : "row") + " of " + m.name);
  }
  TensorSpec tensor;
  tensor.name = m.name;
  tensor.dtype = static_cast<DType>(m.dtype);
  tensor.extents = {m.rows, m.columns};
  tensor.strides = {m.columns_first ? 1 : leading, m.columns_first ? leading : 1};
  const Result<int64_t> dense = CheckedProduct(m.leading_field, leading, runs);
  if (!dense.ok()) return dense.status();
  if (m.batch > 0) {
    tensor.extents.insert(tensor.extents.begin(), m.batch);
    tensor.strides.insert(tensor.strides.begin(), m.batch_stride == 0 ? *dense : m.batch_stride);
    const Status valid = Validate(tensor);
    if (!valid.ok()) {
      return InvalidArgument(std::string(m.batch_field) + ": " + valid.message());
    }
  }
  return tensor;
}

Status AddTensors(const hiera_gemm& g, Task* task) {
  const int64_t batch = g.batch > 1 ? g.batch : 0;
  const uint32_t dtype_c = g.dtype_c == 0 ? g.dtype : g.dtype_c;
  const bool columns = g.column_major == 1;
  const Matrix matrices[] = {
      {"A", g.dtype, g.m, g.k, columns != (g.transpose_a == 1), g.lda, g.same_a ? 0 : batch,
       g.batch_stride_a, "lda", "batch_stride_a"},
      {"B", g.dtype, g.k, g.n, columns != (g.transpose_b == 1), g.ldb, g.same_b ? 0 : batch,
       g.batch_stride_b, "ldb", "batch_stride_b"},
      {"C", dtype_c, g.m, g.n, columns, g.ldc, batch, g.batch_stride_c, "ldc", "batch_stride_c"},
  };
  for (const Matrix& matrix : matrices) {
    Result<TensorSpec> tensor = MakeMatrix(matrix);
    if (!tensor.ok()) return tensor.status();
    task->tensors.push_back(std::move(*tensor));
  }
  if (OverlapsItself(task->tensors.back())) {
    return InvalidArgument("batch_stride_c is " + std::to_string(g.batch_stride_c) +
                           ", which makes the matrices of C overlap");
  }
  if (g.bias != HIERA_BIAS_NONE) {
    task->tensors.push_back(
        DenseTensor("bias", g.dtype, {g.bias == HIERA_BIAS_PER_ROW ? g.m : g.n}));
  }
  task->bound_count = static_cast<int>(task->tensors.size());
  task->scalars = {{"alpha", static_cast<ScalarClass>(g.alpha_class)},
                   {"beta", static_cast<ScalarClass>(g.beta_class)}};
  return {};
}

}  // namespace

Result<Task> MakeGemm(const hiera_gemm& g) {
  HIERA_RETURN_IF_ERROR(CheckFields(g));
  Task task;
  HIERA_RETURN_IF_ERROR(AddTensors(g, &task));
  HIERA_RETURN_IF_ERROR(SetContract(g.contract, &task));

  FormulaBuilder f(&task);
  const bool batched = g.batch > 1;
  const int b = batched ? f.AddIndex("b", g.batch) : -1;
  const int i = f.AddIndex("i", g.m);
  const int j = f.AddIndex("j", g.n);
  const int k = f.AddIndex("k", g.k);
  auto load = [&](int tensor, int row, int column) {
    std::vector<Subscript> subscripts;
    if (task.tensors[tensor].rank() == 3) subscripts.push_back(PlainSubscript(b));
    subscripts.push_back(PlainSubscript(row));
    subscripts.push_back(PlainSubscript(column));
    return f.Load(tensor, std::move(subscripts));
  };
  const int alpha = f.Scalar(0);
  const int product =
      f.Reduce(Reduction::kSum, {k}, f.Binary(Op::kMul, load(0, i, k), load(1, k, j)));
  int value = f.Binary(Op::kMul, alpha, product);
  value = f.Binary(Op::kAdd, value, f.Binary(Op::kMul, f.Scalar(1), load(2, i, j)));
  if (g.bias != HIERA_BIAS_NONE) {
    value = f.Binary(Op::kAdd, value,
                     f.Load(3, {PlainSubscript(g.bias == HIERA_BIAS_PER_ROW ? i : j)}));
  }
  value = Activated(g.activation, value, &f);
  std::vector<int> indices = {i, j};
  if (batched) indices.insert(indices.begin(), b);
  HIERA_RETURN_IF_ERROR(Finish("gemm", 2, std::move(indices), value, &f, &task));
  return task;
}

}  // namespace hiera
