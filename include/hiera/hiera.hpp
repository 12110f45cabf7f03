// The C++ face of HIERA: hiera.h with handles that destroy themselves, builders, and exceptions in
// place of statuses. Header-only, C++11 and later; everything here is compiled into the caller, so
// no C++ type crosses the library's border.
//
//   hiera::Engine engine;
//   hiera::Op op = engine.Create(hiera::Formula("y[i] = 2*x[i]")
//                                    .tensor(hiera::Tensor("x").f32({1000}))
//                                    .tensor(hiera::Tensor("y").f32({1000})));
//   op.Run({x, y});
//
// Threads: as hiera.h says for the function that is called.
#ifndef HIERA_HIERA_HPP_
#define HIERA_HIERA_HPP_

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hiera/hiera.h"

namespace hiera {

class Error : public std::runtime_error {
 public:
  Error(hiera_status status, const std::string& detail)
      : std::runtime_error(std::string(hiera_status_name(status)) + ": " + detail),
        status_(status) {}
  hiera_status status() const noexcept { return status_; }

 private:
  hiera_status status_;
};

// Throws Error, with hiera_last_error() as its detail, where `status` is not HIERA_OK.
inline void Check(hiera_status status) {
  if (status != HIERA_OK) throw Error(status, hiera_last_error());
}

// A tensor of a formula: a name, an element type with extents, and what may be said beside them.
class Tensor {
 public:
  using Sizes = std::initializer_list<int64_t>;

  explicit Tensor(std::string name) : name_(std::move(name)), tensor_() {}

  Tensor& f64(Sizes extents) { return Layout(HIERA_F64, extents); }
  Tensor& f32(Sizes extents) { return Layout(HIERA_F32, extents); }
  Tensor& f16(Sizes extents) { return Layout(HIERA_F16, extents); }
  Tensor& bf16(Sizes extents) { return Layout(HIERA_BF16, extents); }
  Tensor& i32(Sizes extents) { return Layout(HIERA_I32, extents); }
  Tensor& boolean(Sizes extents) { return Layout(HIERA_BOOL, extents); }

  // In elements; one per extent. Dense and row-major without this call.
  Tensor& strides(Sizes strides) {
    Copy(strides, tensor_.stride);
    strides_ = strides.size();
    return *this;
  }
  // HIERA_OUTSIDE_...: what a read outside the tensor means.
  Tensor& outside(uint32_t rule) {
    tensor_.outside = rule;
    return *this;
  }

  // Borrows the name from this object. Throws where strides were given, but not one per extent.
  hiera_tensor get() const {
    if (strides_ != 0 && strides_ != tensor_.rank) {
      throw Error(HIERA_INVALID_ARGUMENT, "tensor " + name_ + " has " + std::to_string(strides_) +
                                              " strides for " + std::to_string(tensor_.rank) +
                                              " extents; give one per extent");
    }
    hiera_tensor tensor = tensor_;
    tensor.name = name_.c_str();
    return tensor;
  }

 private:
  Tensor& Layout(uint32_t dtype, Sizes extents) {
    Copy(extents, tensor_.extent);
    tensor_.dtype = dtype;
    tensor_.rank = static_cast<uint32_t>(extents.size());
    return *this;
  }
  void Copy(Sizes sizes, int64_t (&to)[HIERA_MAX_RANK]) {
    if (sizes.size() > HIERA_MAX_RANK) {
      throw Error(HIERA_INVALID_ARGUMENT, "tensor " + name_ + " has more than HIERA_MAX_RANK axes");
    }
    int axis = 0;
    for (const int64_t size : sizes) to[axis++] = size;
  }

  std::string name_;
  hiera_tensor tensor_;
  size_t strides_ = 0;
};

// An operator as text, with its tensors and scalars in the order of a run's pointers and values.
class Formula {
 public:
  explicit Formula(std::string text) : text_(std::move(text)) {}

  Formula& tensor(Tensor tensor) {
    tensors_.push_back(std::move(tensor));
    return *this;
  }
  Formula& scalar(std::string name, uint32_t value_class = HIERA_SCALAR_ANY) {
    scalars_.emplace_back(std::move(name), value_class);
    return *this;
  }
  Formula& contract(const hiera_contract& contract) {
    contract_ = contract;
    has_contract_ = true;
    return *this;
  }
  // The application's own function; `user` must outlive the operator.
  Formula& baseline(hiera_baseline_fn function, void* user) {
    baseline_ = function;
    baseline_user_ = user;
    return *this;
  }

  hiera_op* Create(hiera_engine* engine) const {
    std::vector<hiera_tensor> tensors;
    for (const Tensor& tensor : tensors_) tensors.push_back(tensor.get());
    std::vector<hiera_scalar> scalars;
    for (const std::pair<std::string, uint32_t>& scalar : scalars_) {
      scalars.push_back({scalar.first.c_str(), scalar.second, 0});
    }
    hiera_formula formula = HIERA_FORMULA_INIT;
    formula.text = text_.c_str();
    formula.tensors = tensors.data();
    formula.tensor_count = static_cast<uint32_t>(tensors.size());
    formula.scalars = scalars.data();
    formula.scalar_count = static_cast<uint32_t>(scalars.size());
    formula.contract = has_contract_ ? &contract_ : nullptr;
    formula.baseline = baseline_;
    formula.baseline_user = baseline_user_;
    hiera_op* op = nullptr;
    Check(hiera_op_create(engine, &formula, &op));
    return op;
  }

 private:
  std::string text_;
  std::vector<Tensor> tensors_;
  std::vector<std::pair<std::string, uint32_t>> scalars_;
  hiera_contract contract_ = HIERA_CONTRACT_INIT;
  bool has_contract_ = false;
  hiera_baseline_fn baseline_ = nullptr;
  void* baseline_user_ = nullptr;
};

// Owns one operator. Its engine must outlive it.
class Op {
 public:
  Op() noexcept = default;
  explicit Op(hiera_op* op) noexcept : op_(op) {}
  Op(Op&& other) noexcept : op_(other.Release()) {}
  Op& operator=(Op&& other) noexcept {
    if (this != &other) {
      hiera_op_destroy(op_);
      op_ = other.Release();
    }
    return *this;
  }
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;
  ~Op() { hiera_op_destroy(op_); }

  hiera_op* get() const noexcept { return op_; }
  hiera_op* Release() noexcept {
    hiera_op* op = op_;
    op_ = nullptr;
    return op;
  }

  void Run(void* const* pointers, const double* scalars = nullptr, void* stream = nullptr) {
    Check(hiera_op_run(op_, pointers, scalars, stream));
  }
  void Run(std::initializer_list<void*> pointers, std::initializer_list<double> scalars = {},
           void* stream = nullptr) {
    Run(pointers.begin(), scalars.begin(), stream);
  }
  void Reference(std::initializer_list<void*> pointers,
                 std::initializer_list<double> scalars = {}) const {
    Check(hiera_op_reference(op_, pointers.begin(), scalars.begin()));
  }

  // True once the planner has nothing left to try; false where that took longer, or where nothing
  // will come: no planner, or a mode that forbids it.
  bool Settle(std::chrono::nanoseconds timeout) {
    const long long count = timeout.count();
    const hiera_status status = hiera_op_settle(op_, count > 0 ? static_cast<uint64_t>(count) : 0);
    if (status == HIERA_TIMEOUT || status == HIERA_UNAVAILABLE) return false;
    Check(status);
    return true;
  }

  hiera_op_info info() const {
    hiera_op_info info = HIERA_OP_INFO_INIT;
    Check(hiera_op_get_info(op_, &info));
    return info;
  }

  std::string Explain() const {
    // The text may change between asking for its length and reading it.
    size_t length = 4096;
    for (;;) {
      std::string text(length + 1, '\0');
      Check(hiera_op_explain(op_, &text[0], text.size(), &length));
      if (length < text.size()) {
        text.resize(length);
        return text;
      }
    }
  }

 private:
  hiera_op* op_ = nullptr;
};

// Owns one engine. Destroy its operators first.
class Engine {
 public:
  Engine() { Check(hiera_engine_create(nullptr, &engine_)); }
  explicit Engine(const hiera_config& config) { Check(hiera_engine_create(&config, &engine_)); }
  Engine(Engine&& other) noexcept : engine_(other.engine_) { other.engine_ = nullptr; }
  Engine& operator=(Engine&& other) noexcept {
    std::swap(engine_, other.engine_);
    return *this;
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() { hiera_engine_destroy(engine_); }

  hiera_engine* get() const noexcept { return engine_; }

  Op Create(const Formula& formula) { return Op(formula.Create(engine_)); }
  Op Create(const hiera_formula& formula) { return Make(hiera_op_create, formula); }
  Op Create(const hiera_gemm& gemm) { return Make(hiera_op_create_gemm, gemm); }
  Op Create(const hiera_conv& conv) { return Make(hiera_op_create_conv, conv); }
  Op Create(const hiera_stencil& stencil) { return Make(hiera_op_create_stencil, stencil); }

  hiera_stats stats() const {
    hiera_stats stats = HIERA_STATS_INIT;
    Check(hiera_engine_stats(engine_, &stats));
    return stats;
  }

 private:
  template <typename Descriptor>
  Op Make(hiera_status (*create)(hiera_engine*, const Descriptor*, hiera_op**),
          const Descriptor& descriptor) {
    hiera_op* op = nullptr;
    Check(create(engine_, &descriptor, &op));
    return Op(op);
  }

  hiera_engine* engine_ = nullptr;
};

}  // namespace hiera

#endif  // HIERA_HIERA_HPP_
