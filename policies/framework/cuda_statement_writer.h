// CudaStatementWriter: one statement of a task as a CUDA kernel. Borrows facts and access, which
// must outlive it.
#ifndef HIERA_POLICIES_FRAMEWORK_CUDA_STATEMENT_WRITER_H_
#define HIERA_POLICIES_FRAMEWORK_CUDA_STATEMENT_WRITER_H_

#include <array>
#include <string>
#include <vector>

#include "policies/framework/cuda_loops.h"
#include "policies/framework/element_access.h"
#include "policies/framework/element_writer.h"
#include "policies/framework/formula_facts.h"
#include "policies/framework/source_text.h"

namespace hiera {

class CudaStatementWriter {
 public:
  // A parameter of the kernel, in order.
  struct Parameter {
    enum class Kind : uint8_t { kTensor, kStride, kScalar, kLastStep } kind;
    int number = 0;  // of the tensor or scalar
    int axis = 0;    // of a stride
  };

  // `state`: the tensor whose element an unwritten one takes in runs before the last; -1: none.
  CudaStatementWriter(const FormulaFacts& facts, const ElementAccess& access, int statement,
                      const CudaLoopsOptions& options, int state);

  // Writes "extern "C" __global__ void statement_N(...)".
  void Write(SourceText* out);

  std::string KernelName() const { return "statement_" + std::to_string(number_); }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  std::array<int64_t, 3> grid() const;  // blocks to launch; 0 along x: nothing to do
  std::array<int64_t, 3> block() const;
  // Whether a block's threads work together on anything.
  bool together() const { return outer_ >= 0; }

 private:
  void ChooseOuter();
  void ChooseParameters();
  void ChooseTile(const CudaLoopsOptions& options);
  bool FitsInInt() const;
  std::string ParameterText(const Parameter& parameter) const;
  void WriteIndices(const std::string& flat, size_t first, size_t last);
  void WriteAlone();
  void WriteTile();
  void WriteTogether();
  int64_t Extent(size_t first, size_t last) const;  // elements of order_[first, last)

  const FormulaFacts& facts_;
  const ElementAccess& access_;
  const int number_;
  const int threads_;
  ElementWriter element_;
  const std::vector<int>& order_;  // of element_
  SourceText* out_ = nullptr;
  int tile_ = 0, rows_ = 1;  // as the options have them; tile_ is 0 where they do not apply
  int outer_ = -1;           // leading indices of a block's row; -1: a thread an element
  std::vector<Parameter> parameters_;
};

}  // namespace hiera

#endif  // HIERA_POLICIES_FRAMEWORK_CUDA_STATEMENT_WRITER_H_
