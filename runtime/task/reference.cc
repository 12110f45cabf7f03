#include "runtime/task/reference.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <new>
#include <set>
#include <thread>

#include "runtime/task/reference_evaluator.h"
#include "runtime/task/reference_sampling.h"

namespace hiera {
namespace {

using reference::Evaluator;
using reference::kDrifts;
using reference::Real;
using reference::Stored;
using reference::TensorState;
using reference::Tolerance;

long double UnitRoundoff(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 0x1p-53L;
    case DType::kF32:
      return 0x1p-24L;
    case DType::kF16:
      return 0x1p-11L;
    case DType::kBF16:
      return 0x1p-8L;
    default:
      return 0;
  }
}

// An element as the evaluator leaves it: `magnitude` is what the bound needs, the drift folded in.
struct Element : ReferenceElement {
  long double own_magnitude = 0;
  float drift[kDrifts] = {};
};

// Well-mixed bits from a number (the finaliser of SplitMix64).
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The tensors that an expression reads.
std::set<int> LoadsOf(const Formula& formula, int root) {
  std::set<int> tensors, reached = {root};
  while (!reached.empty()) {  // children precede their parents
    const Node& n = formula.nodes[*reached.rbegin()];
    reached.erase(std::prev(reached.end()));
    if (n.op == Op::kLoad) tensors.insert(n.target);
    reached.insert(n.operands.begin(), n.operands.end());
    for (const Subscript& subscript : n.subscripts) {
      if (subscript.gather >= 0) reached.insert(subscript.gather);
    }
  }
  return tensors;
}

// The one that writes an output that stands alone; null where it does not.
const Statement* StatementOf(const Task& task, int output) {
  const Statement* found = nullptr;
  if (task.formula.steps > 1) return nullptr;
  for (const Statement& statement : task.formula.statements) {
    if (statement.output != output) continue;
    if (found != nullptr) return nullptr;
    found = &statement;
  }
  if (found == nullptr) return nullptr;
  const std::set<int> loads = LoadsOf(task.formula, found->root);
  for (const Statement& statement : task.formula.statements) {
    if (&statement != found && loads.count(statement.output) > 0) return nullptr;
  }
  return found;
}

// One run of the reference; used once.
class Run {
 public:
  Run(const Task& task, void* const* pointers) : task_(task), states_(task.tensors.size()) {
    for (int t = 0; t < task.bound_count; ++t) states_[t].buffer = pointers[t];
    tolerance_.unit = UnitRoundoff(task.contract.accumulate);
    tolerance_.scale = task.contract.error_scale;
    tolerance_.overflow = std::ldexp(1.0L, task.contract.accumulate == DType::kF64 ? 1024 : 128);
  }

  Status SetScalars(const double* scalars);
  std::vector<ReferenceOutput> Compute(const ReferenceOptions& options);

 private:
  std::vector<int64_t> ChosenElements(int tensor, const ReferenceOptions& options) const;
  std::vector<Element> EvaluateElements(const Statement& s,
                                        const std::vector<int64_t>& elements) const;
  void EvaluateRange(const Statement& s, const std::vector<int64_t>& elements, size_t begin,
                     size_t end, Element* out) const;
  void RunStatement(const Statement& s, bool last_step);
  Stored StoredFrom(const Element& e, int tensor, uint64_t salt) const;
  void CarryOver();
  bool single() const { return task_.formula.statements.size() == 1 && task_.formula.steps == 1; }
  int64_t PositionOf(const TensorSpec& tensor, int64_t element) const;

  const Task& task_;
  std::vector<TensorState> states_;
  std::vector<long double> scalars_;
  Tolerance tolerance_;
  // Whole results of the last step, by tensor; row-major.
  std::vector<std::vector<Element>> results_ =
      std::vector<std::vector<Element>>(task_.tensors.size());
  uint64_t stored_count_ = 0;  // statements run so far: salts the signs of their errors
};

Status Run::SetScalars(const double* scalars) {
  for (size_t i = 0; i < task_.scalars.size(); ++i) {
    const ScalarSpec& spec = task_.scalars[i];
    const double value = scalars[i];
    if (spec.value_class == ScalarClass::kZero && value != 0) {
      return InvalidArgument("scalar '" + spec.name + "' is declared 0 but is " +
                             std::to_string(value));
    }
    if (spec.value_class == ScalarClass::kOne && value != 1) {
      return InvalidArgument("scalar '" + spec.name + "' is declared 1 but is " +
                             std::to_string(value));
    }
    const bool narrow = task_.contract.accumulate == DType::kF32;
    scalars_.push_back(narrow ? static_cast<float>(value) : value);
  }
  return {};
}

int64_t Run::PositionOf(const TensorSpec& tensor, int64_t element) const {
  int64_t position = 0;
  for (int axis = tensor.rank() - 1; axis >= 0; --axis) {
    position += element % tensor.extents[axis] * tensor.strides[axis];
    element /= tensor.extents[axis];
  }
  return position;
}

void Run::EvaluateRange(const Statement& s, const std::vector<int64_t>& elements, size_t begin,
                        size_t end, Element* out) const {
  const TensorSpec& tensor = task_.tensors[s.output];
  Evaluator evaluator(task_, states_, scalars_, tolerance_);
  for (size_t i = begin; i < end; ++i) {
    int64_t rest = elements[i];
    for (int axis = tensor.rank() - 1; axis >= 0; --axis) {
      evaluator.indices()[s.indices[axis]] = rest % tensor.extents[axis];
      rest /= tensor.extents[axis];
    }
    bool keeps = false;
    const Real r = evaluator.Evaluate(s.root, &keeps);
    out[i].position = PositionOf(tensor, elements[i]);
    out[i].written = !keeps;
    out[i].value = r.value;
    out[i].terms = std::max(r.terms, 1.0);
    out[i].ties = evaluator.ties();
    out[i].own_magnitude = r.magnitude;
    out[i].magnitude = r.magnitude + r.Inherited() / std::sqrt(out[i].terms);
    std::copy(r.drift, r.drift + kDrifts, out[i].drift);
  }
}

std::vector<Element> Run::EvaluateElements(const Statement& s,
                                           const std::vector<int64_t>& elements) const {
  std::vector<Element> out(elements.size());
  // Pieces small enough to balance, large enough for a thread to meet the same row again.
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const size_t piece = std::max<size_t>(1, elements.size() / (cores * 8));
  std::atomic<size_t> next{0};
  std::atomic<bool> out_of_memory{false};
  const auto work = [&] {
    try {
      for (size_t begin; (begin = next.fetch_add(piece)) < elements.size();) {
        EvaluateRange(s, elements, begin, std::min(begin + piece, elements.size()), out.data());
      }
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  };
  std::vector<std::thread> threads;
  for (size_t t = 1; t < std::min(cores, elements.size() / 64 + 1); ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (out_of_memory) throw std::bad_alloc();
  return out;
}

// What a later statement reads: a bound tensor has rounded the value to its type. The element's own
// error joins the drift, in each realisation with a sign of its own.
Stored Run::StoredFrom(const Element& e, int tensor, uint64_t salt) const {
  const DType dtype = task_.tensors[tensor].dtype;
  Stored stored;
  stored.value = e.value;
  stored.computed = true;
  stored.unsure = std::isinf(e.magnitude) || !e.ties.empty();
  if (!task_.is_local(tensor) || !IsReal(dtype)) {
    unsigned char element[8];
    StoreRounded(e.value, dtype, element);
    stored.value = LoadExact(dtype, element);
  }
  if (!IsReal(dtype) || !std::isfinite(e.value)) return stored;
  const long double rounding = UnitRoundoff(dtype) / (tolerance_.unit * tolerance_.scale);
  const float own =
      static_cast<float>(std::sqrt(e.terms) * e.own_magnitude + std::fabs(e.value) * rounding);
  for (int i = 0; i < kDrifts; ++i) {
    const bool negative = i > 0 && (salt >> i & 1) != 0;
    stored.drift[i] = e.drift[i] + (negative ? -own : own);
  }
  return stored;
}

void Run::RunStatement(const Statement& s, bool last_step) {
  const TensorSpec& tensor = task_.tensors[s.output];
  const std::vector<int64_t> all = reference::SampleElements(tensor.extents, 0, 0);
  std::vector<Element> fresh = EvaluateElements(s, all);
  // What an element that is not written holds: the state that is being replaced, or, after the last
  // step, what was there.
  int before = s.output;
  if (!last_step) {
    for (const Carry& carry : task_.formula.carries) {
      if (carry.source == s.output) before = carry.state;
    }
  }
  const Evaluator reader(task_, states_, scalars_, tolerance_);
  auto stored = std::make_shared<std::vector<Stored>>(all.size());
  std::vector<Element>& results = results_[s.output];
  const bool again = !results.empty();  // an earlier statement of this step wrote the tensor
  for (size_t i = 0; i < all.size(); ++i) {
    if (fresh[i].written) {
      (*stored)[i] = StoredFrom(fresh[i], s.output, Mix((stored_count_ << 40) + i));
    } else {
      if (states_[before].buffer != nullptr || states_[before].computed != nullptr) {
        (*stored)[i] = reader.Read(before, all[i]);
      }
      if (again) fresh[i] = results[i];
    }
  }
  ++stored_count_;
  states_[s.output].computed = std::move(stored);
  results = std::move(fresh);
}

void Run::CarryOver() {
  std::vector<TensorState> sources;
  for (const Carry& carry : task_.formula.carries) sources.push_back(states_[carry.source]);
  for (size_t i = 0; i < sources.size(); ++i) {
    states_[task_.formula.carries[i].state] = sources[i];
  }
}

std::vector<int64_t> Run::ChosenElements(int tensor, const ReferenceOptions& options) const {
  if (options.output >= 0) return options.elements;
  return reference::SampleElements(task_.tensors[tensor].extents, options.max_elements,
                                   options.seed);
}

std::vector<ReferenceOutput> Run::Compute(const ReferenceOptions& options) {
  std::vector<ReferenceOutput> outputs;
  const Formula& f = task_.formula;
  const Statement* alone = single() ? &f.statements[0] : StatementOf(task_, options.output);
  if (alone != nullptr) {
    const std::vector<Element> results =
        EvaluateElements(*alone, ChosenElements(alone->output, options));
    outputs.push_back({alone->output, {results.begin(), results.end()}});
    return outputs;
  }
  for (int64_t step = 0; step < f.steps; ++step) {
    const bool last = step + 1 == f.steps;
    for (auto& results : results_) results.clear();
    for (int t = 0; last && t < task_.bound_count; ++t) {
      // Outputs hold again what they held before the run, for elements that the last step keeps.
      if (RoleOf(task_, t) == Role::kOutput) states_[t].computed = nullptr;
    }
    for (const Statement& s : f.statements) RunStatement(s, last);
    if (!last) CarryOver();
  }
  for (int t = 0; t < task_.bound_count; ++t) {
    std::vector<Element>& results = results_[t];
    if (results.empty() || (options.output >= 0 && options.output != t)) continue;
    ReferenceOutput output{t, {}};
    const auto elements = ChosenElements(t, options);
    output.elements.reserve(elements.size());
    for (const int64_t element : elements) output.elements.push_back(results[element]);
    results = {};
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace

bool StandsAlone(const Task& task, int output) { return StatementOf(task, output) != nullptr; }

Result<std::vector<ReferenceOutput>> RunReference(const Task& task, void* const* pointers,
                                                  const double* scalars,
                                                  const ReferenceOptions& options) {
  try {
    Run run(task, pointers);
    HIERA_RETURN_IF_ERROR(run.SetScalars(scalars));
    return run.Compute(options);
  } catch (const std::bad_alloc&) {
    return OutOfMemory("reference: the elements of this task do not fit into memory");
  }
}

}  // namespace hiera
