#include "runtime/library/cuda/cuda_library.h"

#include <algorithm>
#include <optional>
#include <string>

#include "runtime/library/cuda/cublas_library.h"
#include "runtime/library/cuda/cudnn_executable.h"
#include "runtime/library/cuda/cudnn_library.h"
#include "runtime/library/cuda/handle_pool.h"
#include "runtime/library/cuda/lanes.h"
#include "runtime/library/cuda/offers.h"
#include "runtime/library/library.h"

namespace hiera {
namespace {

using Routine = CublasCall::Routine;

constexpr std::string_view kGemmPlan = "library cublas_gemm ";
constexpr std::string_view kLtPlan = "library cublaslt ";
constexpr std::string_view kCudnnPlan = "library cudnn_conv ";
// What the library's own choice may take where nobody has pinned an algorithm: the size that NVIDIA
// recommends for Hopper and later (cuBLAS documentation, cublasSetWorkspace).
constexpr int64_t kLtWorkspace = int64_t{32} << 20;
constexpr int64_t kCudnnWorkspace = Lanes::kBytes;

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

Status NoCallOfTheTask(const LaunchPlan& plan) {
  return InvalidArgument("plan \"" + plan.text +
                         "\" is no library call of this task; plan it again");
}

// What follows the call in the plan's text; empty where the plan is of another call.
std::optional<std::string_view> Ending(const LaunchPlan& plan, const std::string& call) {
  const std::string prefix = std::string(kLibraryPlan) + call + " ";
  if (!StartsWith(plan.text, prefix)) return std::nullopt;
  return std::string_view(plan.text).substr(prefix.size());
}

// A baseline is known by its text alone, so that the library's own choice has a budget of its own
// wherever it is loaded.
int64_t Grant(const Task& task, const LaunchPlan& plan, bool pinned, int64_t own) {
  return pinned ? plan.workspace_bytes : std::min(own, task.contract.workspace_bytes);
}

using Made = Result<std::unique_ptr<ContextExecutable>>;

Made Ready(std::unique_ptr<ContextExecutable> executable) {
  HIERA_RETURN_IF_ERROR(executable->Prepare());
  return executable;
}

Made LoadGemm(const Task& task, const LaunchPlan& plan, const GpuEntries& gpu) {
  const auto calls = CublasCallsOf(task, Routine::kGemm);
  if (!calls.ok()) return calls.status();
  for (const CublasCall& call : *calls) {
    if (std::string(kLibraryPlan) + call.Text() != plan.text) continue;
    const Result<const CublasLibrary*> library = CublasLibrary::Open();
    if (!library.ok()) return library.status();
    const cublas::Functions& f = (*library)->functions;
    // Never destroyed: operators may run until the process ends.
    static HandlePool& handles =
        *new HandlePool("cublasCreate", CublasHandleMaker(f), f.destroy, gpu);
    return Ready(MakeCublasGemm(call, f, handles));
  }
  return NoCallOfTheTask(plan);
}

Made LoadLt(const Task& task, const LaunchPlan& plan, const GpuEntries& gpu) {
  const auto calls = CublasCallsOf(task, Routine::kLt);
  if (!calls.ok()) return calls.status();
  for (const CublasCall& call : *calls) {
    const std::optional<std::string_view> ending = Ending(plan, call.Text());
    if (!ending) continue;
    std::optional<LtAlgorithm> algorithm;
    if (*ending != kRankingFirst) {
      const Result<LtAlgorithm> parsed = ParseLtAlgorithm(*ending);
      if (!parsed.ok()) return parsed.status();
      algorithm = *parsed;
    }
    const Result<const CublasLtLibrary*> library = CublasLtLibrary::Open();
    if (!library.ok()) return library.status();
    return Ready(MakeLtMatmul(call, algorithm, plan.workspace_bytes, (*library)->functions, gpu));
  }
  return NoCallOfTheTask(plan);
}

Made LoadCudnn(const Task& task, const LaunchPlan& plan, const GpuEntries& gpu) {
  const Result<CudnnGraph> graph = CudnnGraphOf(task);
  if (!graph.ok()) return graph.status();
  const std::optional<std::string_view> ending = Ending(plan, graph->Text());
  if (!ending) return NoCallOfTheTask(plan);
  std::optional<CudnnEngine> engine;
  if (*ending != kRankingFirst) {
    const Result<CudnnEngine> parsed = ParseCudnnEngine(*ending);
    if (!parsed.ok()) return parsed.status();
    engine = *parsed;
  }
  const Result<const CudnnLibrary*> library = CudnnLibrary::Open();
  if (!library.ok()) return library.status();
  const cudnn::Functions& f = (*library)->functions;
  static HandlePool& handles = *new HandlePool(
      "cudnnCreate", [&f](void** handle) { return f.create(handle); }, f.destroy, gpu);
  return Ready(MakeCudnnConvolution(
      *graph, engine, Grant(task, plan, engine.has_value(), kCudnnWorkspace), f, handles, gpu));
}

template <typename Library>
Status Compare(const Requirement& requirement, const std::string& stem) {
  if (!StartsWith(requirement.what, "library " + stem)) return Unsupported("another library");
  const Result<const Library*> library = Library::Open();
  if (!library.ok()) return library.status();
  const Requirement& here = (*library)->requirement;
  if (here == requirement) return {};
  return Unavailable("needs " + requirement.what + " (" + requirement.identity + "), here is " +
                     here.what + " (" + here.identity + ")");
}

template <typename Library>
Status AddRequirement(std::vector<Requirement>* requirements) {
  const Result<const Library*> library = Library::Open();
  if (!library.ok()) return library.status();
  requirements->push_back((*library)->requirement);
  return {};
}

LibraryOffer OfferDefault(const Task& task) {
  LibraryOffer offer;
  offer.family = "cublas";
  const auto calls = CublasCallsOf(task, Routine::kGemm);
  if (!calls.ok()) {
    offer.refusal = calls.status().message();
    return offer;
  }
  for (size_t i = 0; i < calls->size(); ++i) {
    LibraryChoice choice;
    choice.plan.text = std::string(kLibraryPlan) + (*calls)[i].Text();
    choice.name = calls->size() > 1 ? "call " + std::to_string(i) : "default";
    choice.rank = static_cast<int32_t>(i);
    offer.choices.push_back(std::move(choice));
  }
  return offer;
}

}  // namespace

bool IsCudaLibraryPlan(std::string_view text) {
  return StartsWith(text, kGemmPlan) || StartsWith(text, kLtPlan) || StartsWith(text, kCudnnPlan);
}

Result<std::vector<LaunchPlan>> CudaLibraryPlans(const Task& task) {
  std::vector<LaunchPlan> plans;
  Status why;
  for (const Routine routine : {Routine::kGemm, Routine::kLt}) {
    const auto calls = CublasCallsOf(task, routine);
    if (!calls.ok()) {
      if (why.ok()) why = calls.status();
      continue;
    }
    const bool lt = routine == Routine::kLt;
    for (const CublasCall& call : *calls) {
      plans.push_back(
          {std::string(kLibraryPlan) + call.Text() + (lt ? " " + std::string(kRankingFirst) : ""),
           lt ? std::min(kLtWorkspace, task.contract.workspace_bytes) : 0, 0});
    }
  }
  const Result<CudnnGraph> graph = CudnnGraphOf(task);
  if (graph.ok()) {
    plans.push_back({std::string(kLibraryPlan) + graph->Text() + " " + std::string(kRankingFirst),
                     std::min(kCudnnWorkspace, task.contract.workspace_bytes), 0});
  }
  if (plans.empty()) {
    return Unsupported("neither cuBLAS (" + why.message() + ") nor cuDNN (" +
                       graph.status().message() + ") has such a call");
  }
  return plans;
}

Result<std::unique_ptr<ContextExecutable>> LoadCudaLibraryPlan(const Task& task,
                                                               const LaunchPlan& plan) {
  if (plan.workspace_bytes > task.contract.workspace_bytes) {
    return InvalidArgument("the plan grants a workspace of " +
                           std::to_string(plan.workspace_bytes) + " bytes, the contract " +
                           std::to_string(task.contract.workspace_bytes));
  }
  const Result<const GpuEntries*> gpu = MachineGpuEntries();
  if (!gpu.ok()) return gpu.status();
  if (StartsWith(plan.text, kGemmPlan)) return LoadGemm(task, plan, **gpu);
  if (StartsWith(plan.text, kLtPlan)) return LoadLt(task, plan, **gpu);
  if (StartsWith(plan.text, kCudnnPlan)) return LoadCudnn(task, plan, **gpu);
  return NoCallOfTheTask(plan);
}

Result<std::vector<Requirement>> CudaLibraryRequirements(std::string_view plan_text) {
  std::vector<Requirement> requirements;
  if (StartsWith(plan_text, kCudnnPlan)) {
    HIERA_RETURN_IF_ERROR(AddRequirement<CudnnLibrary>(&requirements));
    return requirements;
  }
  if (StartsWith(plan_text, kGemmPlan)) {
    HIERA_RETURN_IF_ERROR(AddRequirement<CublasLibrary>(&requirements));
  }
  HIERA_RETURN_IF_ERROR(AddRequirement<CublasLtLibrary>(&requirements));
  return requirements;
}

Status CheckCudaRequirement(const Requirement& requirement) {
  Status status = Compare<CublasLibrary>(requirement, "libcublas.so");
  if (status.code() == Code::kUnsupported) {
    status = Compare<CublasLtLibrary>(requirement, "libcublasLt.so");
  }
  if (status.code() == Code::kUnsupported) {
    status = Compare<CudnnLibrary>(requirement, "libcudnn.so");
  }
  return status;
}

std::vector<LibraryOffer> EnumerateCudaLibraries(const Task& task, int64_t workspace_bytes) {
  const int64_t budget = std::min(workspace_bytes, task.contract.workspace_bytes);
  std::vector<LibraryOffer> offers(3);
  offers[0] = OfferDefault(task);
  offers[1].family = "cublaslt";
  offers[2].family = "cudnn";
  if (const auto library = CublasLtLibrary::Open(); !library.ok()) {
    offers[1].refusal = library.status().message();
  } else {
    LtLimits limits;
    limits.workspace_bytes = budget;
    offers[1] = OfferLt(task, (*library)->functions, limits);
  }
  if (!CudnnGraphOf(task).ok()) {
    offers[2].refusal = CudnnGraphOf(task).status().message();
  } else if (const auto library = CudnnLibrary::Open(); !library.ok()) {
    offers[2].refusal = library.status().message();
  } else {
    offers[2] = OfferCudnn(task, (*library)->functions, budget);
  }
  for (LibraryOffer& offer : offers) {
    if (offer.choices.empty()) continue;
    auto requirements = CudaLibraryRequirements(offer.choices[0].plan.text);
    if (requirements.ok()) {
      offer.requirements = *std::move(requirements);
    } else {
      offer.choices.clear();
      offer.refusal = requirements.status().message();
    }
  }
  return offers;
}

}  // namespace hiera
