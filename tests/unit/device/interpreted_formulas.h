// Formulas of every kind, layout and rule that an interpreter must get right, in groups: for the
// tests of each interpreter.
#ifndef HIERA_TESTS_UNIT_DEVICE_INTERPRETED_FORMULAS_H_
#define HIERA_TESTS_UNIT_DEVICE_INTERPRETED_FORMULAS_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/device/interpreted_case.h"

namespace hiera {

// Called with each formula and what its tensors are filled with.
class FormulaVisit {
 public:
  using Fill = InterpretedCase::Fill;
  explicit FormulaVisit(std::function<void(const std::string&, Fill)> visit)
      : visit_(std::move(visit)) {}
  void operator()(const std::string& text, Fill fill = Fill::kNormal) const { visit_(text, fill); }

 private:
  std::function<void(const std::string&, Fill)> visit_;
};

struct FormulaGroup {
  const char* name;
  void (*visit)(const FormulaVisit&);
};
const std::vector<FormulaGroup>& FormulaGroups();

}  // namespace hiera

#endif  // HIERA_TESTS_UNIT_DEVICE_INTERPRETED_FORMULAS_H_
