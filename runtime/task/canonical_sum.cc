// The part of CanonicalExpression that prints sums, products and affine values.
#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/task/affine.h"
#include "runtime/task/canonical_expression.h"
#include "runtime/task/limits.h"

namespace hiera {

void CanonicalExpression::AddAffineTerms(const Affine& affine, std::vector<Piece>* terms) const {
  for (const auto& [index, coefficient] : affine.terms) {
    Piece piece;
    piece.negative = coefficient < 0;
    const int64_t size = coefficient < 0 ? -coefficient : coefficient;
    piece.text = size == 1 ? names_[index] : std::to_string(size) + "*" + names_[index];
    piece.level = size == 1 ? kAtom : kMul;
    terms->push_back(std::move(piece));
  }
  if (affine.offset != 0) {
    terms->push_back(ConstantPiece(static_cast<double>(affine.offset), ValueType::kInt));
  }
}

CanonicalExpression::Piece CanonicalExpression::PrintAffine(const Affine& affine) {
  std::vector<Piece> terms;
  AddAffineTerms(affine, &terms);
  if (terms.empty()) return ConstantPiece(0, ValueType::kInt);
  return JoinTerms(std::move(terms), true);
}

// Replaces the constants among `pieces` by one, their sum or product, where that is finite.
void CanonicalExpression::FoldConstants(bool product, std::vector<Piece>* pieces, ValueType type) {
  std::vector<double> values;
  for (const Piece& piece : *pieces) {
    if (piece.constant) values.push_back(piece.negative ? -piece.value : piece.value);
  }
  if (values.size() < 2) return;
  // In one order, whatever order they were written in.
  std::sort(values.begin(), values.end());
  double total = product ? 1 : 0;
  for (const double value : values) {
    if (!std::isfinite(value)) return;
    total = product ? total * value : total + value;
  }
  if (!std::isfinite(total)) return;
  if (type == ValueType::kInt && std::fabs(total) > static_cast<double>(kMaxInteger)) return;
  collapsed_ = true;
  std::erase_if(*pieces, [](const Piece& piece) { return piece.constant; });
  pieces->push_back(ConstantPiece(total, type));
}

void CanonicalExpression::CollectTerms(int n, bool negative, bool flatten,
                                       std::vector<Piece>* terms, Affine* affine) {
  const Node& at = node(n);
  if (flatten && (at.op == Op::kAdd || at.op == Op::kSub)) {
    CollectTerms(at.operands[0], negative, flatten, terms, affine);
    CollectTerms(at.operands[1], negative != (at.op == Op::kSub), flatten, terms, affine);
    return;
  }
  if (flatten && at.op == Op::kNeg) {
    CollectTerms(at.operands[0], !negative, flatten, terms, affine);
    return;
  }
  if (at.op == Op::kIndex) {
    const Affine total = Added(*affine, negative ? Scaled(at.affine, -1) : at.affine);
    if (InRange(total)) {
      *affine = total;
      return;
    }
  }
  Piece piece = Print(n);
  piece.negative = piece.negative != negative && !piece.either_sign;
  terms->push_back(std::move(piece));
}

CanonicalExpression::Piece CanonicalExpression::PrintSum(int n) {
  const Node& at = node(n);
  std::vector<Piece> terms;
  if (!Flattens(at.type)) {
    terms.push_back(Print(at.operands[0]));
    terms.push_back(Print(at.operands[1]));
    if (at.op == Op::kSub) terms[1].negative = !terms[1].negative;
    return JoinTerms(std::move(terms), false);
  }
  Affine affine;
  CollectTerms(n, false, true, &terms, &affine);
  AddAffineTerms(affine, &terms);
  FoldConstants(false, &terms, at.type);
  if (terms.empty()) terms.push_back(ConstantPiece(0, at.type));
  collapsed_ |= terms.size() == 1;
  return JoinTerms(std::move(terms), true);
}

CanonicalExpression::Piece CanonicalExpression::JoinTerms(std::vector<Piece> terms,
                                                          bool sorted) const {
  if (terms.size() == 1) return std::move(terms[0]);
  Piece piece;
  piece.level = kAdd;
  if (!sorted) {
    piece.text = Joined(terms);
    return piece;
  }
  // Of a sum and its negative the one whose first sign is a plus where they differ is printed, so
  // that both have one text. As written, -(a - b) and b - a differ: one is -0 where the other is
  // +0.
  std::vector<Piece> flipped = terms;
  for (Piece& term : flipped) term.negative = !term.negative && !term.either_sign;
  auto in_order = [](const Piece& a, const Piece& b) {
    if (a.constant != b.constant) return b.constant;
    if (a.text != b.text) return a.text < b.text;
    return a.negative < b.negative;
  };
  std::sort(terms.begin(), terms.end(), in_order);
  std::sort(flipped.begin(), flipped.end(), in_order);
  size_t i = 0;
  while (i < terms.size() && terms[i].negative == flipped[i].negative) ++i;
  piece.either_sign = i == terms.size();
  piece.negative = !piece.either_sign && terms[i].negative;
  if (piece.negative) std::swap(terms, flipped);
  piece.text = Joined(terms);
  piece.negated = Joined(flipped);
  return piece;
}

// Terms with their signs. Only as written can a sum stand in a sum: as its first term it needs no
// parentheses.
std::string CanonicalExpression::Joined(const std::vector<Piece>& terms) {
  std::string text = Signed(terms[0], terms[0].negative ? kMul : kAdd);
  for (size_t i = 1; i < terms.size(); ++i) {
    text += terms[i].negative ? "-" : "+";
    text += Unsigned(terms[i], kMul);
  }
  return text;
}

void CanonicalExpression::CollectFactors(int n, bool flatten, bool* negative,
                                         std::vector<Piece>* factors) {
  const Node& at = node(n);
  if (at.op == Op::kNeg) {
    *negative = !*negative;
    CollectFactors(at.operands[0], flatten, negative, factors);
    return;
  }
  if (flatten && at.op == Op::kMul) {
    CollectFactors(at.operands[0], flatten, negative, factors);
    CollectFactors(at.operands[1], flatten, negative, factors);
    return;
  }
  if (at.op == Op::kIndex && at.affine.terms.size() == 1 && at.affine.offset == 0) {
    const int64_t coefficient = at.affine.terms[0].second;
    if (coefficient < 0) *negative = !*negative;
    const double size = std::fabs(static_cast<double>(coefficient));
    if (size != 1) factors->push_back(ConstantPiece(size, ValueType::kInt));
    factors->push_back({.text = names_[at.affine.terms[0].first]});
    return;
  }
  Piece piece = Print(n);
  *negative = *negative != piece.negative;
  piece.negative = false;
  factors->push_back(std::move(piece));
}

CanonicalExpression::Piece CanonicalExpression::PrintProduct(int n) {
  const Node& at = node(n);
  std::vector<Piece> factors;
  bool negative = false;
  const bool flatten = Flattens(at.type);
  if (flatten) {
    CollectFactors(n, true, &negative, &factors);
  } else if (at.op == Op::kNeg) {
    Piece piece = Print(at.operands[0]);
    piece.negative = !piece.negative;
    return piece;
  } else {
    CollectFactors(at.operands[0], false, &negative, &factors);
    CollectFactors(at.operands[1], false, &negative, &factors);
  }
  if (flatten) {
    FoldConstants(true, &factors, at.type);
    const bool others =
        std::any_of(factors.begin(), factors.end(), [](const Piece& p) { return !p.constant; });
    const size_t count = factors.size();
    if (others) std::erase_if(factors, [](const Piece& p) { return p.constant && p.value == 1; });
    collapsed_ |= factors.size() < count;
  }
  return JoinFactors(std::move(factors), negative, flatten);
}

CanonicalExpression::Piece CanonicalExpression::JoinFactors(std::vector<Piece> factors,
                                                            bool negative, bool sorted) const {
  if (sorted) {
    std::sort(factors.begin(), factors.end(), [](const Piece& a, const Piece& b) {
      if (a.constant != b.constant) return a.constant;
      return a.text < b.text;
    });
  }
  const bool either_sign = std::any_of(factors.begin(), factors.end(),
                                       [](const Piece& factor) { return factor.either_sign; });
  if (factors.size() == 1) {
    factors[0].negative = negative && !either_sign;
    return std::move(factors[0]);
  }
  Piece piece;
  piece.level = kMul;
  piece.either_sign = either_sign;
  piece.negative = negative && !either_sign;
  for (size_t i = 0; i < factors.size();) {
    // Equal factors as powers, of up to 8 as the parser multiplies them out.
    size_t run = 1;
    while (sorted && i + run < factors.size() && run < 8 &&
           factors[i + run].text == factors[i].text) {
      ++run;
    }
    if (!piece.text.empty()) piece.text += "*";
    if (run > 1) {
      piece.text += Unsigned(factors[i], kAtom) + "^" + std::to_string(run);
      if (run == factors.size()) piece.level = kPower;
    } else if (!sorted && i == 0) {
      piece.text += Unsigned(factors[i], kMul);
    } else {
      piece.text += Unsigned(factors[i], kPower);
    }
    i += run;
  }
  return piece;
}

}  // namespace hiera
