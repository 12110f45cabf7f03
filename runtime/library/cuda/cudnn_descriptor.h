// CudnnDescriptor: an object of cuDNN's backend, owned. The first call that fails is remembered, so
// that a descriptor can be filled without a check at every step. Not thread-safe.
#ifndef HIERA_RUNTIME_LIBRARY_CUDA_CUDNN_DESCRIPTOR_H_
#define HIERA_RUNTIME_LIBRARY_CUDA_CUDNN_DESCRIPTOR_H_

#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/library/cuda/cudnn_abi.h"

namespace hiera {

class CudnnDescriptor {
 public:
  CudnnDescriptor() = default;
  CudnnDescriptor(const cudnn::Functions& functions, cudnn::Kind kind) : f_(&functions) {
    status_ = f_->create_descriptor(kind, &descriptor_);
  }
  ~CudnnDescriptor() {
    if (descriptor_ != nullptr) f_->destroy_descriptor(descriptor_);
  }
  CudnnDescriptor(CudnnDescriptor&& other) noexcept
      : f_(other.f_),
        descriptor_(std::exchange(other.descriptor_, nullptr)),
        status_(other.status_) {}
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept {
    std::swap(f_, other.f_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(status_, other.status_);
    return *this;
  }

  template <typename T>
  CudnnDescriptor& Set(cudnn::Attribute attribute, cudnn::Type type, const T& value) {
    return SetAll(attribute, type, 1, &value);
  }
  template <typename T>
  CudnnDescriptor& SetList(cudnn::Attribute attribute, cudnn::Type type,
                           const std::vector<T>& values) {
    return SetAll(attribute, type, static_cast<int64_t>(values.size()), values.data());
  }
  CudnnDescriptor& SetAll(cudnn::Attribute attribute, cudnn::Type type, int64_t count,
                          const void* values) {
    if (status_ == 0) status_ = f_->set(descriptor_, attribute, type, count, values);
    return *this;
  }
  CudnnDescriptor& Finalize() {
    if (status_ == 0) status_ = f_->finalize(descriptor_);
    return *this;
  }

  // Of a scalar attribute; `otherwise` where it has none.
  template <typename T>
  T Get(cudnn::Attribute attribute, cudnn::Type type, T otherwise) const {
    T value{};
    int64_t count = 0;
    const int status = f_->get(descriptor_, attribute, type, 1, &count, &value);
    return status == 0 && count == 1 ? value : otherwise;
  }
  int64_t Count(cudnn::Attribute attribute, cudnn::Type type) const {
    int64_t count = 0;
    return f_->get(descriptor_, attribute, type, 0, &count, nullptr) == 0 ? count : 0;
  }
  std::vector<int> GetInts(cudnn::Attribute attribute, cudnn::Type type, int64_t most) const {
    std::vector<int> values(static_cast<size_t>(most));
    int64_t count = 0;
    if (f_->get(descriptor_, attribute, type, most, &count, values.data()) != 0) count = 0;
    values.resize(static_cast<size_t>(count < most ? count : most));
    return values;
  }
  // Descriptors that the library fills: made first, then asked for.
  std::vector<CudnnDescriptor> GetDescriptors(cudnn::Attribute attribute, cudnn::Kind kind,
                                              int64_t most) const {
    std::vector<CudnnDescriptor> found;
    std::vector<void*> raw;
    for (int64_t i = 0; i < most; ++i) {
      found.emplace_back(*f_, kind);
      raw.push_back(found.back().get());
    }
    int64_t count = 0;
    if (most > 0 &&
        f_->get(descriptor_, attribute, cudnn::kTypeDescriptor, most, &count, raw.data()) != 0) {
      count = 0;
    }
    found.resize(static_cast<size_t>(count < most ? count : most));
    return found;
  }

  // Is never destroyed.
  void GiveUp() { descriptor_ = nullptr; }

  void* get() const { return descriptor_; }
  int status() const { return status_; }
  bool ok() const { return status_ == 0; }
  Status AsStatus(const char* what) const {
    if (status_ == 0) return {};
    return Unsupported("cuDNN takes no such " + std::string(what) + ", status " +
                       std::to_string(status_));
  }

 private:
  const cudnn::Functions* f_ = nullptr;
  void* descriptor_ = nullptr;
  int status_ = 0;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_LIBRARY_CUDA_CUDNN_DESCRIPTOR_H_
