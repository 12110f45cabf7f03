#include "policies/kernel/stencil_text.h"

#include <vector>

namespace hiera {

std::string StencilRuleText(Outside rule) {
  switch (rule) {
    case Outside::kZero:
      return "Rule::kZero";
    case Outside::kClamp:
      return "Rule::kClamp";
    case Outside::kWrap:
      return "Rule::kWrap";
    case Outside::kKeep:
    case Outside::kRefuse:
      break;  // no cell that is computed reads outside
  }
  return "Rule::kKeep";
}

std::string StencilCellText(const StencilTask& stencil) {
  const std::string type = stencil.dtype == DType::kF32 ? "float" : "double";
  std::string text = "struct Cell {\n  using Type = " + type + ";\n";
  text += "  static constexpr int kSources = " + std::to_string(stencil.sources.size()) + ";\n";
  text += "  static constexpr int kScalars = " + std::to_string(stencil.scalars.size()) + ";\n";
  text += "  static constexpr int kRows = " + std::to_string(stencil.rows.size()) + ";\n";
  text += "  static constexpr RowRead kRow[] = {";
  for (const StencilTask::Row& row : stencil.rows) {
    text += "\n      " +
            ListText(std::vector<int64_t>{row.source, row.d0, row.d1, row.low, row.high}) + ",";
  }
  text += "};\n  template <class R>\n  static inline typename R::Value At(const R& u, const " +
          type + "* s) {\n    (void)s;\n    ";
  for (size_t i = 0; i < stencil.cell.size(); ++i) {
    text += stencil.cell[i];
    if (stencil.cell[i] == '\n') text += i + 1 < stencil.cell.size() ? "    " : "  ";
  }
  return text + "}\n};\n";
}

}  // namespace hiera
