#include "tests/unit/policies/swept_on_cpu.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "runtime/task/reference.h"

#if !defined(HIERA_SOURCE_DIR) || !defined(HIERA_CANDIDATE_FLAGS)
#error "the build names the source folder, where the shim lies, and the sanitizers in use"
#endif

namespace hiera {
namespace {

// What kernels may read: [begin, end).
struct Readable {
  const char *begin, *end;
};
// Returns how many reads went astray.
using LaunchFn = int64_t (*)(const unsigned* shape, void* const* arguments,
                             const Readable* readable, int count);

// Calls a kernel with arguments that are given by address, as the driver does, and looks at every
// address that it reads.
constexpr const char* kHead = R"(
#include <atomic>
#include <utility>
#include "tests/cuda_shim/cuda_shim.cc"
struct Readable {
  const char *begin, *end;
};
static const Readable* readable;
static int readable_count;
static std::atomic<int64_t> strays;
template <class T>
T CheckedLoad(const T* address) {
  const char* const at = reinterpret_cast<const char*>(address);
  for (int i = 0; i < readable_count; ++i) {
    if (at >= readable[i].begin && at + sizeof(T) <= readable[i].end) return *address;
  }
  ++strays;
  return T{};
}
#define __ldg CheckedLoad
template <class... A, std::size_t... I>
void CallWith(void (*kernel)(A...), void* const* arguments, std::index_sequence<I...>) {
  kernel(*static_cast<A*>(arguments[I])...);
}
template <class... A>
int64_t Launch(void (*kernel)(A...), const unsigned* shape, void* const* arguments,
               const Readable* all, int count) {
  readable = all;
  readable_count = count;
  strays = 0;
  hiera::cuda_shim::LaunchOnCpu({shape[0], shape[1], shape[2]}, {shape[3], shape[4], shape[5]}, 0,
                                [&] {
    CallWith(kernel, arguments, std::make_index_sequence<sizeof...(A)>());
  });
  return strays;
}
)";

class OnCpu final : public Executable {
 public:
  OnCpu(const CudaSource& source, const Task& task, LaunchFn launch)
      : source_(source), task_(task), launch_(launch) {}

  hiera_status Run(const Call& call) const noexcept override {
    // NaN at first, and a guard behind it.
    const auto bytes = static_cast<size_t>(source_.workspace_bytes);
    std::vector<char> memory(bytes + kAlignment + kGuard, '\xff');
    char* workspace = memory.data();
    workspace += kAlignment - reinterpret_cast<uintptr_t>(workspace) % kAlignment;
    std::vector<Readable> readable{{workspace, workspace + bytes}};
    for (int t = 0; t < task_.bound_count; ++t) {
      const auto* begin = static_cast<const char*>(call.pointers[t]);
      readable.push_back({begin, begin + task_.tensors[t].span_bytes()});
    }
    for (const CudaStep& step : source_.plan.steps) {
      std::vector<std::vector<char>> values;
      std::vector<void*> arguments;
      for (const CudaArgument& argument : step.arguments) {
        values.push_back(ValueOf(argument, call, workspace));
      }
      for (std::vector<char>& value : values) arguments.push_back(value.data());
      unsigned shape[6];
      for (int i = 0; i < 3; ++i) {
        shape[i] = static_cast<unsigned>(step.grid[i]);
        shape[3 + i] = static_cast<unsigned>(step.block[i]);
      }
      const int64_t strays =
          launch_(shape, arguments.data(), readable.data(), static_cast<int>(readable.size()));
      if (strays > 0) return HIERA_DEVICE_ERROR;
    }
    for (size_t i = 0; i < kGuard - kAlignment; ++i) {
      if (workspace[bytes + i] != '\xff') return HIERA_INTERNAL;
    }
    return HIERA_OK;
  }

 private:
  static constexpr size_t kAlignment = 256, kGuard = 1024;

  static std::vector<char> ValueOf(const CudaArgument& argument, const Call& call,
                                   char* workspace) {
    std::vector<char> value(SizeOf(argument));
    char* address = nullptr;
    const auto narrow = static_cast<int32_t>(argument.integer);
    switch (argument.kind) {
      case CudaArgument::Kind::kTensor:
        address = static_cast<char*>(call.pointers[argument.number]) + argument.offset;
        break;
      case CudaArgument::Kind::kWorkspace:
        address = workspace + argument.offset;
        break;
      case CudaArgument::Kind::kScalar:
        StoreRounded(call.scalars[argument.number], argument.type, value.data());
        return value;
      case CudaArgument::Kind::kInteger:
        std::memcpy(value.data(),
                    value.size() == 4 ? static_cast<const void*>(&narrow)
                                      : static_cast<const void*>(&argument.integer),
                    value.size());
        return value;
      case CudaArgument::Kind::kReal:
        StoreRounded(argument.real, argument.type, value.data());
        return value;
    }
    std::memcpy(value.data(), &address, sizeof address);
    return value;
  }

  const CudaSource& source_;
  const Task task_;
  const LaunchFn launch_;
};

}  // namespace

SweptOnCpu::SweptOnCpu(const std::vector<CudaSource>& sources) : sources_(sources) {
  std::string name = (std::filesystem::temp_directory_path() / "hiera-sweep-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    error_ = "no temporary folder " + name;
    return;
  }
  folder_ = name;
  std::ofstream text(folder_ + "/source.cc");
  text << kHead;
  // Every source brings the templates, which guard themselves, and names that are made its own.
  for (size_t i = 0; i < sources.size(); ++i) {
    const std::string number = std::to_string(i);
    text << "#define sweep sweep_" + number + "\n#define instance instance_" + number + "\n"
         << sources[i].text << "#undef sweep\n#undef instance\n"
         << "extern \"C\" __attribute__((visibility(\"default\"))) int64_t launch_" + number +
                "(const unsigned* shape, void* const* arguments, const Readable* all, int count) {"
                "\n  return Launch(sweep_" +
                number + ", shape, arguments, all, count);\n}\n";
  }
  text.close();
  const std::string command =
      "c++ -std=c++20 -O1 -fPIC -shared -pthread -Wall -Wextra -Werror -Wno-unknown-pragmas "
      "-Wno-unused-function " HIERA_CANDIDATE_FLAGS " -I" HIERA_SOURCE_DIR " -o " +
      folder_ + "/source.so " + folder_ + "/source.cc 2> " + folder_ + "/errors";
  if (std::system(command.c_str()) != 0) {
    std::ifstream errors(folder_ + "/errors");
    error_ =
        command + "\n" + std::string(std::istreambuf_iterator<char>(errors), {}).substr(0, 6000);
    return;
  }
  handle_ = dlopen((folder_ + "/source.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) error_ = dlerror();
}

SweptOnCpu::~SweptOnCpu() {
  if (handle_ != nullptr) dlclose(handle_);
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

std::unique_ptr<Executable> SweptOnCpu::Make(size_t number, const Task& task) const {
  const std::string name = "launch_" + std::to_string(number);
  const auto launch = reinterpret_cast<LaunchFn>(dlsym(handle_, name.c_str()));
  if (launch == nullptr) return nullptr;
  return std::make_unique<OnCpu>(sources_[number], task, launch);
}

}  // namespace hiera
