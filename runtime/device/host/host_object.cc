#include "runtime/device/host/host_object.h"

#include <dlfcn.h>

#include <utility>

#include "runtime/device/host/abi.h"
#include "runtime/device/host/workspace_blocks.h"

namespace hiera {
namespace {

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, CloseLibrary>;

// The code of a variant, and its call.
class HostObject : public Executable {
 public:
  HostObject(Library library, hiera_variant_fn entry, PoolFace face)
      : library_(std::move(library)), entry_(entry), face_(face) {}

  hiera_status Run(const Call& call) const noexcept override {
    Enter(call, nullptr);
    return HIERA_OK;
  }

 protected:
  void Enter(const Call& call, void* workspace) const noexcept {
    // Two loads: the caller has just stored the two fields one by one, and a load of both at once
    // would have to wait until those stores have left the core's store queue.
    void* const* pointers = call.pointers;
    asm("" : "+r"(pointers));
    const hiera_host_call arguments = {pointers, call.scalars, workspace, &face_.abi};
    entry_(&arguments);
  }

 private:
  Library library_;  // holds the code of entry_
  hiera_variant_fn entry_;
  PoolFace face_;
};

// One that needs a workspace.
class HostObjectWithWorkspace final : public HostObject {
 public:
  HostObjectWithWorkspace(Library library, hiera_variant_fn entry, PoolFace face,
                          std::unique_ptr<WorkspaceBlocks> workspace)
      : HostObject(std::move(library), entry, face), workspace_(std::move(workspace)) {}

  hiera_status Run(const Call& call) const noexcept override {
    void* block = workspace_->Acquire();
    if (block == nullptr) return HIERA_UNAVAILABLE;
    Enter(call, block);
    workspace_->Release(block);
    return HIERA_OK;
  }

 private:
  std::unique_ptr<WorkspaceBlocks> workspace_;
};

std::string LinkerError() {
  const char* error = dlerror();
  return error == nullptr ? "no reason given" : error;
}

}  // namespace

Result<std::unique_ptr<Executable>> LoadHostObject(const LaunchPlan& plan, const std::string& path,
                                                   const ThreadPool& pool) {
  if (plan.text != "object") {
    return InvalidArgument("launch plan: the host loads \"object\", not \"" + plan.text + "\"");
  }
  if (plan.workspace_bytes < 0 || plan.threads < 0) {
    return InvalidArgument("launch plan: workspace_bytes and threads must not be negative");
  }
  if (path.empty() || path[0] != '/' || path.rfind("/proc/", 0) == 0) {
    return InvalidArgument("artifact path '" + path +
                           "': must be absolute, and not a reusable name under /proc");
  }
  Library library(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library == nullptr) return DeviceError("artifact does not load: " + LinkerError());
  void* entry = dlsym(library.get(), "hiera_variant");
  if (entry == nullptr) {
    return DeviceError("artifact " + path + " does not define hiera_variant: " + LinkerError());
  }
  const auto function = reinterpret_cast<hiera_variant_fn>(entry);
  const PoolFace face = pool.FaceOf(plan.threads);
  if (plan.workspace_bytes == 0) {
    return std::unique_ptr<Executable>(new HostObject(std::move(library), function, face));
  }
  auto workspace = WorkspaceBlocks::Make(plan.workspace_bytes);
  if (!workspace.ok()) return workspace.status();
  return std::unique_ptr<Executable>(
      new HostObjectWithWorkspace(std::move(library), function, face, *std::move(workspace)));
}

}  // namespace hiera
