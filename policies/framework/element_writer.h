// ElementWriter: what a statement does for one element of its output, as C++ text, and the order of
// the loops around it. Borrows facts and access, which must outlive it.
#ifndef HIERA_POLICIES_FRAMEWORK_ELEMENT_WRITER_H_
#define HIERA_POLICIES_FRAMEWORK_ELEMENT_WRITER_H_

#include <set>
#include <string>
#include <vector>

#include "policies/framework/element_access.h"
#include "policies/framework/expression_writer.h"
#include "policies/framework/formula_facts.h"
#include "policies/framework/source_text.h"

namespace hiera {

class ElementWriter {
 public:
  // state: the tensor whose element an unwritten one takes in runs before the last; -1: none.
  ElementWriter(const FormulaFacts& facts, const ElementAccess& access, int statement, int state);

  const Statement& statement() const { return statement_; }
  // Output indices, outermost loop first. Where scans are carried their axis comes last.
  const std::vector<int>& order() const { return order_; }
  // Scans that the innermost loop carries, all along one axis and in one direction.
  const std::vector<int>& scans() const { return scans_; }
  bool has_scan() const { return has_scan_; }
  int LevelOf(int node) const;  // how many loops of the order must surround it

  // What the text names.
  struct Uses {
    std::set<int> tensors, scalars;
    bool last_step = false;
  };
  Uses FindUses() const;

  // Whether an element may have to keep what it was.
  bool MayKeep(bool edges_checked) const;

  void set_out(SourceText* out);
  SourceText& out() { return *out_; }
  ExpressionWriter& expressions() { return expressions_; }

  // The accumulators of the scans, before their loop.
  void DeclareScans();
  // Opens the loop that carries the scans, from 0 to `high` or back; the caller closes the block.
  void OpenScanLoop(const std::string& high);
  // The element at the bound indices. `writer`: a condition on the thread that stores it; empty:
  // whoever is here.
  void WriteElement(bool edges_checked, const std::string& writer = "");

 private:
  void ChooseOrder();
  void UpdateScans();

  const FormulaFacts& facts_;
  const ElementAccess& access_;
  const Statement& statement_;
  const int state_;
  ExpressionWriter expressions_;
  SourceText* out_ = nullptr;
  std::vector<int> order_;
  std::vector<int> scans_;
  bool has_scan_ = false;
};

}  // namespace hiera

#endif  // HIERA_POLICIES_FRAMEWORK_ELEMENT_WRITER_H_
