#include "runtime/library/library.h"

#include "runtime/library/blas_library.h"
#include "runtime/library/cblas_executable.h"
#include "runtime/library/cuda/cuda_library.h"
#include "runtime/task/cblas_call.h"

namespace hiera {

Result<std::vector<LaunchPlan>> LibraryPlans(const Task& task) {
  Result<std::vector<CblasCall>> calls = CblasCallsOf(task);
  if (!calls.ok()) return calls.status();
  std::vector<LaunchPlan> plans;
  for (const CblasCall& call : *calls) {
    plans.push_back(LaunchPlan{std::string(kLibraryPlan) + call.Text(), 0, 0});
  }
  return plans;
}

Result<std::unique_ptr<Executable>> LoadLibraryPlan(const Task& task, const LaunchPlan& plan) {
  if (IsCudaLibraryPlan(plan.text)) {
    Result<std::unique_ptr<ContextExecutable>> made = LoadCudaLibraryPlan(task, plan);
    if (!made.ok()) return made.status();
    return std::unique_ptr<Executable>(*std::move(made));
  }
  Result<std::vector<CblasCall>> calls = CblasCallsOf(task);
  if (!calls.ok()) return calls.status();
  for (const CblasCall& call : *calls) {
    if (std::string(kLibraryPlan) + call.Text() != plan.text) continue;
    Result<const BlasLibrary*> library = BlasLibrary::Open();
    if (!library.ok()) return library.status();
    return MakeCblasExecutable(call, (*library)->functions());
  }
  return InvalidArgument("plan \"" + plan.text +
                         "\" is no library call of this task; plan it again");
}

Result<Requirement> LibraryRequirement() {
  Result<const BlasLibrary*> library = BlasLibrary::Open();
  if (!library.ok()) return library.status();
  return (*library)->requirement();
}

Status CheckRequirement(const Requirement& requirement) {
  const Status on_gpu = CheckCudaRequirement(requirement);
  if (on_gpu.code() != Code::kUnsupported) return on_gpu;
  Result<const BlasLibrary*> library = BlasLibrary::Open();
  if (!library.ok()) return library.status();
  const Requirement& here = (*library)->requirement();
  if (here == requirement) return {};
  return Unavailable("needs " + requirement.what + " (" + requirement.identity + "), here is " +
                     here.what + " (" + here.identity + ")");
}

}  // namespace hiera
