// What the stencil templates of both devices are instantiated with: a task's functor and its rules
// as C++. Pure functions.
#ifndef HIERA_POLICIES_KERNEL_STENCIL_TEXT_H_
#define HIERA_POLICIES_KERNEL_STENCIL_TEXT_H_

#include <string>

#include "policies/kernel/stencil_task.h"

namespace hiera {

// "{1, 2, 3}".
template <class Values>
std::string ListText(const Values& values) {
  std::string text = "{";
  for (size_t i = 0; i < values.size(); ++i) {
    text += (i ? ", " : "") + std::to_string(values[i]);
  }
  return text + "}";
}

// "Rule::kZero" and the like.
std::string StencilRuleText(Outside rule);

// "struct Cell {...};": the element type, the rows that are read, and the formula.
std::string StencilCellText(const StencilTask& stencil);

}  // namespace hiera

#endif  // HIERA_POLICIES_KERNEL_STENCIL_TEXT_H_
