#include "runtime/library/cuda/cudnn_problem.h"

#include <algorithm>
#include <map>
#include <set>

#include "runtime/base/clock.h"

namespace hiera {
namespace {

constexpr int64_t kMostKnobs = 64;
constexpr int64_t kMostNotes = 32;
constexpr int64_t kMostRanked = 64;  // of one heuristic

int TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return cudnn::kDouble;
    case DType::kF16:
      return cudnn::kHalf;
    case DType::kBF16:
      return cudnn::kBFloat16;
    default:  // CudnnGraphOf admits nothing else
      return cudnn::kFloat;
  }
}

int FunctionOf(Op op) {
  switch (op) {
    case Op::kRelu:
      return cudnn::kReluForward;
    case Op::kGelu:
      return cudnn::kGeluForward;
    case Op::kSilu:
      return cudnn::kSwishForward;
    case Op::kTanh:
      return cudnn::kTanhForward;
    default:  // kSigmoid; CudnnGraphOf admits nothing else
      return cudnn::kSigmoidForward;
  }
}

bool Has(const std::vector<int>& notes, int note) {
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

}  // namespace

Result<std::unique_ptr<CudnnProblem>> CudnnProblem::Make(const cudnn::Functions& functions,
                                                         void* handle, const CudnnGraph& graph) {
  std::unique_ptr<CudnnProblem> problem(new CudnnProblem(functions, handle, graph));
  HIERA_RETURN_IF_ERROR(problem->Build());
  return problem;
}

CudnnDescriptor CudnnProblem::MakeTensor(const CudnnGraph::Tensor& tensor, int64_t uid,
                                         bool is_virtual) const {
  CudnnDescriptor made(f_, cudnn::kTensor);
  // What passes from one operation to the next is kept in the type of the sums.
  made.Set(cudnn::kTensorDataType, cudnn::kTypeDataType,
           TypeOf(is_virtual ? graph_.compute : graph_.dtype))
      .SetList(cudnn::kTensorDimensions, cudnn::kTypeInt64, tensor.extents)
      .SetList(cudnn::kTensorStrides, cudnn::kTypeInt64, tensor.strides)
      .Set(cudnn::kTensorUniqueId, cudnn::kTypeInt64, uid)
      .Set(cudnn::kTensorAlignment, cudnn::kTypeInt64, graph_.alignment);
  if (is_virtual) made.Set(cudnn::kTensorIsVirtual, cudnn::kTypeBoolean, true);
  made.Finalize();
  return made;
}

Status CudnnProblem::AddConvolution(const CudnnDescriptor& y) {
  CudnnDescriptor conv(f_, cudnn::kConvolution);
  conv.Set(cudnn::kConvSpatialDims, cudnn::kTypeInt64, static_cast<int64_t>(graph_.stride.size()))
      .Set(cudnn::kConvComputeType, cudnn::kTypeDataType, TypeOf(graph_.compute))
      .Set(cudnn::kConvMode, cudnn::kTypeConvolutionMode, cudnn::kCrossCorrelation)
      .SetList(cudnn::kConvPrePaddings, cudnn::kTypeInt64, graph_.pad_before)
      .SetList(cudnn::kConvPostPaddings, cudnn::kTypeInt64, graph_.pad_after)
      .SetList(cudnn::kConvStrides, cudnn::kTypeInt64, graph_.stride)
      .SetList(cudnn::kConvDilations, cudnn::kTypeInt64, graph_.dilation)
      .Finalize();
  HIERA_RETURN_IF_ERROR(conv.AsStatus("convolution"));
  CudnnDescriptor operation(f_, cudnn::kConvolutionForward);
  operation.Set(cudnn::kForwardX, cudnn::kTypeDescriptor, x_.get())
      .Set(cudnn::kForwardW, cudnn::kTypeDescriptor, w_.get())
      .Set(cudnn::kForwardY, cudnn::kTypeDescriptor, y.get())
      .Set(cudnn::kForwardConv, cudnn::kTypeDescriptor, conv.get());
  if (graph_.compute == DType::kF64) {
    operation.Set(cudnn::kForwardAlpha, cudnn::kTypeDouble, 1.0)
        .Set(cudnn::kForwardBeta, cudnn::kTypeDouble, 0.0);
  } else {
    operation.Set(cudnn::kForwardAlpha, cudnn::kTypeFloat, 1.0F)
        .Set(cudnn::kForwardBeta, cudnn::kTypeFloat, 0.0F);
  }
  operation.Finalize();
  HIERA_RETURN_IF_ERROR(operation.AsStatus("forward convolution"));
  parts_.push_back(std::move(conv));
  operations_.push_back(std::move(operation));
  return {};
}

Status CudnnProblem::AddPointwise(int function, const CudnnDescriptor& x, const CudnnDescriptor* b,
                                  const CudnnDescriptor& y) {
  CudnnDescriptor pointwise(f_, cudnn::kPointwise);
  pointwise.Set(cudnn::kPointwiseMode, cudnn::kTypePointwiseMode, function)
      .Set(cudnn::kPointwisePrecision, cudnn::kTypeDataType, TypeOf(graph_.compute))
      .Finalize();
  CudnnDescriptor operation(f_, cudnn::kPointwiseOperation);
  operation.Set(cudnn::kPointwiseDescriptor, cudnn::kTypeDescriptor, pointwise.get())
      .Set(cudnn::kPointwiseX, cudnn::kTypeDescriptor, x.get());
  if (b != nullptr) operation.Set(cudnn::kPointwiseB, cudnn::kTypeDescriptor, b->get());
  operation.Set(cudnn::kPointwiseY, cudnn::kTypeDescriptor, y.get()).Finalize();
  HIERA_RETURN_IF_ERROR(operation.AsStatus("pointwise operation"));
  parts_.push_back(std::move(pointwise));
  operations_.push_back(std::move(operation));
  return {};
}

Status CudnnProblem::Build() {
  x_ = MakeTensor(graph_.x, kX, false);
  w_ = MakeTensor(graph_.w, kW, false);
  const bool has_bias = graph_.bias.number >= 0;
  const size_t links = (has_bias ? 1 : 0) + graph_.activation.size();
  // The results along the chain; the last is Y.
  std::vector<CudnnDescriptor> results;
  for (size_t i = 0; i <= links; ++i) {
    const bool last = i == links;
    results.push_back(
        MakeTensor(graph_.y, last ? int64_t{kY} : static_cast<int64_t>(100 + i), !last));
    HIERA_RETURN_IF_ERROR(results.back().AsStatus("output"));
  }
  HIERA_RETURN_IF_ERROR(x_.AsStatus("image"));
  HIERA_RETURN_IF_ERROR(w_.AsStatus("weights"));
  HIERA_RETURN_IF_ERROR(AddConvolution(results[0]));
  size_t at = 0;
  if (has_bias) {
    bias_ = MakeTensor(graph_.bias, kBias, false);
    HIERA_RETURN_IF_ERROR(bias_.AsStatus("bias"));
    HIERA_RETURN_IF_ERROR(AddPointwise(cudnn::kAdd, results[at], &bias_, results[at + 1]));
    ++at;
  }
  for (const Op op : graph_.activation) {
    HIERA_RETURN_IF_ERROR(AddPointwise(FunctionOf(op), results[at], nullptr, results[at + 1]));
    ++at;
  }
  for (CudnnDescriptor& result : results) parts_.push_back(std::move(result));
  std::vector<void*> operations;
  for (const CudnnDescriptor& operation : operations_) operations.push_back(operation.get());
  operation_graph_ = CudnnDescriptor(f_, cudnn::kOperationGraph);
  operation_graph_.SetList(cudnn::kGraphOperations, cudnn::kTypeDescriptor, operations)
      .Set(cudnn::kGraphHandle, cudnn::kTypeHandle, handle_)
      .Finalize();
  return operation_graph_.AsStatus("operation graph");
}

bool CudnnProblem::KeepsContract(const CudnnDescriptor& engine) const {
  const std::vector<int> notes =
      engine.GetInts(cudnn::kEngineNumericalNotes, cudnn::kTypeNumericalNote, kMostNotes);
  const bool f32 = graph_.dtype == DType::kF32;
  if (f32 && !graph_.tf32 && Has(notes, cudnn::kNoteTensorCore)) return false;
  if (f32 && !graph_.tf32 && Has(notes, cudnn::kNoteDownConverts)) return false;
  if (graph_.deterministic && Has(notes, cudnn::kNoteNondeterministic)) return false;
  return !Has(notes, cudnn::kNoteReducedSums);
}

CudnnDescriptor CudnnProblem::MakeEngine(int64_t id) const {
  CudnnDescriptor engine(f_, cudnn::kEngine);
  engine.Set(cudnn::kEngineGraph, cudnn::kTypeDescriptor, operation_graph_.get())
      .Set(cudnn::kEngineIndex, cudnn::kTypeInt64, id)
      .Finalize();
  return engine;
}

std::optional<CudnnEngine> CudnnProblem::StructureOf(const CudnnDescriptor& config) const {
  const std::vector<CudnnDescriptor> engine =
      config.GetDescriptors(cudnn::kConfigEngine, cudnn::kEngine, 1);
  if (engine.size() != 1 || !KeepsContract(engine[0])) return std::nullopt;
  CudnnEngine structure;
  structure.id = engine[0].Get(cudnn::kEngineIndex, cudnn::kTypeInt64, int64_t{-1});
  if (structure.id < 0) return std::nullopt;
  for (const CudnnDescriptor& choice :
       config.GetDescriptors(cudnn::kConfigKnobChoices, cudnn::kKnobChoice, kMostKnobs)) {
    const int type = choice.Get(cudnn::kChoiceType, cudnn::kTypeKnobType, -1);
    if (type < 0) return std::nullopt;
    structure.knobs.emplace_back(type,
                                 choice.Get(cudnn::kChoiceValue, cudnn::kTypeInt64, int64_t{0}));
  }
  std::sort(structure.knobs.begin(), structure.knobs.end());
  return structure;
}

std::vector<CudnnEngine> CudnnProblem::Ranking() const {
  std::vector<CudnnEngine> ranking;
  std::set<CudnnEngine> seen;
  for (const int mode : {cudnn::kModeA, cudnn::kModeB, cudnn::kModeFallback}) {
    CudnnDescriptor heuristic(f_, cudnn::kEngineHeuristic);
    heuristic.Set(cudnn::kHeuristicGraph, cudnn::kTypeDescriptor, operation_graph_.get())
        .Set(cudnn::kHeuristicMode, cudnn::kTypeHeuristicMode, mode)
        .Finalize();
    if (!heuristic.ok()) continue;
    const int64_t count = heuristic.Count(cudnn::kHeuristicResults, cudnn::kTypeDescriptor);
    for (const CudnnDescriptor& config : heuristic.GetDescriptors(
             cudnn::kHeuristicResults, cudnn::kEngineConfig, std::min(count, kMostRanked))) {
      std::optional<CudnnEngine> engine = StructureOf(config);
      if (engine && seen.insert(*engine).second) ranking.push_back(*std::move(engine));
    }
  }
  return ranking;
}

int64_t CudnnProblem::EngineCount() const {
  return operation_graph_.Get(cudnn::kGraphEngineCount, cudnn::kTypeInt64, int64_t{0});
}

std::optional<CudnnEngineFacts> CudnnProblem::Facts(int64_t id) const {
  const CudnnDescriptor engine = MakeEngine(id);
  if (!engine.ok() || !KeepsContract(engine)) return std::nullopt;
  CudnnEngineFacts facts;
  facts.compiles_at_run_time =
      Has(engine.GetInts(cudnn::kEngineBehaviorNotes, cudnn::kTypeBehaviorNote, kMostNotes),
          cudnn::kNoteCompilesAtRunTime);
  for (const CudnnDescriptor& info :
       engine.GetDescriptors(cudnn::kEngineKnobs, cudnn::kKnobInfo, kMostKnobs)) {
    CudnnKnob knob;
    knob.type = info.Get(cudnn::kInfoType, cudnn::kTypeKnobType, -1);
    knob.low = info.Get(cudnn::kInfoMinimum, cudnn::kTypeInt64, int64_t{0});
    knob.high = info.Get(cudnn::kInfoMaximum, cudnn::kTypeInt64, int64_t{-1});
    knob.step = std::max<int64_t>(info.Get(cudnn::kInfoStride, cudnn::kTypeInt64, int64_t{1}), 1);
    if (knob.type >= 0) facts.knobs.push_back(knob);
  }
  std::sort(facts.knobs.begin(), facts.knobs.end(),
            [](const CudnnKnob& a, const CudnnKnob& b) { return a.type < b.type; });
  return facts;
}

Result<CudnnPlan> CudnnProblem::Plan(const CudnnEngine& structure) const {
  const auto refuse = [&](const char* part, int status) {
    return Unavailable("this cuDNN does not run the convolution with " + structure.Text() + ": " +
                       part + " is refused with status " + std::to_string(status));
  };
  const CudnnDescriptor engine = MakeEngine(structure.id);
  if (!engine.ok()) return refuse("the engine", engine.status());
  std::vector<CudnnDescriptor> choices;
  std::vector<void*> raw;
  for (const auto& [type, value] : structure.knobs) {
    CudnnDescriptor choice(f_, cudnn::kKnobChoice);
    choice.Set(cudnn::kChoiceType, cudnn::kTypeKnobType, static_cast<int>(type))
        .Set(cudnn::kChoiceValue, cudnn::kTypeInt64, value)
        .Finalize();
    if (!choice.ok()) return refuse("a knob", choice.status());
    raw.push_back(choice.get());
    choices.push_back(std::move(choice));
  }
  CudnnDescriptor config(f_, cudnn::kEngineConfig);
  config.Set(cudnn::kConfigEngine, cudnn::kTypeDescriptor, engine.get());
  if (!raw.empty()) config.SetList(cudnn::kConfigKnobChoices, cudnn::kTypeDescriptor, raw);
  config.Finalize();
  if (!config.ok()) return refuse("the configuration", config.status());
  CudnnPlan plan;
  plan.plan = CudnnDescriptor(f_, cudnn::kExecutionPlan);
  plan.plan.Set(cudnn::kPlanHandle, cudnn::kTypeHandle, handle_)
      .Set(cudnn::kPlanConfig, cudnn::kTypeDescriptor, config.get())
      .Finalize();
  if (!plan.plan.ok()) return refuse("the plan", plan.plan.status());
  plan.workspace_bytes = plan.plan.Get(cudnn::kPlanWorkspace, cudnn::kTypeInt64, int64_t{-1});
  if (plan.workspace_bytes < 0) return refuse("the size of its workspace", 0);
  return plan;
}

namespace {

// One enumeration: what was tried and what it cost.
class Enumeration {
 public:
  Enumeration(const CudnnProblem& problem, const CudnnLimits& limits)
      : problem_(problem), limits_(limits), start_ns_(MonotonicNs()) {}

  std::vector<CudnnChoice> Run() {
    for (const CudnnEngine& engine : problem_.Ranking()) Attempt(engine, true);
    // As they come, those that compile nothing first.
    for (const bool compiles : {false, true}) {
      for (int64_t id = 0; id < problem_.EngineCount(); ++id) {
        const auto& facts = FactsOf(id);
        if (facts && facts->compiles_at_run_time == compiles) Attempt({id, {}}, false);
      }
    }
    const std::vector<CudnnChoice> bases = choices_;
    for (const CudnnChoice& base : bases) {
      const auto& facts = FactsOf(base.engine.id);
      if (facts && !facts->compiles_at_run_time) AttemptKnobs(base.engine, *facts);
    }
    return std::move(choices_);
  }

 private:
  const std::optional<CudnnEngineFacts>& FactsOf(int64_t id) {
    const auto known = facts_.find(id);
    if (known != facts_.end()) return known->second;
    return facts_[id] = problem_.Facts(id);
  }

  void Attempt(const CudnnEngine& engine, bool ranked) {
    if (plans_ >= limits_.plans || !seen_.insert(engine).second) return;
    const auto& facts = FactsOf(engine.id);
    const double seconds = static_cast<double>(MonotonicNs() - start_ns_) * 1e-9;
    const bool compiles = facts && facts->compiles_at_run_time;
    if (seconds >= (compiles ? limits_.compile_seconds : limits_.seconds)) return;
    ++plans_;
    const Result<CudnnPlan> plan = problem_.Plan(engine);
    if (!plan.ok() || plan->workspace_bytes > limits_.workspace_bytes) return;
    choices_.push_back({engine, plan->workspace_bytes, ranked});
  }

  void AttemptKnobs(const CudnnEngine& base, const CudnnEngineFacts& facts) {
    for (const CudnnKnob& knob : facts.knobs) {
      int64_t value = knob.low;
      for (int i = 0; i < limits_.knob_values && value <= knob.high; ++i, value += knob.step) {
        CudnnEngine engine = base;
        std::erase_if(engine.knobs, [&](const auto& k) { return k.first == knob.type; });
        engine.knobs.emplace_back(knob.type, value);
        std::sort(engine.knobs.begin(), engine.knobs.end());
        Attempt(engine, false);
      }
    }
  }

  const CudnnProblem& problem_;
  const CudnnLimits& limits_;
  const int64_t start_ns_;
  std::vector<CudnnChoice> choices_;
  std::set<CudnnEngine> seen_;
  std::map<int64_t, std::optional<CudnnEngineFacts>> facts_;
  int plans_ = 0;
};

}  // namespace

std::vector<CudnnChoice> CudnnProblem::Enumerate(const CudnnLimits& limits) const {
  return Enumeration(*this, limits).Run();
}

}  // namespace hiera
