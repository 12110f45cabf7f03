#include "runtime/evaluator/guarded_object.h"

#include <dlfcn.h>
#include <xmmintrin.h>

#include <algorithm>
#include <cstring>

namespace hiera {
namespace {

constexpr unsigned kControlBits = 0xffc0;  // of MXCSR: all but the sticky exception flags
constexpr int64_t kMostPoison = int64_t{64} << 20;

}  // namespace

Result<GuardedObject> GuardedObject::Make(const LaunchPlan& plan, const ThreadPool& pool,
                                          GuardedMemory& memory) {
  GuardedObject object;
  object.plan_ = plan;
  object.pool_ = &pool;
  for (int at_end = 0; at_end < 2 && plan.workspace_bytes > 0; ++at_end) {
    auto workspace = memory.MapWorkspace(plan.workspace_bytes, at_end == 1);
    if (!workspace.ok()) return workspace.status();
    object.workspaces_[at_end] = *workspace;
  }
  return object;
}

Status GuardedObject::Load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* error = dlerror();
    return DeviceError(std::string("does not load: ") + (error == nullptr ? "?" : error));
  }
  entry_ = reinterpret_cast<hiera_variant_fn>(dlsym(library, "hiera_variant"));
  if (entry_ == nullptr) return DeviceError("does not define hiera_variant");
  return {};
}

Status GuardedObject::Run(void* const* tensors, const double* scalars) {
  void* workspace = workspaces_[next_];
  next_ = 1 - next_;
  if (workspace != nullptr) {
    std::memset(workspace, 0xff, static_cast<size_t>(std::min(plan_.workspace_bytes, kMostPoison)));
  }
  const PoolFace face = pool_->FaceOf(plan_.threads);
  const hiera_host_call call = {tensors, scalars, workspace, &face.abi};
  const unsigned before = _mm_getcsr() & kControlBits;
  entry_(&call);
  const unsigned after = _mm_getcsr() & kControlBits;
  if (before != after) {
    _mm_setcsr(before);
    return DeviceError("changed the floating-point environment (rounding or flush to zero)");
  }
  return {};
}

}  // namespace hiera
