#include "runtime/library/cblas_executable.h"

#include <cmath>

namespace hiera {
namespace {

// CBLAS's enumerations.
constexpr int kRowMajor = 101;
constexpr int kColMajor = 102;
constexpr int kNoTrans = 111;
constexpr int kTrans = 112;

void Gemm(const CblasFunctions& f, int order, int ta, int tb, const CblasCall& c, float alpha,
          const float* a, const float* b, float beta, float* to) {
  f.sgemm(order, ta, tb, c.m, c.n, c.k, alpha, a, c.lda, b, c.ldb, beta, to, c.ldc);
}
void Gemm(const CblasFunctions& f, int order, int ta, int tb, const CblasCall& c, double alpha,
          const double* a, const double* b, double beta, double* to) {
  f.dgemm(order, ta, tb, c.m, c.n, c.k, alpha, a, c.lda, b, c.ldb, beta, to, c.ldc);
}
void Gemv(const CblasFunctions& f, int order, int ta, const CblasCall& c, float alpha,
          const float* a, const float* x, float beta, float* y) {
  f.sgemv(order, ta, c.m, c.n, alpha, a, c.lda, x, c.ldb, beta, y, c.ldc);
}
void Gemv(const CblasFunctions& f, int order, int ta, const CblasCall& c, double alpha,
          const double* a, const double* x, double beta, double* y) {
  f.dgemv(order, ta, c.m, c.n, alpha, a, c.lda, x, c.ldb, beta, y, c.ldc);
}

template <typename T>
T Activate(Op op, T x) {
  switch (op) {
    case Op::kRelu:
      return x < 0 ? T(0) : x;  // NaN stays
    case Op::kGelu:
      return x / 2 * (1 + std::erf(x * T(0.707106781186547524401)));
    case Op::kSilu:
      return x * (1 / (1 + std::exp(-x)));
    case Op::kTanh:
      return std::tanh(x);
    default:  // kSigmoid; CblasCallsOf admits nothing else
      return 1 / (1 + std::exp(-x));
  }
}

template <typename T>
class CblasExecutable : public Executable {
 public:
  CblasExecutable(const CblasCall& call, const CblasFunctions& functions)
      : call_(call), functions_(functions) {
    for (const GemmView::BatchAxis& axis : call_.batch) matrices_ *= axis.extent;
    if (call_.rows == 0 || call_.cols == 0) matrices_ = 0;
  }

  hiera_status Run(const Call& call) const noexcept override {
    const T* a = static_cast<const T*>(call.pointers[call_.a]);
    const T* b = static_cast<const T*>(call.pointers[call_.b]);
    T* c = static_cast<T*>(call.pointers[call_.c]);
    const T* bias = call_.bias < 0 ? nullptr : static_cast<const T*>(call.pointers[call_.bias]);
    const T alpha = Value(call_.alpha, call.scalars);
    const T beta = Value(call_.beta, call.scalars);
    for (int64_t matrix = 0; matrix < matrices_; ++matrix) {
      int64_t at_a = 0, at_b = 0, at_c = 0, at_bias = 0;
      int64_t rest = matrix;
      for (size_t i = call_.batch.size(); i-- > 0;) {
        const GemmView::BatchAxis& axis = call_.batch[i];
        const int64_t position = rest % axis.extent;
        rest /= axis.extent;
        at_a += position * axis.stride_a;
        at_b += position * axis.stride_b;
        at_c += position * axis.stride_c;
        at_bias += position * axis.stride_bias;
      }
      Multiply(a + at_a, b + at_b, c + at_c, alpha, beta);
      if (bias != nullptr || !call_.activation.empty()) {
        Finish(c + at_c, bias == nullptr ? nullptr : bias + at_bias);
      }
    }
    return HIERA_OK;
  }

 private:
  static T Value(const GemmView::Factor& factor, const double* scalars) {
    return static_cast<T>(factor.scalar >= 0 ? scalars[factor.scalar] : factor.value);
  }

  void Multiply(const T* a, const T* b, T* c, T alpha, T beta) const {
    const int ta = call_.transpose_a ? kTrans : kNoTrans;
    if (call_.routine == CblasCall::Routine::kGemm) {
      const int order = call_.column_major ? kColMajor : kRowMajor;
      const int tb = call_.transpose_b ? kTrans : kNoTrans;
      Gemm(functions_, order, ta, tb, call_, alpha, a, b, beta, c);
      return;
    }
    // Some versions multiply what y holds by beta = 0, which keeps its NaN.
    const int64_t length = call_.transpose_a ? call_.n : call_.m;
    if (beta == 0) {
      for (int64_t i = 0; i < length; ++i) c[i * call_.ldc] = 0;
    }
    Gemv(functions_, kRowMajor, ta, call_, alpha, a, b, beta, c);
  }

  void Finish(T* c, const T* bias) const {
    for (int64_t i = 0; i < call_.rows; ++i) {
      for (int64_t j = 0; j < call_.cols; ++j) {
        T& to = c[i * call_.c_row + j * call_.c_col];
        T x = to;
        if (bias != nullptr) x += bias[i * call_.bias_row + j * call_.bias_col];
        for (Op op : call_.activation) x = Activate(op, x);
        to = x;
      }
    }
  }

  CblasCall call_;
  CblasFunctions functions_;
  int64_t matrices_ = 1;
};

}  // namespace

std::unique_ptr<Executable> MakeCblasExecutable(const CblasCall& call,
                                                const CblasFunctions& functions) {
  if (call.dtype == DType::kF64) {
    return std::make_unique<CblasExecutable<double>>(call, functions);
  }
  return std::make_unique<CblasExecutable<float>>(call, functions);
}

}  // namespace hiera
