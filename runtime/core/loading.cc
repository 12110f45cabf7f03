#include "runtime/core/loading.h"

#include <string_view>

#include "runtime/ipc/paths.h"
#include "runtime/library/cuda/cuda_library.h"
#include "runtime/library/library.h"

namespace hiera {
namespace {

Result<std::unique_ptr<Executable>> LoadLibrary(Device& device, const Task& task,
                                                const LaunchPlan& plan) {
  std::unique_ptr<Executable> made;
  HIERA_RETURN_IF_ERROR(device.InContext([&] {
    Result<std::unique_ptr<Executable>> loaded = LoadLibraryPlan(task, plan);
    if (!loaded.ok()) return loaded.status();
    made = *std::move(loaded);
    return Status();
  }));
  return made;
}

}  // namespace

Result<std::unique_ptr<Executable>> LoadVariant(Device& device, const std::string& store_path,
                                                const Task& task, const Variant& variant) {
  for (const Requirement& requirement : variant.requirements) {
    HIERA_RETURN_IF_ERROR(CheckRequirement(requirement));
  }
  if (std::string_view(variant.plan.text).starts_with(kLibraryPlan)) {
    // A library of the host would read the device's addresses as its own.
    if (device.name() != "host" && !IsCudaLibraryPlan(variant.plan.text)) {
      return InvalidArgument("a library of the host cannot compute on " +
                             std::string(device.name()));
    }
    return LoadLibrary(device, task, variant.plan);
  }
  return device.Load(task, variant.plan, ArtifactPath(store_path, variant.artifact));
}

Result<Baseline> LibraryBaseline(Device& device, const Task& task) {
  Result<std::vector<LaunchPlan>> plans =
      device.name() == "host" ? LibraryPlans(task) : CudaLibraryPlans(task);
  if (!plans.ok()) return plans.status();
  if (plans->empty()) return Unsupported("no library call computes this task");
  Result<std::unique_ptr<Executable>> executable = LoadLibrary(device, task, plans->front());
  if (!executable.ok()) return executable.status();
  Baseline baseline;
  baseline.kind = HIERA_BASELINE_LIBRARY;
  baseline.name = plans->front().text;
  baseline.executable = *std::move(executable);
  return baseline;
}

}  // namespace hiera
