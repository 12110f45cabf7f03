#include "tests/unit/policies/gemm_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace hiera {
namespace {

constexpr int64_t kGuard = 64;     // elements before and behind
constexpr double kMark = -777.25;  // what must not be overwritten
constexpr double kAlpha = 0.75, kBeta = -1.5;

struct Layout {
  int64_t rows, cols, row_stride, col_stride;
  int64_t GemmView::BatchAxis::*batch_stride;
};

// Calls body(element offset, matrix number, row, column) for every element.
template <typename Body>
void ForEach(const GemmView& view, const Layout& layout, Body body) {
  for (int64_t matrix = 0; matrix < view.batch_count(); ++matrix) {
    int64_t base = 0, rest = matrix;
    for (size_t axis = view.batch.size(); axis-- > 0;) {
      base += rest % view.batch[axis].extent * (view.batch[axis].*layout.batch_stride);
      rest /= view.batch[axis].extent;
    }
    for (int64_t i = 0; i < layout.rows; ++i) {
      for (int64_t j = 0; j < layout.cols; ++j) {
        body(base + i * layout.row_stride + j * layout.col_stride, matrix, i, j);
      }
    }
  }
}

template <typename T>
struct Buffer {
  std::vector<T> data;

  // Elements of the layout get random values, everything else `filler`.
  Buffer(const GemmView& view, const Layout& layout, T filler, std::mt19937& random) {
    int64_t last = 0;
    ForEach(view, layout,
            [&](int64_t at, int64_t, int64_t, int64_t) { last = std::max(last, at); });
    data.assign(last + 1 + 2 * kGuard, filler);
    std::uniform_real_distribution<double> uniform(-1, 1);
    ForEach(view, layout, [&](int64_t at, int64_t, int64_t, int64_t) {
      data[at + kGuard] = static_cast<T>(uniform(random));
    });
  }
  T* begin() { return data.data() + kGuard; }
};

// Whether two buffers hold the same bits.
template <typename T>
bool SameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

long double Activate(Op op, long double x) {
  switch (op) {
    case Op::kAbs:
      return std::fabs(x);
    case Op::kExp:
      return std::exp(x);
    case Op::kTanh:
      return std::tanh(x);
    case Op::kErf:
      return std::erf(x);
    case Op::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Op::kRelu:
      return std::max<long double>(x, 0);
    case Op::kGelu:
      return x / 2 * (1 + std::erf(x / std::sqrt(2.0L)));
    case Op::kSilu:
      return x / (1 + std::exp(-x));
    default:
      return std::numeric_limits<long double>::quiet_NaN();
  }
}

// Runs a range in up to three pieces, the last one first.
void RunInPieces(const hiera_parallel* self, long count, void (*body)(void*, long, long, int),
                 void* context) {
  const long pieces = std::min<long>(count, self->threads);
  for (long piece = pieces; piece-- > 0;) {
    body(context, piece * count / pieces, (piece + 1) * count / pieces, static_cast<int>(piece));
  }
}

double FactorOf(const GemmView::Factor& factor) {
  return factor.scalar < 0 ? factor.value : factor.scalar == 0 ? kAlpha : kBeta;
}

template <typename T>
class Checker {
 public:
  explicit Checker(const GemmView& view)
      : view_(view),
        la_{view.m, view.k, view.a_m, view.a_k, &GemmView::BatchAxis::stride_a},
        lb_{view.k, view.n, view.b_k, view.b_n, &GemmView::BatchAxis::stride_b},
        lc_{view.m, view.n, view.c_m, view.c_n, &GemmView::BatchAxis::stride_c},
        lbias_{view.m, view.n, view.bias_m, view.bias_n, &GemmView::BatchAxis::stride_bias},
        a_(view, la_, kNaN, random_),
        b_(view, lb_, kNaN, random_),
        bias_(view, lbias_, kNaN, random_),
        c_(view, lc_, static_cast<T>(kMark), random_) {}

  std::string Run(hiera_variant_fn kernel, int64_t workspace_bytes) {
    if (FactorOf(view_.beta) == 0) {  // C's old content must not be read
      ForEach(view_, lc_, [&](int64_t at, int64_t, int64_t, int64_t) { c_.begin()[at] = kNaN; });
    }
    Buffer<T> result = c_;
    const Buffer<T> old_a = a_, old_b = b_, old_bias = bias_;
    const size_t bytes = (workspace_bytes + 127) / 64 * 64;
    std::vector<unsigned char> workspace(bytes + 64, 0xff);  // NaN
    const auto misaligned = reinterpret_cast<uintptr_t>(workspace.data()) % 64;
    unsigned char* aligned = workspace.data() + (64 - misaligned) % 64;
    std::fill(aligned + workspace_bytes, workspace.data() + workspace.size(), 0xa5);
    void* tensors[] = {a_.begin(), b_.begin(), result.begin(), bias_.begin()};
    const double scalars[] = {kAlpha, kBeta};
    const hiera_parallel parallel = {RunInPieces, 3};
    const hiera_host_call call = {tensors, scalars, workspace_bytes > 0 ? aligned : nullptr,
                                  &parallel};
    kernel(&call);
    if (!SameBits(a_.data, old_a.data)) return "A was changed";
    if (!SameBits(b_.data, old_b.data)) return "B was changed";
    if (!SameBits(bias_.data, old_bias.data)) return "the bias was changed";
    for (unsigned char* p = aligned + workspace_bytes; p < workspace.data() + workspace.size();
         ++p) {
      if (*p != 0xa5) return "wrote behind the workspace";
    }
    return Compare(&result);
  }

 private:
  static constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();

  int64_t Base(const Layout& layout, int64_t matrix) const {
    int64_t base = 0;
    for (size_t axis = view_.batch.size(); axis-- > 0;) {
      base += matrix % view_.batch[axis].extent * (view_.batch[axis].*layout.batch_stride);
      matrix /= view_.batch[axis].extent;
    }
    return base;
  }

  std::string Compare(Buffer<T>* result) {
    std::string wrong;
    const long double unit = std::numeric_limits<T>::epsilon() / 2;
    ForEach(view_, lc_, [&](int64_t at, int64_t matrix, int64_t i, int64_t j) {
      const T* a = a_.begin() + Base(la_, matrix) + i * view_.a_m;
      const T* b = b_.begin() + Base(lb_, matrix) + j * view_.b_n;
      long double sum = 0, magnitude = 0;
      for (int64_t k = 0; k < view_.k; ++k) {
        const long double term = static_cast<long double>(a[k * view_.a_k]) * b[k * view_.b_k];
        sum += term;
        magnitude += std::fabs(term);
      }
      long double x = FactorOf(view_.alpha) * sum;
      magnitude = std::fabs(FactorOf(view_.alpha)) * magnitude;
      if (FactorOf(view_.beta) != 0) {
        x += FactorOf(view_.beta) * static_cast<long double>(c_.begin()[at]);
        magnitude += std::fabs(FactorOf(view_.beta) * c_.begin()[at]);
      }
      if (view_.bias >= 0) {
        const T bias = bias_.begin()[Base(lbias_, matrix) + i * view_.bias_m + j * view_.bias_n];
        x += bias;
        magnitude += std::fabs(bias);
      }
      for (Op op : view_.activation) {
        x = Activate(op, x);
        magnitude = std::max<long double>(magnitude, 1) + std::fabs(x);  // slopes up to e^3
      }
      const T got = result->begin()[at];
      const long double bound = 4 * std::sqrt(static_cast<double>(view_.k)) * unit * magnitude +
                                4 * unit * std::fabs(x) + unit * magnitude;
      if (!(std::fabs(got - x) <= bound) && wrong.empty()) {
        wrong = "C[" + std::to_string(matrix) + "," + std::to_string(i) + "," + std::to_string(j) +
                "] = " + std::to_string(got) + ", expected " + std::to_string(x) + " within " +
                std::to_string(static_cast<double>(bound / unit)) + " units of roundoff";
      }
      result->begin()[at] = static_cast<T>(kMark);
    });
    if (!wrong.empty()) return wrong;
    for (size_t at = 0; at < result->data.size(); ++at) {
      if (result->data[at] != static_cast<T>(kMark)) {
        return "wrote outside C, at element " + std::to_string(static_cast<int64_t>(at) - kGuard);
      }
    }
    return "";
  }

  const GemmView& view_;
  Layout la_, lb_, lc_, lbias_;
  std::mt19937 random_{20240229};
  Buffer<T> a_, b_, bias_, c_;
};

}  // namespace

GemmCase GemmCase::Make(DType dtype, int64_t m, int64_t n, int64_t k, bool column_major,
                        bool transpose_a, bool transpose_b, int64_t pad) {
  GemmCase made;
  made.dtype = dtype;
  GemmView& v = made.view;
  v.m = m;
  v.n = n;
  v.k = k;
  v.a = 0;
  v.b = 1;
  v.c = 2;
  const auto lay = [&](int64_t rows, int64_t cols, bool by_columns, int64_t* row, int64_t* col) {
    *row = by_columns ? 1 : cols + pad;
    *col = by_columns ? rows + pad : 1;
  };
  lay(m, k, column_major != transpose_a, &v.a_m, &v.a_k);
  lay(k, n, column_major != transpose_b, &v.b_k, &v.b_n);
  lay(m, n, column_major, &v.c_m, &v.c_n);
  return made;
}

std::string GemmCase::Text() const {
  const auto numbers = [](std::initializer_list<int64_t> values) {
    std::string text;
    for (int64_t value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
    return text;
  };
  const auto factor = [](const GemmView::Factor& f) {
    return f.scalar >= 0 ? "s" + std::to_string(f.scalar) : std::to_string(f.value);
  };
  std::string text = std::string(dtype == DType::kF64 ? "f64 " : "f32 ") +
                     numbers({view.m, view.n, view.k}) + " a:" + numbers({view.a_m, view.a_k}) +
                     " b:" + numbers({view.b_k, view.b_n}) + " c:" + numbers({view.c_m, view.c_n}) +
                     " alpha:" + factor(view.alpha) + " beta:" + factor(view.beta);
  for (const auto& axis : view.batch) {
    text += " batch:" +
            numbers({axis.extent, axis.stride_a, axis.stride_b, axis.stride_c, axis.stride_bias});
  }
  if (view.bias >= 0) text += " bias:" + numbers({view.bias_m, view.bias_n});
  for (Op op : view.activation) text += " op:" + std::to_string(static_cast<int>(op));
  return text;
}

std::string GemmCase::Check(hiera_variant_fn kernel, int64_t workspace_bytes) const {
  if (dtype == DType::kF64) return Checker<double>(view).Run(kernel, workspace_bytes);
  return Checker<float>(view).Run(kernel, workspace_bytes);
}

}  // namespace hiera
