#include "policies/kernel/gemm/source.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <utility>
#include <vector>

#include "gemm_templates.h"

namespace hiera::gemm {
namespace {

// The beginning of matrix i as a sum over the axes of the batch.
std::string BatchOffset(const std::vector<BatchAxis>& batch, int64_t BatchAxis::*stride) {
  std::string sum;
  int64_t inner = 1;
  for (size_t axis = batch.size(); axis-- > 0; inner *= batch[axis].extent) {
    if (batch[axis].*stride == 0) continue;
    std::string term = "i";
    if (inner > 1) term += " / " + std::to_string(inner);
    if (axis > 0) term += " % " + std::to_string(batch[axis].extent);
    sum += (sum.empty() ? "" : " + ") + term + " * " + std::to_string(batch[axis].*stride);
  }
  return sum.empty() ? "0 * i" : sum;
}

std::string FactorClass(const GemmView::Factor& factor) {
  if (factor.scalar >= 0) return "2";
  return factor.value == 0 ? "0" : factor.value == 1 ? "1" : "2";
}

std::string FactorValue(const GemmView::Factor& factor) {
  if (factor.scalar >= 0) return "static_cast<T>(scalars[" + std::to_string(factor.scalar) + "])";
  char text[40];
  std::snprintf(text, sizeof text, "%a", factor.value);
  return std::string("static_cast<T>(") + text + ")";
}

// Lines of constants, " name = value" each.
std::string Constants(std::string_view type,
                      const std::vector<std::pair<std::string_view, int64_t>>& values) {
  std::string text = "  static constexpr " + std::string(type) + " ";
  for (size_t i = 0; i < values.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::string(values[i].first) + " = " +
            std::to_string(values[i].second);
  }
  return text + ";\n";
}

}  // namespace

std::string_view ActivationFunction(Op op) {
  switch (op) {
    case Op::kAbs:
      return "Abs";
    case Op::kExp:
      return "Exp";
    case Op::kTanh:
      return "Tanh";
    case Op::kErf:
      return "Erf";
    case Op::kSigmoid:
      return "Sigmoid";
    case Op::kRelu:
      return "Relu";
    case Op::kGelu:
      return "Gelu";
    case Op::kSilu:
      return "Silu";
    default:
      return "";
  }
}

std::string TemplateSource(bool activations) {
  std::string text(embedded::gemm_vector_cc);
  if (activations) text += embedded::gemm_activation_cc;
  text += embedded::gemm_tile_cc;
  text += embedded::gemm_blocks_cc;
  return text;
}

std::string InstantiationSource(const Problem& p, const Tuning& t, std::string_view plan,
                                std::string_view entry) {
  const auto block = [](int64_t extent, int64_t whole) { return extent == 0 ? whole : extent; };
  const std::string name(plan);
  std::string text = "\nstruct " + name + " {\n  typedef " +
                     (p.dtype == DType::kF64 ? "double" : "float") + " T;\n";
  text += Constants("long",
                    {{"kM", p.rows}, {"kN", p.cols}, {"kK", p.depth}, {"kBatch", p.matrices()}});
  text += Constants("long", {{"kArs", p.a_row},
                             {"kAcs", p.a_col},
                             {"kBrs", p.b_row},
                             {"kBcs", p.b_col},
                             {"kCrs", p.c_row}});
  for (const auto& [function, stride] :
       std::vector<std::pair<std::string, int64_t BatchAxis::*>>{{"BatchA", &BatchAxis::a},
                                                                 {"BatchB", &BatchAxis::b},
                                                                 {"BatchC", &BatchAxis::c},
                                                                 {"BatchBias", &BatchAxis::bias}}) {
    text += "  static constexpr long " + function + "(long i) { return " +
            BatchOffset(p.batch, stride) + "; }\n";
  }
  text += Constants("int", {{"kRows", t.rows},
                            {"kVecs", t.vecs},
                            {"kWidth", t.width},
                            {"kUnroll", std::max(t.unroll, 1)}});
  text += Constants("long", {{"kMc", block(t.mc, p.rows)},
                             {"kNc", block(t.nc, p.cols)},
                             {"kKc", block(t.kc, p.depth)},
                             {"kSplit", t.split},
                             {"kLanes", t.lanes}});
  text += Constants("bool", {{"kInner", t.inner},
                             {"kMasked", t.masked},
                             {"kPackA", t.pack_a},
                             {"kPackB", t.pack_b},
                             {"kRowsFirst", t.rows_first},
                             {"kHold", t.compiler == Candidate::Compiler::kGcc},
                             {"kBias", p.bias >= 0}});
  text += Constants("long", {{"kBiasRs", p.bias_row}, {"kBiasCs", p.bias_col}});
  text += Constants("int", {{"kAt", p.a}, {"kBt", p.b}, {"kCt", p.c}, {"kBiasT", p.bias}});
  text += "  static constexpr int kAlpha = " + FactorClass(p.alpha) +
          ", kBeta = " + FactorClass(p.beta) + ";\n";
  text += "  static T Alpha([[maybe_unused]] const double* scalars) { return " +
          FactorValue(p.alpha) + "; }\n";
  text += "  static T Beta([[maybe_unused]] const double* scalars) { return " +
          FactorValue(p.beta) + "; }\n";
  std::string result = "x";
  for (Op op : p.activation) {
    result = "hiera_gemm::" + std::string(ActivationFunction(op)) + "(" + result + ")";
  }
  text += "  template <class V>\n  static HIERA_INLINE V Epilogue(V x) {\n    return " + result +
          ";\n  }\n};\n";
  text += "static_assert(hiera_gemm::Gemm<" + name +
          ">::kWorkspaceBytes == " + std::to_string(WorkspaceBytes(p, t)) + ");\n";
  text += "extern \"C\" void " + std::string(entry) +
          "(const hiera_host_call* call) { hiera_gemm::Gemm<" + name + ">::Run(call); }\n";
  return text;
}

std::string CandidateSource(const Problem& problem, const Tuning& tuning) {
  return TemplateSource(!problem.activation.empty()) + InstantiationSource(problem, tuning);
}

}  // namespace hiera::gemm
