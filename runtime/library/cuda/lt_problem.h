// LtProblem: a call as cuBLASLt's descriptors, which it owns, and the algorithms for it.
//
// The library's handle must outlive it. Not thread-safe: a bias is part of the descriptor.
#ifndef HIERA_RUNTIME_LIBRARY_CUDA_LT_PROBLEM_H_
#define HIERA_RUNTIME_LIBRARY_CUDA_LT_PROBLEM_H_

#include <memory>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/library/cuda/cublas_abi.h"
#include "runtime/task/cublas_call.h"
#include "runtime/task/lt_algorithm.h"

namespace hiera {

struct LtChoice {
  LtAlgorithm algorithm;
  size_t workspace_bytes = 0;
  double waves = 0;
  bool ranked = false;  // by the library's own heuristic
};

// An algorithm as the library takes it.
struct LtResolved {
  lt::Algo algo{};
  size_t workspace_bytes = 0;
  double waves = 0;
};

class LtProblem {
 public:
  // Errors: kUnsupported with the function that refused and its status.
  static Result<std::unique_ptr<LtProblem>> Make(const lt::Functions& functions, void* handle,
                                                 const CublasCall& call);
  ~LtProblem();
  LtProblem(const LtProblem&) = delete;
  LtProblem& operator=(const LtProblem&) = delete;

  // The algorithm of that structure, if the library can run this very problem with it now. Errors:
  // kUnavailable, saying so.
  Result<LtResolved> Resolve(const LtAlgorithm& algorithm) const;

  // The library's own ranking, best first. Errors: kUnavailable where it has none.
  Result<std::vector<LtChoice>> Ranking(int count, int64_t workspace_bytes) const;

  // Numbers of the algorithms for these element types.
  std::vector<int> AlgorithmIds() const;
  // With default attributes; false where the library refuses.
  bool Init(int id, lt::Algo* algo) const;
  // Sets the attributes and asks whether the problem can be run so; false where not.
  bool Check(const LtAlgorithm& algorithm, lt::Algo algo, LtResolved* resolved) const;

  // Whether an algorithm keeps what the task's contract asks of its numbers and addresses.
  bool KeepsContract(const lt::Algo& algo) const;
  // Which reduction schemes keep the sums in their type.
  uint32_t ReductionMask() const;

  int Run(const void* alpha, const void* a, const void* b, const void* beta, void* c,
          const void* bias, const LtResolved& resolved, void* workspace, void* stream);

  const CublasCall& call() const { return call_; }
  const lt::Functions& functions() const { return f_; }

 private:
  LtProblem(const lt::Functions& functions, void* handle, const CublasCall& call)
      : f_(functions), handle_(handle), call_(call) {}
  Status MakeDescriptor();
  Status MakeLayouts();

  const lt::Functions& f_;
  void* handle_;
  const CublasCall call_;
  void* desc_ = nullptr;
  void* a_ = nullptr;
  void* b_ = nullptr;
  void* c_ = nullptr;
  const void* bias_ = nullptr;  // that the descriptor holds
};

// cudaDataType_t and cublasComputeType_t of a call.
int CublasTypeOf(DType dtype);
int CublasComputeOf(const CublasCall& call);

}  // namespace hiera

#endif  // HIERA_RUNTIME_LIBRARY_CUDA_LT_PROBLEM_H_
