#include "runtime/library/cuda/cublas_executables.h"

#include <utility>
#include <vector>

#include "runtime/library/cuda/context_states.h"
#include "runtime/library/cuda/lanes.h"
#include "runtime/library/cuda/lt_problem.h"

namespace hiera {
namespace {

// alpha and beta in the type of the sums.
class Factors {
 public:
  Factors(const CublasCall& call, const double* scalars) : wide_(call.compute == DType::kF64) {
    Set(call.alpha, scalars, 0);
    Set(call.beta, scalars, 1);
  }
  const void* alpha() const { return At(0); }
  const void* beta() const { return At(1); }

 private:
  void Set(const GemmView::Factor& factor, const double* scalars, int i) {
    f64_[i] = factor.scalar >= 0 ? scalars[factor.scalar] : factor.value;
    f32_[i] = static_cast<float>(f64_[i]);
  }
  const void* At(int i) const {
    return wide_ ? static_cast<const void*>(&f64_[i]) : static_cast<const void*>(&f32_[i]);
  }

  bool wide_;
  double f64_[2];
  float f32_[2];
};

bool Aligned(const CublasCall& call, const Call& run) {
  uintptr_t low = 0;
  for (const int tensor : {call.a, call.b, call.c, call.bias}) {
    if (tensor >= 0) low |= reinterpret_cast<uintptr_t>(run.pointers[tensor]);
  }
  return low % static_cast<uintptr_t>(call.alignment) == 0;
}

hiera_status StatusOf(int status) {
  return status == cublas::kSuccess        ? HIERA_OK
         : status == cublas::kNotSupported ? HIERA_UNSUPPORTED
                                           : HIERA_DEVICE_ERROR;
}

class CublasGemm : public ContextExecutable {
 public:
  CublasGemm(const CublasCall& call, const cublas::Functions& functions, HandlePool& handles)
      : call_(call), f_(functions), handles_(handles) {}

  Status Prepare() override { return handles_.Prepare(); }

  hiera_status Run(const Call& run) const noexcept override {
    if (!Aligned(call_, run)) return HIERA_UNAVAILABLE;
    if (call_.m == 0 || call_.n == 0) return HIERA_OK;
    const HandlePool::Use handle(handles_);
    if (handle.get() == nullptr) return HIERA_UNAVAILABLE;
    return StatusOf(Issue(handle.get(), Factors(call_, run.scalars), run));
  }

 private:
  int Issue(void* handle, const Factors& factors, const Call& run) const {
    if (const int status = f_.set_stream(handle, run.stream)) return status;
    const int op_a = call_.transpose_a ? cublas::kOpT : cublas::kOpN;
    const int op_b = call_.transpose_b ? cublas::kOpT : cublas::kOpN;
    const int in = CublasTypeOf(call_.inputs);
    const int out = CublasTypeOf(call_.output);
    const auto m = static_cast<int>(call_.m);
    const auto n = static_cast<int>(call_.n);
    const auto k = static_cast<int>(call_.k);
    const auto lda = static_cast<int>(call_.lda);
    const auto ldb = static_cast<int>(call_.ldb);
    const auto ldc = static_cast<int>(call_.ldc);
    const void* a = run.pointers[call_.a];
    const void* b = run.pointers[call_.b];
    void* c = run.pointers[call_.c];
    if (call_.batch == 1) {
      return f_.gemm(handle, op_a, op_b, m, n, k, factors.alpha(), a, in, lda, b, in, ldb,
                     factors.beta(), c, out, ldc, CublasComputeOf(call_),
                     cublas::kAlgorithmDefault);
    }
    return f_.gemm_batched(handle, op_a, op_b, m, n, k, factors.alpha(), a, in, lda, call_.stride_a,
                           b, in, ldb, call_.stride_b, factors.beta(), c, out, ldc, call_.stride_c,
                           static_cast<int>(call_.batch), CublasComputeOf(call_),
                           cublas::kAlgorithmDefault);
  }

  const CublasCall call_;
  const cublas::Functions& f_;
  HandlePool& handles_;
};

class LtMatmul : public ContextExecutable {
 public:
  LtMatmul(const CublasCall& call, const std::optional<LtAlgorithm>& algorithm,
           int64_t workspace_bytes, const lt::Functions& functions, const GpuEntries& gpu)
      : call_(call),
        algorithm_(algorithm),
        workspace_bytes_(workspace_bytes),
        f_(functions),
        gpu_(gpu),
        states_(gpu) {}

  Status Prepare() override {
    return states_.Prepare([this] { return MakeState(); });
  }

  hiera_status Run(const Call& run) const noexcept override {
    const ContextStates<State>::Use here(states_);
    State* const state = here.get();
    if (state == nullptr || !Aligned(call_, run)) return HIERA_UNAVAILABLE;
    uint64_t stream_id = 0;
    bool spare = false;
    if (state->resolved.workspace_bytes > 0) {
      int capturing = 0;
      unsigned long long id = 0;
      if (gpu_.capturing(run.stream, &capturing) != 0) return HIERA_DEVICE_ERROR;
      if (gpu_.stream_id(run.stream, &id) != 0) return HIERA_DEVICE_ERROR;
      stream_id = id + 1;
      spare = capturing != 0;
    }
    int lane = spare ? -1 : state->lanes.Enter(stream_id);
    if (lane < 0) {
      if (!state->spare) return HIERA_UNAVAILABLE;
      spare = true;
      lane = state->lanes.Enter(0);
    }
    const Factors factors(call_, run.scalars);
    const int status = state->problems[lane]->Run(
        factors.alpha(), run.pointers[call_.a], run.pointers[call_.b], factors.beta(),
        run.pointers[call_.c], call_.bias < 0 ? nullptr : run.pointers[call_.bias],
        spare ? *state->spare : state->resolved, spare ? nullptr : state->lanes.workspace(lane),
        run.stream);
    state->lanes.Leave(lane);
    return StatusOf(status);
  }

 private:
  struct State {
    State(const GpuEntries& gpu, const lt::Functions& functions) : lanes(gpu), f(functions) {}
    ~State() {
      problems.clear();
      if (handle != nullptr) f.destroy(handle);
    }
    Lanes lanes;
    const lt::Functions& f;
    void* handle = nullptr;
    LtResolved resolved;
    // Without a workspace, for captures and for more streams than there are workspaces. Only where
    // nobody has pinned an algorithm.
    std::optional<LtResolved> spare;
    std::vector<std::unique_ptr<LtProblem>> problems;  // one per lane
  };

  static Result<LtResolved> First(const LtProblem& problem, int64_t workspace_bytes) {
    const Result<std::vector<LtChoice>> ranking = problem.Ranking(8, workspace_bytes);
    if (!ranking.ok()) return ranking.status();
    return problem.Resolve(ranking->front().algorithm);
  }

  Status Choose(const LtProblem& problem, State* state) const {
    Result<LtResolved> chosen =
        algorithm_ ? problem.Resolve(*algorithm_) : First(problem, workspace_bytes_);
    if (!chosen.ok()) return chosen.status();
    state->resolved = *chosen;
    if (chosen->workspace_bytes > static_cast<size_t>(workspace_bytes_)) {
      return Unavailable("the algorithm needs a workspace of " +
                         std::to_string(chosen->workspace_bytes) + " bytes, the plan grants " +
                         std::to_string(workspace_bytes_));
    }
    if (algorithm_ || chosen->workspace_bytes == 0) return {};
    const Result<LtResolved> spare = First(problem, 0);
    if (!spare.ok()) return spare.status();
    state->spare = *spare;
    return {};
  }

  Result<std::unique_ptr<State>> MakeState() const {
    auto state = std::make_unique<State>(gpu_, f_);
    if (const int status = f_.create(&state->handle)) {
      return DeviceError("cublasLtCreate fails with " + std::to_string(status));
    }
    Result<std::unique_ptr<LtProblem>> first = LtProblem::Make(f_, state->handle, call_);
    if (!first.ok()) return first.status();
    HIERA_RETURN_IF_ERROR(Choose(**first, state.get()));
    HIERA_RETURN_IF_ERROR(state->lanes.Make(static_cast<int64_t>(state->resolved.workspace_bytes)));
    state->problems.push_back(*std::move(first));
    while (static_cast<int>(state->problems.size()) < state->lanes.count()) {
      Result<std::unique_ptr<LtProblem>> more = LtProblem::Make(f_, state->handle, call_);
      if (!more.ok()) return more.status();
      state->problems.push_back(*std::move(more));
    }
    return state;
  }

  const CublasCall call_;
  const std::optional<LtAlgorithm> algorithm_;
  const int64_t workspace_bytes_;
  const lt::Functions& f_;
  const GpuEntries& gpu_;
  ContextStates<State> states_;
};

}  // namespace

HandlePool::Make CublasHandleMaker(const cublas::Functions& functions) {
  return [&functions](void** handle) {
    const int status = functions.create(handle);
    return status != 0 ? status : functions.set_math_mode(*handle, cublas::kMathFullSums);
  };
}

std::unique_ptr<ContextExecutable> MakeCublasGemm(const CublasCall& call,
                                                  const cublas::Functions& functions,
                                                  HandlePool& handles) {
  return std::make_unique<CublasGemm>(call, functions, handles);
}

std::unique_ptr<ContextExecutable> MakeLtMatmul(const CublasCall& call,
                                                const std::optional<LtAlgorithm>& algorithm,
                                                int64_t workspace_bytes,
                                                const lt::Functions& functions,
                                                const GpuEntries& gpu) {
  return std::make_unique<LtMatmul>(call, algorithm, workspace_bytes, functions, gpu);
}

}  // namespace hiera
