// Evaluator: the value of a statement's expression at one output element, by walking the tree.
// One evaluator serves one thread and one run of one statement; the task and the tensors are
// borrowed and must not change meanwhile.
#ifndef HIERA_RUNTIME_TASK_REFERENCE_EVALUATOR_H_
#define HIERA_RUNTIME_TASK_REFERENCE_EVALUATOR_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/task/reference_value.h"
#include "runtime/task/task.h"

namespace hiera::reference {

// An element that a statement has computed, for later ones to read.
struct Stored {
  long double value = 0;
  float drift[kDrifts] = {};  // becomes Real::drift where it is read
  bool computed = false;      // rounded, or unsure, rather than as it was bound
  bool unsure = false;
};

// Ranges of indices, ascending.
using Ties = std::vector<std::pair<int64_t, int64_t>>;

// What a tensor holds at some moment: elements computed so far, in row-major order of its extents,
// or else the bound buffer.
struct TensorState {
  const void* buffer = nullptr;
  std::shared_ptr<const std::vector<Stored>> computed;
};

class Evaluator {
 public:
  // `scalars`: already rounded to the accumulation type.
  Evaluator(const Task& task, const std::vector<TensorState>& tensors,
            const std::vector<long double>& scalars, const Tolerance& tolerance);

  // The values of Formula::indices; set the statement's indices before a call of Evaluate.
  std::vector<int64_t>& indices() { return indices_; }

  // The value of `root` as a real, whatever its type; an unsure integer or boolean has an infinite
  // magnitude. `keeps`: whether a read broke a keep rule.
  Real Evaluate(int root, bool* keeps);
  // Where the root is an arg-reduction: see ReferenceElement::ties. Until the next evaluation.
  const Ties& ties() const { return *ties_; }

  // Element `element` (row-major) of a tensor as it is now.
  Stored Read(int tensor, int64_t element) const;

 private:
  // The last result of a reduction, or of a scan along its whole axis, and the values of the
  // indices that it depends on. Makes a nested reduction over a row cost once a row.
  struct Memory {
    std::vector<int> depends;
    std::vector<int64_t> at;  // empty: nothing remembered yet
    std::vector<Real> reals;
    std::vector<Whole> wholes;
    std::vector<char> keeps;
    Ties ties;  // of an arg-reduction; another's choice is unsure where there are any
  };
  struct Location {
    bool inside;
    bool unsure;
    int64_t element;  // row-major, where inside
    int64_t offset;   // in the bound buffer, where inside
  };

  Real EvalReal(int node);
  Whole EvalWhole(int node);
  Real SelectReal(const Node& n);
  Whole SelectWhole(const Node& n);
  Real LoadReal(const Node& n);
  Whole LoadWhole(const Node& n);
  Stored ReadAt(int tensor, int64_t element, int64_t offset) const;
  Location Locate(const Node& n);
  bool ResolveAxis(const TensorSpec& tensor, int axis, int64_t* subscript);

  // The values of one reduction at the current indices.
  Real ReduceReal(const Node& n);
  Whole ReduceWhole(const Node& n, Ties* ties);
  Whole ReduceArg(const Node& n, Ties* ties);
  void ScanReal(const Node& n, Memory* memory);
  void ScanWhole(const Node& n, Memory* memory);
  // Recalls or computes reduction or scan `node`; returns the place of its result.
  size_t Recall(int node);
  bool Matches(const Memory& memory) const;
  template <typename Visit>
  void ForEachBound(const Node& n, const Visit& visit);

  const Task& task_;
  const std::vector<TensorState>& tensors_;
  const std::vector<long double>& scalars_;
  const Tolerance tolerance_;
  std::vector<int64_t> indices_;
  std::vector<Memory> memory_;  // one per node; used by reductions and scans
  bool keeps_ = false;
  const Ties no_ties_;
  const Ties* ties_ = &no_ties_;
};

}  // namespace hiera::reference

#endif  // HIERA_RUNTIME_TASK_REFERENCE_EVALUATOR_H_
