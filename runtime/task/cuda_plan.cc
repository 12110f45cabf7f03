#include "runtime/task/cuda_plan.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "runtime/task/limits.h"

namespace hiera {
namespace {

using Kind = CudaArgument::Kind;

std::string Number(double value) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return std::string(text, end);
}

std::string Text(const CudaArgument& a) {
  const auto advanced = [&](std::string address) {
    return a.offset == 0 ? address : address + "+" + std::to_string(a.offset);
  };
  switch (a.kind) {
    case Kind::kTensor:
      return advanced("t" + std::to_string(a.number));
    case Kind::kWorkspace:
      return "w+" + std::to_string(a.offset);
    case Kind::kScalar:
      return "s" + std::to_string(a.number) + ":" + std::string(DTypeName(a.type));
    case Kind::kInteger:
      return (a.type == DType::kI32 ? "i32=" : "i64=") + std::to_string(a.integer);
    case Kind::kReal:
      return (a.type == DType::kF32 ? "f32=" : "f64=") + Number(a.real);
  }
  return "";
}

std::string Text(const CudaStep& step) {
  if (step.is_fill) {
    return "fill w+" + std::to_string(step.fill_offset) + " " + std::to_string(step.fill_bytes);
  }
  const auto three = [](const char* name, const std::array<int64_t, 3>& n) {
    std::string text = std::string(" ") + name;
    for (const int64_t extent : n) text += " " + std::to_string(extent);
    return text;
  };
  std::string text =
      "launch " + step.kernel + three("grid", step.grid) + three("block", step.block);
  if (step.cluster != std::array<int64_t, 3>{1, 1, 1}) text += three("cluster", step.cluster);
  if (step.shared_bytes != 0) text += " shared " + std::to_string(step.shared_bytes);
  if (step.cooperative) text += " cooperative";
  text += " args";
  for (const CudaArgument& a : step.arguments) text += " " + Text(a);
  return text;
}

// The words of one line.
class Words {
 public:
  Words(std::string_view line, int number) : rest_(line), number_(number) {}

  // The next word; empty at the end.
  std::string_view Next() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
    const std::string_view word = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(word.size());
    return word;
  }
  Status Wrong(const std::string& what) const {
    return InvalidArgument("launch plan, line " + std::to_string(number_) + ": " + what);
  }
  // A whole number in [low, high].
  Result<int64_t> Integer(const std::string& field, std::string_view word, int64_t low,
                          int64_t high) const {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value < low || value > high) {
      return Wrong(field + " is \"" + std::string(word) + "\"; it must be " + std::to_string(low) +
                   " to " + std::to_string(high));
    }
    return value;
  }
  Result<int64_t> NextInteger(const std::string& field, int64_t low, int64_t high) {
    return Integer(field, Next(), low, high);
  }

 private:
  std::string_view rest_;
  const int number_;
};

constexpr int64_t kMost = int64_t{1} << 62;

Status ReadThree(Words& words, const std::string& field, const std::array<int64_t, 3>& most,
                 std::array<int64_t, 3>* out) {
  for (int axis = 0; axis < 3; ++axis) {
    const std::string name = field + "." + "xyz"[axis];
    const Result<int64_t> value = words.NextInteger(name, 1, most[axis]);
    if (!value.ok()) return value.status();
    (*out)[axis] = *value;
  }
  return {};
}

Result<CudaArgument> ReadAddress(const Words& words, std::string_view word) {
  CudaArgument a;
  const size_t plus = word.find('+');
  if (word[0] == 't') {
    const Result<int64_t> number =
        words.Integer("the tensor of an argument", word.substr(1, plus - 1), 0, kMaxTensors - 1);
    if (!number.ok()) return number.status();
    a.number = static_cast<int>(*number);
  } else {
    a.kind = Kind::kWorkspace;
    if (plus != 1) return words.Wrong("a workspace argument is \"w+BYTES\"");
  }
  if (plus == std::string_view::npos) return a;
  const Result<int64_t> offset = words.Integer("an offset", word.substr(plus + 1), 0, kMost);
  if (!offset.ok()) return offset.status();
  a.offset = *offset;
  return a;
}

Result<CudaArgument> ReadScalar(const Words& words, std::string_view word) {
  CudaArgument a;
  a.kind = Kind::kScalar;
  const size_t colon = word.find(':');
  if (colon == std::string_view::npos) return words.Wrong("a scalar argument is \"sN:TYPE\"");
  const Result<int64_t> number =
      words.Integer("the scalar of an argument", word.substr(1, colon - 1), 0, kMaxScalars - 1);
  if (!number.ok()) return number.status();
  a.number = static_cast<int>(*number);
  const Result<DType> type = DTypeFromName(word.substr(colon + 1));
  if (!type.ok() || *type == DType::kBool) {
    return words.Wrong("a scalar argument's type is \"" + std::string(word.substr(colon + 1)) +
                       "\"; it must be f64, f32, f16, bf16 or i32");
  }
  a.type = *type;
  return a;
}

Result<CudaArgument> ReadConstant(const Words& words, std::string_view type,
                                  std::string_view value) {
  CudaArgument a;
  if (type == "i32" || type == "i64") {
    a.kind = Kind::kInteger;
    a.type = type == "i32" ? DType::kI32 : DType::kF64;
    const bool narrow = type == "i32";
    const Result<int64_t> number = words.Integer(
        "a constant", value,
        narrow ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int64_t>::min(),
        narrow ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int64_t>::max());
    if (!number.ok()) return number.status();
    a.integer = *number;
    return a;
  }
  a.kind = Kind::kReal;
  a.type = type == "f32" ? DType::kF32 : DType::kF64;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), a.real);
  if (error != std::errc() || end != value.data() + value.size()) {
    return words.Wrong("a constant is \"" + std::string(value) + "\"; it must be a number");
  }
  return a;
}

Result<CudaArgument> ReadArgument(const Words& words, std::string_view word) {
  const size_t equals = word.find('=');
  if (equals != std::string_view::npos) {
    const std::string_view type = word.substr(0, equals);
    if (type == "i32" || type == "i64" || type == "f32" || type == "f64") {
      return ReadConstant(words, type, word.substr(equals + 1));
    }
  } else if (word[0] == 't' || word[0] == 'w') {
    return ReadAddress(words, word);
  } else if (word[0] == 's') {
    return ReadScalar(words, word);
  }
  return words.Wrong("argument \"" + std::string(word) +
                     "\" is none of tN, tN+BYTES, w+BYTES, sN:TYPE, i32=, i64=, f32=, f64=");
}

int64_t Volume(const std::array<int64_t, 3>& n) { return n[0] * n[1] * n[2]; }

Status CheckShape(const Words& words, const CudaStep& step) {
  if (Volume(step.block) > kMaxCudaThreads) {
    return words.Wrong("the block has " + std::to_string(Volume(step.block)) +
                       " threads, at most " + std::to_string(kMaxCudaThreads) + " are admitted");
  }
  if (Volume(step.cluster) > kMaxCudaCluster) {
    return words.Wrong("the cluster has " + std::to_string(Volume(step.cluster)) +
                       " blocks, at most " + std::to_string(kMaxCudaCluster) + " are admitted");
  }
  for (int axis = 0; axis < 3; ++axis) {
    if (step.grid[axis] % step.cluster[axis] == 0) continue;
    return words.Wrong(std::string("grid.") + "xyz"[axis] + " is no multiple of cluster." +
                       "xyz"[axis]);
  }
  int64_t bytes = 0;
  for (const CudaArgument& a : step.arguments) {
    bytes = (bytes + SizeOf(a) - 1) / SizeOf(a) * SizeOf(a) + SizeOf(a);
  }
  if (bytes > kMaxCudaParameters) {
    return words.Wrong("the arguments take " + std::to_string(bytes) + " bytes, at most " +
                       std::to_string(kMaxCudaParameters) + " are admitted");
  }
  return {};
}

bool IsSymbol(std::string_view name) {
  if (name.empty() || name.size() > 512) return false;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
    if (!letter && !(c >= '0' && c <= '9')) return false;
  }
  return name[0] < '0' || name[0] > '9';
}

Status ReadArguments(Words& words, CudaStep* step) {
  for (std::string_view word = words.Next(); !word.empty(); word = words.Next()) {
    if (step->arguments.size() == kMaxCudaArguments) {
      return words.Wrong("more than " + std::to_string(kMaxCudaArguments) + " arguments");
    }
    Result<CudaArgument> argument = ReadArgument(words, word);
    if (!argument.ok()) return argument.status();
    step->arguments.push_back(*argument);
  }
  return CheckShape(words, *step);
}

Status ReadLaunch(Words& words, CudaStep* step) {
  step->kernel = std::string(words.Next());
  if (!IsSymbol(step->kernel)) {
    return words.Wrong("\"" + step->kernel + "\" is no kernel's symbol");
  }
  if (words.Next() != "grid") return words.Wrong("\"grid X Y Z\" must follow the kernel");
  constexpr int64_t kWide = std::numeric_limits<int32_t>::max();
  HIERA_RETURN_IF_ERROR(ReadThree(words, "grid", {kWide, 65535, 65535}, &step->grid));
  if (words.Next() != "block") return words.Wrong("\"block X Y Z\" must follow the grid");
  HIERA_RETURN_IF_ERROR(ReadThree(words, "block", {1024, 1024, 64}, &step->block));
  for (;;) {
    const std::string_view word = words.Next();
    if (word == "cluster") {
      HIERA_RETURN_IF_ERROR(ReadThree(words, "cluster", {16, 16, 16}, &step->cluster));
    } else if (word == "shared") {
      const Result<int64_t> bytes = words.NextInteger("shared", 0, kMaxCudaShared);
      if (!bytes.ok()) return bytes.status();
      step->shared_bytes = *bytes;
    } else if (word == "cooperative") {
      step->cooperative = true;
    } else if (word == "args") {
      return ReadArguments(words, step);
    } else {
      return words.Wrong("\"" + std::string(word) +
                         "\" where one of cluster, shared, cooperative, args was expected");
    }
  }
}

Status ReadFill(Words& words, CudaStep* step) {
  step->is_fill = true;
  const std::string_view where = words.Next();
  if (!where.starts_with("w+")) return words.Wrong("\"fill w+OFFSET BYTES\" was expected");
  const Result<int64_t> offset = words.Integer("the offset", where.substr(2), 0, kMost);
  if (!offset.ok()) return offset.status();
  const Result<int64_t> bytes = words.NextInteger("the size", 1, kMost);
  if (!bytes.ok()) return bytes.status();
  step->fill_offset = *offset;
  step->fill_bytes = *bytes;
  return words.Next().empty() ? Status() : words.Wrong("something follows the size");
}

Status ReadHead(Words& words, CudaPlan* plan) {
  if (words.Next() != kCudaPlan || words.Next() != "align") {
    return words.Wrong("\"cuda align BYTES\" was expected");
  }
  const Result<int64_t> bytes = words.NextInteger("align", 1, 256);
  if (!bytes.ok()) return bytes.status();
  if ((*bytes & (*bytes - 1)) != 0) return words.Wrong("align is no power of two");
  plan->alignment = *bytes;
  return words.Next().empty() ? Status() : words.Wrong("something follows the alignment");
}

}  // namespace

int64_t SizeOf(const CudaArgument& a) {
  const bool address = a.kind == Kind::kTensor || a.kind == Kind::kWorkspace;
  return address ? 8 : SizeOf(a.type);
}

std::string CudaPlanText(const CudaPlan& plan) {
  std::string text = std::string(kCudaPlan) + " align " + std::to_string(plan.alignment);
  for (const CudaStep& step : plan.steps) text += "\n" + Text(step);
  return text;
}

Result<CudaPlan> ParseCudaPlan(std::string_view text) {
  const std::string whole(text);
  CudaPlan plan;
  for (int number = 1; number == 1 || !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    Words words(line, number);
    if (number == 1) {
      HIERA_RETURN_IF_ERROR(ReadHead(words, &plan));
      continue;
    }
    if (plan.steps.size() == kMaxCudaSteps) {
      return words.Wrong("more than " + std::to_string(kMaxCudaSteps) + " steps");
    }
    CudaStep& step = plan.steps.emplace_back();
    const std::string_view verb = words.Next();
    if (verb == "launch") {
      HIERA_RETURN_IF_ERROR(ReadLaunch(words, &step));
    } else if (verb == "fill") {
      HIERA_RETURN_IF_ERROR(ReadFill(words, &step));
    } else {
      return words.Wrong("\"" + std::string(verb) + "\" is neither launch nor fill");
    }
  }
  if (plan.steps.empty()) return InvalidArgument("launch plan: it launches nothing");
  // A plan is hashed as text: two spellings would be two variants.
  if (CudaPlanText(plan) != whole) {
    return InvalidArgument("launch plan: not in its one spelling, which is\n" + CudaPlanText(plan));
  }
  return plan;
}

Status CheckCudaPlan(const CudaPlan& plan, const Task& task, int64_t workspace_bytes) {
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const CudaStep& step = plan.steps[s];
    const std::string where = "launch plan, step " + std::to_string(s + 1) + ": ";
    if (step.is_fill && (step.fill_offset > workspace_bytes ||
                         step.fill_bytes > workspace_bytes - step.fill_offset)) {
      return InvalidArgument(where + "the fill ends outside the workspace of " +
                             std::to_string(workspace_bytes) + " bytes");
    }
    for (const CudaArgument& a : step.arguments) {
      if (a.kind == Kind::kTensor && a.number >= task.bound_count) {
        return InvalidArgument(where + "argument " + Text(a) + ", but the task binds " +
                               std::to_string(task.bound_count) + " tensors");
      }
      if (a.kind == Kind::kScalar && a.number >= static_cast<int>(task.scalars.size())) {
        return InvalidArgument(where + "argument " + Text(a) + ", but the task has " +
                               std::to_string(task.scalars.size()) + " scalars");
      }
      if (a.kind == Kind::kTensor && a.offset > 0 &&
          a.offset >= task.tensors[a.number].span_bytes()) {
        return InvalidArgument(where + "argument " + Text(a) + " points outside the tensor's " +
                               std::to_string(task.tensors[a.number].span_bytes()) + " bytes");
      }
      if (a.kind == Kind::kWorkspace && a.offset >= workspace_bytes) {
        return InvalidArgument(where + "argument " + Text(a) + " points outside the workspace of " +
                               std::to_string(workspace_bytes) + " bytes");
      }
    }
  }
  return {};
}

}  // namespace hiera
