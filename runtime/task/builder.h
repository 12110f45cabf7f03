// FormulaBuilder: makes the nodes of a formula. It alone decides types, conversions and the
// simplifications that every task has undergone, so the parser and the typed constructors give the
// same tree for the same computation:
//   - arithmetic on constants is done, once, in f64, where all operands and the result are finite
//   - a product with a scalar of class zero is dropped with all that it would have read, and so is
//     a sum's operand that is such a product; a scalar of class one is dropped from products
//   - 1*x and x/1 are x; max(x, 0) is relu(x); x^n for n = 2 to 8 is x*x*... of one node
//   - integer arithmetic on indices becomes one affine kIndex
//   - a reduction directly inside one of its own kind is merged with it (sums and products only
//     where the contract admits reassociation)
// A literal 0 drops nothing: 0*x is NaN where x is.
//
// Functions return the new node, or kBad: then error() says why. A bad operand gives a bad result.
// Not thread-safe. Used by parse.cc and constructors.cc.
#ifndef HIERA_RUNTIME_TASK_BUILDER_H_
#define HIERA_RUNTIME_TASK_BUILDER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/task/task.h"

namespace hiera {

class FormulaBuilder {
 public:
  static constexpr int kBad = -1;

  // Builds into task->formula; tensors and scalars are looked up in the task. The task must outlive
  // the builder.
  explicit FormulaBuilder(Task* task);

  // The text position that nodes made from now on are blamed on.
  void SetPosition(uint32_t offset) { position_ = offset; }
  uint32_t position_of(int node) const { return positions_[node]; }

  int AddIndex(std::string_view name, int64_t extent);

  int Constant(double value, ValueType type);
  int Scalar(int scalar);
  int IndexValue(Affine affine);
  int Load(int tensor, std::vector<Subscript> subscripts);
  int Unary(Op op, int a);
  int Binary(Op op, int a, int b);
  int Select(int condition, int yes, int no);
  int Reduce(Reduction kind, std::vector<int> bound, int body);
  int ScanOver(Scan scan, int index, int body);
  int Power(int base, int exponent);

  // The node as a value of another type, converting where that loses nothing.
  int ToReal(int node);
  int ToNumber(int node);  // a boolean becomes 0 or 1

  ValueType type_of(int node) const { return nodes()[node].type; }
  const Node& node(int n) const { return nodes()[n]; }
  const std::string& error() const { return error_; }
  bool failed() const { return !error_.empty(); }
  int Fail(std::string what);

  // Drops nodes and indices that no statement reaches, and numbers the rest in order.
  void Compact();

 private:
  std::vector<Node>& nodes() const { return task_->formula.nodes; }
  int Add(Node node);
  int AddOperation(Op op, ValueType type, std::vector<int> operands);
  bool IsAbsent(int node) const { return absent_[node] != 0; }
  bool IsConstant(int node) const { return nodes()[node].op == Op::kConstant; }
  bool IsConstant(int node, double value) const {
    return IsConstant(node) && nodes()[node].constant == value;
  }
  int Absent();
  bool UnifyNumbers(int* a, int* b);
  int Sum(Op op, int a, int b);
  int Product(int a, int b);
  int Quotient(int a, int b);
  int Compare(Op op, int a, int b);
  int FoldConstants(Op op, int a, int b);
  int FoldIndices(Op op, int a, int b);

  Task* task_;
  bool exact_;
  uint32_t position_ = 0;
  std::vector<uint32_t> positions_;  // one per node
  std::vector<uint8_t> absent_;      // one per node: a zero that a scalar of class zero made
  std::vector<int> depth_;           // one per node
  std::vector<int64_t> tree_nodes_;  // one per node: size of its tree
  std::string error_;
};

std::string_view OpName(Op op);               // "exp", "+"; as in the language
std::string_view ReductionName(Reduction r);  // "sum"

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_BUILDER_H_
