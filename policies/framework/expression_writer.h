// ExpressionWriter: a formula's values as C++ text, one element at a time. Lines that a value needs
// first (loops of reductions, values used more than once) go to the block being written; the text
// of the value itself is returned. Borrows facts and access, which must outlive it.
#ifndef HIERA_POLICIES_FRAMEWORK_EXPRESSION_WRITER_H_
#define HIERA_POLICIES_FRAMEWORK_EXPRESSION_WRITER_H_

#include <map>
#include <string>
#include <vector>

#include "policies/framework/element_access.h"
#include "policies/framework/formula_facts.h"
#include "policies/framework/source_text.h"

namespace hiera {

// The function of namespace fn that computes an operation, and the infix operator with blanks
// around it. Empty where there is none.
std::string_view FunctionName(Op op);
std::string_view OperatorText(Op op);

// How one kind of reduction (or scan) is written.
struct AccumulatorText {
  std::string initial;
  std::string update;  // a format over "$acc" and "$value"

  std::string Update(const std::string& acc, const std::string& value) const;
};
AccumulatorText AccumulatorOf(Reduction reduce, ValueType type);
// What follows "fn::across_" in the function that puts the parts of several threads together.
std::string_view AcrossName(Reduction reduce);

class ExpressionWriter {
 public:
  ExpressionWriter(const FormulaFacts& facts, const ElementAccess& access);

  // Where lines go. The caller keeps the block alive.
  void set_out(SourceText* out) { out_ = out; }
  SourceText& out() { return *out_; }
  // Whether reads that only edges make unsafe are checked.
  void set_edges_checked(bool checked) { edges_checked_ = checked; }
  // The flag that a broken keep rule sets, declared by the caller.
  void set_keep(std::string name) { keep_ = std::move(name); }

  // Threads that write one element together: `thread` is this one's number, `count` how many there
  // are. Reductions are then shared out and put together by fn::across_...; every thread must come
  // past. Both empty, as at first: each thread is alone.
  void set_together(std::string thread, std::string count) {
    thread_ = std::move(thread);
    threads_ = std::move(count);
  }

  // The type of loops over indices: "long", as at first, or "int" where every subscript fits.
  void set_index_type(std::string type) { index_type_ = std::move(type); }
  const std::string& index_type() const { return index_type_; }

  // Values written between the two are forgotten at the end: use around each C++ block.
  void OpenScope(int rebound_index = -1) { scopes_.push_back({{}, rebound_index}); }
  void CloseScope() { scopes_.pop_back(); }
  // Declares that the loop of `index` surrounds what follows.
  void Bind(int index, bool bound = true) { bound_[index] = bound; }
  const std::vector<std::string>& names() const { return names_; }

  std::string Value(int node);
  // `text` is from here on, in this scope, the value of `node`.
  void Define(int node, std::string text) { scopes_.back().values[node] = std::move(text); }
  // Writes now, in this scope, every reduction below `root` whose indices are all bound, so that
  // inner loops do not repeat it. Those that might break a keep rule stay where they are.
  void HoistReductions(int root);
  // Whether HoistReductions would write `node` with the present bindings.
  bool Hoistable(int node) const;

 private:
  struct Scope {
    std::map<int, std::string> values;
    int rebound;  // values outside that depend on this index do not hold inside
  };

  const std::string* Find(int node) const;
  std::string Text(int node);
  std::string Unary(const Node& node);
  std::string Binary(const Node& node);
  std::string Load(int n);
  std::string CheckedLoad(int n);
  std::string Select(int n);
  std::string Reduce(int n);
  std::string ArgReduce(int n);
  // The loops of a reduction's indices, shared out where they are; and their ends. Returns whether
  // they were shared.
  bool OpenReduction(int n);
  void CloseReduction(int n, bool shared);
  std::string DirectScan(int n);
  std::string Constant(double value, ValueType type) const;
  std::string Temporary(int n, const std::string& text);

  const FormulaFacts& facts_;
  const ElementAccess& access_;
  SourceText* out_ = nullptr;
  bool edges_checked_ = true;
  std::string keep_;
  std::string thread_, threads_;
  std::string index_type_ = "long";
  std::vector<std::string> names_;
  std::vector<bool> bound_;
  std::vector<Scope> scopes_;
};

}  // namespace hiera

#endif  // HIERA_POLICIES_FRAMEWORK_EXPRESSION_WRITER_H_
