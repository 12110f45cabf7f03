#include "tests/fake_cuda/kernel_scan.h"

#include <cctype>

namespace hiera::fake_cuda {
namespace {

constexpr std::string_view kGlobal = "__global__";
constexpr std::string_view kBounds = "__launch_bounds__";

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

size_t SkipSpace(std::string_view text, size_t at) {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
  return at;
}

// The end of the word at `at`.
size_t WordEnd(std::string_view text, size_t at) {
  while (at < text.size() && IsWord(text[at])) ++at;
  return at;
}

// Behind the bracket that closes the one at `at`.
size_t CloseOf(std::string_view text, size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return at + 1;
  }
  return at;
}

// Whether the declaration that `at` is part of begins with extern "C".
bool HasNameOfC(std::string_view source, size_t at) {
  const size_t begin = source.find_last_of(";}{", at);
  const std::string_view head =
      source.substr(begin == std::string_view::npos ? 0 : begin, at - begin);
  return head.find("extern \"C\"") != std::string_view::npos;
}

// The declaration from behind __global__ on: attributes, void, attributes, the name, "(".
ScannedKernel ScanOne(std::string_view source, size_t at) {
  ScannedKernel kernel{"", "1024"};
  for (at = SkipSpace(source, at); at < source.size() && IsWord(source[at]);) {
    const size_t end = WordEnd(source, at);
    const std::string_view word = source.substr(at, end - at);
    const size_t next = SkipSpace(source, end);
    const bool bracket = next < source.size() && source[next] == '(';
    if (!bracket) {
      at = next;
    } else if (word == kBounds) {
      const size_t close = CloseOf(source, next);
      const std::string inside(source.substr(next + 1, close - next - 2));
      kernel.max_threads = inside.substr(0, inside.find(','));
      at = SkipSpace(source, close);
    } else {
      kernel.name = word;
      break;
    }
  }
  return kernel;
}

}  // namespace

std::vector<ScannedKernel> ScanKernels(std::string_view source) {
  std::vector<ScannedKernel> kernels;
  for (size_t at = source.find(kGlobal); at != std::string_view::npos;
       at = source.find(kGlobal, at + 1)) {
    if (!HasNameOfC(source, at)) continue;
    ScannedKernel kernel = ScanOne(source, at + kGlobal.size());
    if (!kernel.name.empty()) kernels.push_back(std::move(kernel));
  }
  return kernels;
}

std::string WithDynamicShared(std::string_view source) {
  constexpr std::string_view kExtern = "extern __shared__ ";
  std::string text;
  size_t done = 0;
  for (size_t at = source.find(kExtern); at != std::string_view::npos;
       at = source.find(kExtern, done)) {
    const size_t bracket = source.find('[', at), end = source.find(';', at);
    if (bracket == std::string_view::npos || end == std::string_view::npos || bracket > end) break;
    size_t name_end = bracket;
    while (!IsWord(source[name_end - 1])) --name_end;
    size_t name = name_end;
    while (IsWord(source[name - 1])) --name;
    std::string type(source.substr(at + kExtern.size(), name - at - kExtern.size()));
    // What it is aligned to is more than any type asks for.
    for (const std::string_view attribute : {"alignas", "__align__"}) {
      const size_t found = type.find(attribute);
      if (found == std::string::npos) continue;
      type.erase(found, CloseOf(type, type.find('(', found)) - found);
    }
    text += source.substr(done, at - done);
    text += type + "* const " + std::string(source.substr(name, name_end - name)) +
            " = static_cast<" + type + "*>(hiera_fake::engine->dynamic_shared())";
    done = end;
  }
  return text + std::string(source.substr(done));
}

}  // namespace hiera::fake_cuda
