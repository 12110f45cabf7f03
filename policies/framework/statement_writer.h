// StatementWriter: one statement of a task as a function over a range of its outermost output
// indices, in plain loops. Borrows facts and access, which must outlive it.
#ifndef HIERA_POLICIES_FRAMEWORK_STATEMENT_WRITER_H_
#define HIERA_POLICIES_FRAMEWORK_STATEMENT_WRITER_H_

#include <string>
#include <vector>

#include "policies/framework/element_access.h"
#include "policies/framework/element_writer.h"
#include "policies/framework/expression_writer.h"
#include "policies/framework/formula_facts.h"
#include "policies/framework/source_text.h"

namespace hiera {

class StatementWriter {
 public:
  // block 0: each output element runs its own reduction loops. block > 0: so many elements of the
  // innermost output axis accumulate side by side, which turns the reduction's strided reads into
  // contiguous ones and keeps the order of every sum.
  // state: the tensor whose element an unwritten one takes in runs before the last; -1: none.
  StatementWriter(const FormulaFacts& facts, const ElementAccess& access, int statement,
                  int64_t block, int state);

  // Writes "static void statement_N(...)" and "static void region_N(...)", the latter with the
  // signature of a parallel region over [0, count()).
  void Write(SourceText* out);

  int64_t count() const { return count_; }  // pieces that may run in parallel
  double work() const;                      // elementary operations of one run
  std::string RegionName() const { return "region_" + std::to_string(number_); }

 private:
  // The part of the innermost loop in which no read needs an edge check.
  struct Interior {
    bool split = false;                   // whether there is anything to split
    int64_t first = 0, last = 0;          // of the innermost index
    std::vector<std::string> conditions;  // on the outer indices
  };

  void ChooseParallel();
  std::vector<std::string> Parameters(bool declare) const;
  void WriteLoops();
  void WriteRow(const std::string& low, const std::string& high);
  Interior FindInterior();
  void AddBound(const Node& load, int axis, Interior* interior) const;
  void WriteSplitRow(const std::string& low, const std::string& high, const Interior& interior);
  void WriteInner(const std::string& start, const std::string& end);
  std::vector<int> BlockedReductions();
  void WriteBlocks(const std::string& start, const std::string& end,
                   const std::vector<int>& reductions);
  void WriteBlockedReduction(int n, const std::string& lanes);

  const FormulaFacts& facts_;
  const ElementAccess& access_;
  const Statement& statement_;
  const int number_;
  const int64_t block_;
  ElementWriter element_;
  ExpressionWriter& expressions_;  // of element_
  const std::vector<int>& order_;  // of element_
  const std::vector<int>& scans_;  // of element_
  SourceText* out_ = nullptr;
  int parallel_ = 0;  // leading loops that are shared out
  int64_t count_ = 1;
};

}  // namespace hiera

#endif  // HIERA_POLICIES_FRAMEWORK_STATEMENT_WRITER_H_
