#include "tests/fake_cuda/code.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "runtime/device/cuda/interpreter/code.h"
#include "tests/fake_cuda/card.h"

namespace hiera::fake_cuda {
namespace {

constexpr unsigned kFatbinMagic = 0xba55ed50;
constexpr size_t kFatbinHead = 16;  // bytes

void AddKernels(const hiera_fake::Module& module, Library* library) {
  for (int k = 0; k < module.kernel_count; ++k) {
    library->kernels[module.kernels[k].name] =
        std::make_unique<Kernel>(Kernel{&module, &module.kernels[k], kPlainShared});
  }
}

// The end of the last thing that the object's headers speak of.
size_t SizeOfObject(const char* image) {
  Elf64_Ehdr head;
  std::memcpy(&head, image, sizeof head);
  size_t end = head.e_shoff + size_t{head.e_shnum} * head.e_shentsize;
  for (int p = 0; p < head.e_phnum; ++p) {
    Elf64_Phdr segment;
    std::memcpy(&segment, image + head.e_phoff + p * sizeof segment, sizeof segment);
    end = std::max<size_t>(end, segment.p_offset + segment.p_filesz);
  }
  return end;
}

// The object from a file in memory, which stays open: its number is the name that the loader knows
// the object by.
CUresult LoadObject(const char* image, Library* library) {
  const size_t bytes = SizeOfObject(image);
  const int file = memfd_create("kernels", MFD_CLOEXEC);
  for (size_t done = 0; done < bytes;) {
    const ssize_t written = write(file, image + done, bytes - done);
    if (written <= 0) return CUDA_ERROR_OUT_OF_MEMORY;
    done += static_cast<size_t>(written);
  }
  const std::string name = "/proc/self/fd/" + std::to_string(file);
  void* object = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto* module =
      object == nullptr
          ? nullptr
          : static_cast<const hiera_fake::Module*>(dlsym(object, "hiera_fake_module"));
  if (module == nullptr || module->version != hiera_fake::kModuleVersion) {
    const char* why = dlerror();
    std::fprintf(stderr, "fictional GPU: %s\n", why == nullptr ? "kernels of another build" : why);
    return CUDA_ERROR_INVALID_IMAGE;
  }
  AddKernels(*module, library);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult LoadCode(const void* image, std::unique_ptr<Library>* library) {
  auto made = std::make_unique<Library>();
  CUresult result = CUDA_ERROR_INVALID_IMAGE;
  unsigned magic = 0;
  std::memcpy(&magic, image, sizeof magic);
  if (std::memcmp(image, ELFMAG, SELFMAG) == 0) {
    Elf64_Ehdr head;
    std::memcpy(&head, image, sizeof head);
    result = head.e_machine == EM_X86_64 ? LoadObject(static_cast<const char*>(image), made.get())
                                         : CUDA_ERROR_NO_BINARY_FOR_GPU;
  } else if (magic == kFatbinMagic) {
    const std::string_view interpreter = cuda::InterpreterCode();
    // The head says how long the image is.
    const bool same = std::memcmp(image, interpreter.data(), kFatbinHead) == 0 &&
                      std::memcmp(image, interpreter.data(), interpreter.size()) == 0;
    if (same) AddKernels(hiera_fake_interpreter, made.get());
    result = same ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  if (result == CUDA_SUCCESS) *library = std::move(made);
  return result;
}

}  // namespace hiera::fake_cuda
