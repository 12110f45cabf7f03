// CanonicalExpression: one spelling for every spelling of an expression. Terms and factors are
// flattened and sorted, signs pulled out, constants of one sum or product folded into one, as far
// as the contract's arithmetic admits; under exact arithmetic real sums and products stay as
// written. Indices are named by position: i0, i1, ... for a statement's left side; k0, k1, ... for
// bound ones, counted from the outermost reduction in.
//
// Bound indices of one reduction are ordered by how the body uses them. Where that leaves several
// alike, every order of those is tried and the least text wins; beyond kMaxOrders orders the one
// written stays.
// Not thread-safe. Used by canonical.cc.
#ifndef HIERA_RUNTIME_TASK_CANONICAL_EXPRESSION_H_
#define HIERA_RUNTIME_TASK_CANONICAL_EXPRESSION_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/task/task.h"

namespace hiera {

class CanonicalExpression {
 public:
  explicit CanonicalExpression(const Task& task);

  // The text of one statement's value.
  std::string Of(const Statement& statement);

  // Whether something of what was printed fell together (constants, equal operands, a factor of 1),
  // so that reading the text and printing it again may bring more together.
  bool collapsed() const { return collapsed_; }

 private:
  static constexpr int kMaxOrders = 24;

  // How tightly a text binds; what binds less than its place asks for is parenthesised.
  enum Level : uint8_t { kOr, kAnd, kNot, kCompare, kAdd, kMul, kPower, kAtom };

  struct Piece {
    std::string text;     // of the value without its sign
    std::string negated;  // of the value times -1, where that needs no sign in front: a sum
    Level level = kAtom;
    bool negative = false;
    bool either_sign = false;  // equal to its negative: a - a, and what it is multiplied with
    bool constant = false;
    double value = 0;  // of a constant, without the sign

    friend bool operator==(const Piece&, const Piece&) = default;
  };

  Piece Print(int node);
  Piece PrintSum(int node);
  Piece PrintProduct(int node);
  Piece PrintQuotient(const Node& node);
  Piece PrintExtremum(int node);
  Piece PrintLogic(int node);
  Piece PrintComparison(const Node& node);
  Piece PrintPower(const Node& node);
  Piece PrintSelect(const Node& node);
  Piece PrintLoad(const Node& node);
  Piece PrintReduce(const Node& node);
  Piece PrintScan(const Node& node);
  Piece PrintCall(const Node& node);
  Piece PrintAffine(const Affine& affine);

  void CollectTerms(int node, bool negative, bool flatten, std::vector<Piece>* terms,
                    Affine* affine);
  void CollectFactors(int node, bool flatten, bool* negative, std::vector<Piece>* factors);
  void CollectOperands(int node, Op op, bool flatten, std::vector<Piece>* operands, bool* zero);
  void AddAffineTerms(const Affine& affine, std::vector<Piece>* terms) const;
  static std::string Joined(const std::vector<Piece>& terms);
  Piece JoinTerms(std::vector<Piece> terms, bool sorted) const;
  Piece JoinFactors(std::vector<Piece> factors, bool negative, bool sorted) const;
  void SortUnique(std::vector<std::string>* texts);
  std::vector<int> OrderOf(const Node& reduce);
  std::string BodyIn(const std::vector<int>& order, int body);

  bool Flattens(ValueType type) const { return !exact_ || type != ValueType::kReal; }
  static std::string Signed(const Piece& piece, Level least);
  static std::string Unsigned(const Piece& piece, Level least);
  Piece ConstantPiece(double value, ValueType type) const;
  void FoldConstants(bool product, std::vector<Piece>* pieces, ValueType type);
  const Node& node(int n) const { return task_.formula.nodes[n]; }

  const Task& task_;
  const bool exact_;
  std::vector<std::string> names_;  // per index
  bool collapsed_ = false;
  int level_ = 0;  // bound indices around the expression being printed
};

// The shortest decimal that reads back as `value`, with a decimal point, an exponent or "inf".
std::string RealText(double value);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_CANONICAL_EXPRESSION_H_
