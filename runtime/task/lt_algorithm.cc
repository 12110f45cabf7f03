#include "runtime/task/lt_algorithm.h"

#include <charconv>

namespace hiera {
namespace {

// Every attribute in the order of the text.
template <typename A, typename F>
void EachField(A& algorithm, F&& field) {
  field("algo", algorithm.id);
  field("tile", algorithm.tile);
  field("stages", algorithm.stages);
  field("splitk", algorithm.split_k);
  field("reduce", algorithm.reduction);
  field("swizzle", algorithm.swizzle);
  field("custom", algorithm.custom);
  field("inner", algorithm.inner_shape);
  field("cluster", algorithm.cluster);
}

std::string By(const std::array<int, 2>& shape) {
  return std::to_string(shape[0]) + "x" + (shape[1] == 0 ? "auto" : std::to_string(shape[1]));
}

}  // namespace

std::string LtAlgorithm::Text() const {
  std::string text;
  EachField(*this, [&text](const char* name, auto value) {
    text += (text.empty() ? "" : " ") + std::string(name) + "=" + std::to_string(value);
  });
  return text;
}

std::string LtAlgorithm::Name() const {
  std::string name = std::to_string(id);
  const auto add = [&name](const char* what, const std::string& value) {
    name += std::string(" ") + what + value;
  };
  if (const auto shape = LtTileShape(tile)) {
    add("", By(*shape));
  } else if (tile != 0) {
    add("tile ", std::to_string(tile));
  }
  if (const auto shape = LtStageShape(stages)) {
    add("stages ", By(*shape));
  } else if (stages != 0) {
    add("stages #", std::to_string(stages));
  }
  if (const auto shape = LtClusterShape(cluster)) {
    add("cluster ", By(*shape));
  } else if (cluster != 0) {
    add("cluster #", std::to_string(cluster));
  }
  if (split_k > 1) {
    add("splitk ", std::to_string(split_k) + (reduction == kLtReduceInPlace       ? " in place"
                                              : reduction == kLtReduceComputeType ? " by sums"
                                                                                  : " by outputs"));
  } else if (split_k < 0) {
    add("stream-k ", std::to_string(-split_k));
  }
  if (swizzle != 0) add("swizzle ", std::to_string(swizzle));
  if (custom != 0) add("custom ", std::to_string(custom));
  if (inner_shape != 0) add("inner ", std::to_string(inner_shape));
  return name;
}

Result<LtAlgorithm> ParseLtAlgorithm(std::string_view text) {
  LtAlgorithm algorithm;
  std::string_view rest = text;
  std::string wrong;
  EachField(algorithm, [&](const char* name, auto& value) {
    if (!wrong.empty()) return;
    const std::string_view before = rest;
    const std::string prefix = std::string(name) + "=";
    if (rest.substr(0, prefix.size()) == prefix) {
      rest.remove_prefix(prefix.size());
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
      if (error == std::errc()) {
        rest.remove_prefix(static_cast<size_t>(end - rest.data()));
        if (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
        return;
      }
    }
    wrong = std::string(name) + "=NUMBER is expected at \"" + std::string(before) + "\"";
  });
  if (wrong.empty() && !rest.empty()) wrong = "\"" + std::string(rest) + "\" follows the fields";
  if (wrong.empty() && algorithm.Text() != text) wrong = "it is not in its canonical spelling";
  if (!wrong.empty()) {
    return InvalidArgument("cuBLASLt algorithm \"" + std::string(text) + "\": " + wrong);
  }
  return algorithm;
}

}  // namespace hiera
