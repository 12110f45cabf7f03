// CudnnProblem: a convolution as an operation graph of cuDNN's backend, which it owns, and the
// engines for it. The library's handle must outlive it. Not thread-safe.
#ifndef HIERA_RUNTIME_LIBRARY_CUDA_CUDNN_PROBLEM_H_
#define HIERA_RUNTIME_LIBRARY_CUDA_CUDNN_PROBLEM_H_

#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/library/cuda/cudnn_abi.h"
#include "runtime/library/cuda/cudnn_descriptor.h"
#include "runtime/task/cudnn_graph.h"

namespace hiera {

struct CudnnPlan {
  CudnnDescriptor plan;
  int64_t workspace_bytes = 0;
};

struct CudnnKnob {
  int64_t type = 0, low = 0, high = 0, step = 1;
};

struct CudnnEngineFacts {
  bool compiles_at_run_time = false;
  std::vector<CudnnKnob> knobs;  // sorted by type
};

struct CudnnChoice {
  CudnnEngine engine;
  int64_t workspace_bytes = 0;
  bool ranked = false;  // by one of the library's heuristics
};

struct CudnnLimits {
  int64_t workspace_bytes = int64_t{256} << 20;
  int plans = 400;       // that are made to see whether they can be
  int knob_values = 16;  // of one knob
  // Wall time after which no plan is made any more, and none of an engine that compiles for it: one
  // of those takes tenths of a second, and a ranking may hold fifty.
  double seconds = 8;
  double compile_seconds = 3;
};

class CudnnProblem {
 public:
  // Tensors' identifiers in a variant pack.
  enum Uid : int64_t { kX = 1, kW = 2, kY = 3, kBias = 4 };

  // Errors: kUnsupported, naming the descriptor that is refused.
  static Result<std::unique_ptr<CudnnProblem>> Make(const cudnn::Functions& functions, void* handle,
                                                    const CudnnGraph& graph);

  // The library's rankings, best first: mode A, then what B and the fallback add. Only engines that
  // keep the contract.
  std::vector<CudnnEngine> Ranking() const;
  int64_t EngineCount() const;
  // Empty where the engine does not do this graph, or not within the contract.
  std::optional<CudnnEngineFacts> Facts(int64_t engine) const;

  // Ready to run. Errors: kUnavailable where the library refuses.
  Result<CudnnPlan> Plan(const CudnnEngine& engine) const;

  // Rankings first; then every engine as it comes (those that compile at run time last); then each
  // knob's values, one knob at a time away from what was found. None twice.
  std::vector<CudnnChoice> Enumerate(const CudnnLimits& limits) const;

  const CudnnGraph& graph() const { return graph_; }

 private:
  CudnnProblem(const cudnn::Functions& functions, void* handle, const CudnnGraph& graph)
      : f_(functions), handle_(handle), graph_(graph) {}
  Status Build();
  CudnnDescriptor MakeTensor(const CudnnGraph::Tensor& tensor, int64_t uid, bool is_virtual) const;
  Status AddConvolution(const CudnnDescriptor& y);
  Status AddPointwise(int function, const CudnnDescriptor& x, const CudnnDescriptor* b,
                      const CudnnDescriptor& y);
  bool KeepsContract(const CudnnDescriptor& engine) const;
  CudnnDescriptor MakeEngine(int64_t id) const;
  std::optional<CudnnEngine> StructureOf(const CudnnDescriptor& config) const;

  const cudnn::Functions& f_;
  void* handle_;
  const CudnnGraph graph_;
  std::vector<CudnnDescriptor> parts_;  // what the graph refers to
  std::vector<CudnnDescriptor> operations_;
  CudnnDescriptor x_, w_, bias_;
  CudnnDescriptor operation_graph_;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_LIBRARY_CUDA_CUDNN_PROBLEM_H_
