// Operator: one operator of an application. It checks the arguments of a call and runs what its
// slot holds.
//
// Borrows its slot (or owns one that no other operator shares). Immutable: any thread. Run
// allocates, locks and hashes nothing and makes no system call of its own.
#ifndef HIERA_RUNTIME_CORE_OPERATOR_H_
#define HIERA_RUNTIME_CORE_OPERATOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/core/slot.h"

namespace hiera {

class Operator {
 public:
  // `task` names tensors and scalars as this operator's creator spells them.
  Operator(const Task& task, Slot& slot);
  // One that is not in the table.
  Operator(const Task& task, std::unique_ptr<Slot> slot);

  // HIERA_INVALID_ARGUMENT means that the call was not run, and Explain says why; any other status
  // is the implementation's.
  hiera_status Run(void* const* pointers, const double* scalars, void* stream) noexcept;

  // What is wrong with the arguments of a call; ok where nothing is.
  Status Check(void* const* pointers, const double* scalars) const;

  // Writes what the outputs should be, from the formula. Errors: kInvalidArgument, kOutOfMemory.
  Status Reference(void* const* pointers, const double* scalars) const;

  Slot& slot() const { return *slot_; }

 private:
  struct Fixed {
    uint32_t scalar;
    double value;
  };
  // Runs a call unless its arguments are really wrong. Never inlined: it would cost every call.
  [[gnu::noinline]] hiera_status RunDoubtful(void* const* pointers, const double* scalars,
                                             void* stream) noexcept;
  // `bits`: those that are set in any of the pointers.
  hiera_status RunChecked(const Call& call, uintptr_t bits) noexcept;
  bool Refused(void* const* pointers, const double* scalars) const noexcept;

  Slot* slot_;
  uint32_t pointer_count_;
  uint32_t scalar_count_;
  std::vector<Fixed> fixed_;  // scalars whose class is 0 or 1

  struct Operand {
    std::string name;
    bool may_be_null;  // it has no element
  };
  struct Scalar {
    std::string name;
    ScalarClass value_class;
  };
  std::vector<Operand> operands_;
  std::vector<Scalar> scalars_;
  std::unique_ptr<Slot> own_slot_;
};

inline hiera_status Operator::Run(void* const* pointers, const double* scalars,
                                  void* stream) noexcept {
  if (pointers == nullptr) [[unlikely]]
    return HIERA_INVALID_ARGUMENT;
  uintptr_t bits = 0;
  bool null = false;
  for (uint32_t i = 0; i < pointer_count_; ++i) {
    const auto address = reinterpret_cast<uintptr_t>(pointers[i]);
    bits |= address;
    null |= address == 0;
  }
  bool doubtful = null || (scalars == nullptr && scalar_count_ != 0);
  if (!doubtful) [[likely]] {
    for (const Fixed& fixed : fixed_) doubtful |= scalars[fixed.scalar] != fixed.value;
  }
  if (doubtful) [[unlikely]]
    return RunDoubtful(pointers, scalars, stream);
  return RunChecked({pointers, scalars, stream}, bits);
}

inline hiera_status Operator::RunChecked(const Call& call, uintptr_t bits) noexcept {
  const Active* active = slot_->Current();
  if ((bits & active->misaligned_bits) != 0) [[unlikely]]
    return slot_->RunUnfit(call);
  const hiera_status status = active->executable->Run(call);
  if (status != HIERA_OK) [[unlikely]]
    return slot_->Recover(*active, call, status);
  return HIERA_OK;
}

}  // namespace hiera

#endif  // HIERA_RUNTIME_CORE_OPERATOR_H_
