#include "runtime/core/operator.h"

#include <new>

#include "runtime/task/reference.h"

namespace hiera {
namespace {

double PromisedValue(ScalarClass value_class) { return value_class == ScalarClass::kOne ? 1 : 0; }

}  // namespace

Operator::Operator(const Task& task, Slot& slot)
    : slot_(&slot),
      pointer_count_(static_cast<uint32_t>(task.bound_count)),
      scalar_count_(static_cast<uint32_t>(task.scalars.size())) {
  for (int i = 0; i < task.bound_count; ++i) {
    operands_.push_back({task.tensors[i].name, task.tensors[i].elements() == 0});
  }
  for (const ScalarSpec& scalar : task.scalars) {
    if (scalar.value_class != ScalarClass::kAny) {
      fixed_.push_back({static_cast<uint32_t>(scalars_.size()), PromisedValue(scalar.value_class)});
    }
    scalars_.push_back({scalar.name, scalar.value_class});
  }
}

Operator::Operator(const Task& task, std::unique_ptr<Slot> slot) : Operator(task, *slot) {
  own_slot_ = std::move(slot);
}

bool Operator::Refused(void* const* pointers, const double* scalars) const noexcept {
  for (uint32_t i = 0; i < pointer_count_; ++i) {
    if (pointers[i] == nullptr && !operands_[i].may_be_null) return true;
  }
  if (scalar_count_ == 0) return false;
  if (scalars == nullptr) return true;
  for (const Fixed& fixed : fixed_) {
    if (scalars[fixed.scalar] != fixed.value) return true;
  }
  return false;
}

hiera_status Operator::RunDoubtful(void* const* pointers, const double* scalars,
                                   void* stream) noexcept {
  if (Refused(pointers, scalars)) return HIERA_INVALID_ARGUMENT;
  uintptr_t bits = 0;
  for (uint32_t i = 0; i < pointer_count_; ++i) bits |= reinterpret_cast<uintptr_t>(pointers[i]);
  return RunChecked({pointers, scalars, stream}, bits);
}

Status Operator::Check(void* const* pointers, const double* scalars) const {
  if (pointers == nullptr) {
    return InvalidArgument("pointers is NULL; pass an array of " + std::to_string(pointer_count_) +
                           " tensor addresses");
  }
  for (uint32_t i = 0; i < pointer_count_; ++i) {
    if (pointers[i] != nullptr || operands_[i].may_be_null) continue;
    return InvalidArgument("pointers[" + std::to_string(i) + "] (tensor " + operands_[i].name +
                           ") is NULL, but the tensor has elements");
  }
  if (scalar_count_ != 0 && scalars == nullptr) {
    return InvalidArgument("scalars is NULL; pass an array of " + std::to_string(scalar_count_) +
                           " values");
  }
  for (uint32_t i = 0; i < scalar_count_; ++i) {
    const ScalarClass value_class = scalars_[i].value_class;
    if (value_class == ScalarClass::kAny) continue;
    const double promised = PromisedValue(value_class);
    if (scalars[i] == promised) continue;
    return InvalidArgument("scalars[" + std::to_string(i) + "] (" + scalars_[i].name + ") is " +
                           std::to_string(scalars[i]) + ", but its class promises " +
                           (promised == 1 ? "1" : "0") +
                           "; create the operator with HIERA_SCALAR_ANY to vary it");
  }
  return {};
}

Status Operator::Reference(void* const* pointers, const double* scalars) const {
  HIERA_RETURN_IF_ERROR(Check(pointers, scalars));
  const Task& task = slot_->task();
  Result<std::vector<ReferenceOutput>> outputs = RunReference(task, pointers, scalars);
  if (!outputs.ok()) return outputs.status();
  for (const ReferenceOutput& output : *outputs) {
    const DType dtype = task.tensors[output.tensor].dtype;
    char* base = static_cast<char*>(pointers[output.tensor]);
    for (const ReferenceElement& element : output.elements) {
      if (element.written)
        StoreRounded(element.value, dtype, base + element.position * SizeOf(dtype));
    }
  }
  return {};
}

}  // namespace hiera
