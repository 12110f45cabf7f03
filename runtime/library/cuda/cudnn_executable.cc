#include "runtime/library/cuda/cudnn_executable.h"

#include <array>
#include <atomic>
#include <utility>

#include "runtime/library/cuda/context_states.h"
#include "runtime/library/cuda/cudnn_problem.h"
#include "runtime/library/cuda/lanes.h"

namespace hiera {
namespace {

class CudnnConvolution : public ContextExecutable {
 public:
  CudnnConvolution(const CudnnGraph& graph, const std::optional<CudnnEngine>& engine,
                   int64_t workspace_bytes, const cudnn::Functions& functions, HandlePool& handles,
                   const GpuEntries& gpu)
      : graph_(graph),
        engine_(engine),
        workspace_bytes_(workspace_bytes),
        f_(functions),
        handles_(handles),
        gpu_(gpu),
        states_(gpu) {}

  Status Prepare() override {
    HIERA_RETURN_IF_ERROR(handles_.Prepare());
    return states_.Prepare([this] { return MakeState(); });
  }

  hiera_status Run(const Call& run) const noexcept override {
    const ContextStates<State>::Use here(states_);
    State* const state = here.get();
    if (state == nullptr) return HIERA_UNAVAILABLE;
    const Pointers pointers = {run.pointers[graph_.x.number], run.pointers[graph_.w.number],
                               run.pointers[graph_.y.number],
                               graph_.bias.number < 0 ? nullptr : run.pointers[graph_.bias.number]};
    uintptr_t low = 0;
    for (const void* pointer : pointers) low |= reinterpret_cast<uintptr_t>(pointer);
    if (low % static_cast<uintptr_t>(graph_.alignment) != 0) return HIERA_UNAVAILABLE;
    int capturing = 0;
    if (gpu_.capturing(run.stream, &capturing) != 0) return HIERA_DEVICE_ERROR;
    uint64_t stream_id = 0;
    if (state->first.plan.workspace_bytes > 0) {
      unsigned long long id = 0;
      if (gpu_.stream_id(run.stream, &id) != 0) return HIERA_DEVICE_ERROR;
      stream_id = id + 1;
    }
    Planned* planned = &state->first;
    int lane = stream_id > 0 && capturing != 0 ? -1 : state->lanes.Enter(stream_id);
    if (lane < 0) {
      if (!state->spare) return HIERA_UNAVAILABLE;
      planned = &*state->spare;
      lane = state->lanes.Enter(0);
    }
    if (capturing != 0) state->captured.store(true, std::memory_order_relaxed);
    void* const workspace =
        planned->plan.workspace_bytes > 0 ? state->lanes.workspace(lane) : nullptr;
    const int status = Issue(*planned, lane, pointers, workspace, run.stream);
    state->lanes.Leave(lane);
    if (status == 0) return HIERA_OK;
    const bool refused = status >= cudnn::kNotSupportedFirst && status <= cudnn::kNotSupportedLast;
    return refused ? HIERA_UNSUPPORTED : HIERA_DEVICE_ERROR;
  }

 private:
  using Pointers = std::array<void*, 4>;  // x, w, y, bias

  struct Pack {
    CudnnDescriptor descriptor;
    Pointers pointers{};
  };

  struct Planned {
    CudnnPlan plan;
    std::array<Pack, Lanes::kMost> packs;  // the last of each lane: most programs repeat addresses
  };

  struct State {
    explicit State(const GpuEntries& gpu) : lanes(gpu) {}
    ~State() {
      if (!captured.load(std::memory_order_relaxed)) return;
      // Kernels that a plan has compiled end with it, but a graph may still launch them.
      first.plan.plan.GiveUp();
      if (spare) spare->plan.plan.GiveUp();
    }
    std::unique_ptr<CudnnProblem> problem;
    Planned first;
    // Without a workspace, for captures and for more streams than there are workspaces. Only where
    // nobody has pinned an engine.
    std::optional<Planned> spare;
    std::atomic<bool> captured{false};
    Lanes lanes;
  };

  int Issue(Planned& planned, int lane, const Pointers& pointers, void* workspace,
            void* stream) const {
    Pack& pack = planned.packs[lane];
    if (pack.descriptor.get() == nullptr || pack.pointers != pointers) {
      static constexpr int64_t kUids[] = {CudnnProblem::kX, CudnnProblem::kW, CudnnProblem::kY,
                                          CudnnProblem::kBias};
      const int64_t count = graph_.bias.number < 0 ? 3 : 4;
      CudnnDescriptor fresh(f_, cudnn::kVariantPack);
      fresh.SetAll(cudnn::kPackUniqueIds, cudnn::kTypeInt64, count, kUids)
          .SetAll(cudnn::kPackPointers, cudnn::kTypeVoidPtr, count, pointers.data())
          .Set(cudnn::kPackWorkspace, cudnn::kTypeVoidPtr, workspace)
          .Finalize();
      if (!fresh.ok()) return fresh.status();
      pack.descriptor = std::move(fresh);
      pack.pointers = pointers;
    }
    const HandlePool::Use handle(handles_);
    if (handle.get() == nullptr) return cudnn::kNotSupportedFirst;
    const int status = f_.set_stream(handle.get(), stream);
    if (status != 0) return status;
    return f_.execute(handle.get(), planned.plan.plan.get(), pack.descriptor.get());
  }

  static Result<CudnnPlan> First(const CudnnProblem& problem, int64_t workspace_bytes) {
    for (const CudnnEngine& engine : problem.Ranking()) {
      Result<CudnnPlan> plan = problem.Plan(engine);
      if (plan.ok() && plan->workspace_bytes <= workspace_bytes) return plan;
    }
    return Unavailable("cuDNN ranks no engine that runs this convolution within the contract and " +
                       std::to_string(workspace_bytes) + " bytes of workspace");
  }

  Status Choose(const CudnnProblem& problem, State* state) const {
    Result<CudnnPlan> plan = engine_ ? problem.Plan(*engine_) : First(problem, workspace_bytes_);
    if (!plan.ok()) return plan.status();
    if (plan->workspace_bytes > workspace_bytes_) {
      return Unavailable("the engine needs a workspace of " +
                         std::to_string(plan->workspace_bytes) + " bytes, the plan grants " +
                         std::to_string(workspace_bytes_));
    }
    state->first.plan = *std::move(plan);
    if (engine_ || state->first.plan.workspace_bytes == 0) return {};
    Result<CudnnPlan> spare = First(problem, 0);
    if (!spare.ok()) return spare.status();
    state->spare.emplace();
    state->spare->plan = *std::move(spare);
    return {};
  }

  Result<std::unique_ptr<State>> MakeState() const {
    auto state = std::make_unique<State>(gpu_);
    const HandlePool::Use handle(handles_);
    Result<std::unique_ptr<CudnnProblem>> problem = CudnnProblem::Make(f_, handle.get(), graph_);
    if (!problem.ok()) return problem.status();
    HIERA_RETURN_IF_ERROR(Choose(**problem, state.get()));
    state->problem = *std::move(problem);
    HIERA_RETURN_IF_ERROR(state->lanes.Make(state->first.plan.workspace_bytes));
    return state;
  }

  const CudnnGraph graph_;
  const std::optional<CudnnEngine> engine_;
  const int64_t workspace_bytes_;
  const cudnn::Functions& f_;
  HandlePool& handles_;
  const GpuEntries& gpu_;
  ContextStates<State> states_;
};

}  // namespace

std::unique_ptr<ContextExecutable> MakeCudnnConvolution(
    const CudnnGraph& graph, const std::optional<CudnnEngine>& engine, int64_t workspace_bytes,
    const cudnn::Functions& functions, HandlePool& handles, const GpuEntries& gpu) {
  return std::make_unique<CudnnConvolution>(graph, engine, workspace_bytes, functions, handles,
                                            gpu);
}

}  // namespace hiera
