// The part of CanonicalExpression that orders the indices of reductions.
#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/task/builder.h"
#include "runtime/task/canonical_expression.h"

namespace hiera {

// The body's text with the bound indices named in this order.
std::string CanonicalExpression::BodyIn(const std::vector<int>& order, int body) {
  for (size_t i = 0; i < order.size(); ++i) {
    names_[order[i]] = "k" + std::to_string(level_ + static_cast<int>(i));
  }
  level_ += static_cast<int>(order.size());
  std::string text = Signed(Print(body), kOr);
  level_ -= static_cast<int>(order.size());
  return text;
}

std::vector<int> CanonicalExpression::OrderOf(const Node& reduce) {
  std::vector<int> order = reduce.bound;
  const bool sums = reduce.reduce == Reduction::kSum || reduce.reduce == Reduction::kProd ||
                    reduce.reduce == Reduction::kMean;
  const bool fixed = sums && !Flattens(node(reduce.operands[0]).type);
  if (order.size() < 2 || fixed) return order;
  // How the body looks from one index, the others being alike: the same however they are named.
  std::vector<std::pair<std::string, int>> views;
  level_ += static_cast<int>(order.size());
  for (const int self : order) {
    for (const int other : order) names_[other] = other == self ? "@" : "?";
    std::string view = std::to_string(task_.formula.indices[self].extent) + ":" +
                       Signed(Print(reduce.operands[0]), kOr);
    views.emplace_back(std::move(view), self);
  }
  level_ -= static_cast<int>(order.size());
  std::stable_sort(views.begin(), views.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 0; i < order.size(); ++i) order[i] = views[i].second;

  // Indices with equal views: the orders of each such group are tried.
  std::vector<int> group(order.size(), 0);
  int64_t orders = 1;
  int64_t alike = 1;
  for (size_t i = 1; i < order.size(); ++i) {
    const bool same = views[i].first == views[i - 1].first;
    group[i] = group[i - 1] + (same ? 0 : 1);
    alike = same ? alike + 1 : 1;
    orders *= alike;
  }
  if (orders == 1) return order;
  if (orders > kMaxOrders) return reduce.bound;
  std::vector<int> position(order.size());
  std::iota(position.begin(), position.end(), 0);
  std::vector<int> best;
  std::string best_text;
  do {
    bool within_groups = true;
    std::vector<int> candidate(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      within_groups &= group[position[i]] == group[i];
      candidate[i] = order[position[i]];
    }
    if (!within_groups) continue;
    std::string text = BodyIn(candidate, reduce.operands[0]);
    if (best.empty() || text < best_text) {
      best = std::move(candidate);
      best_text = std::move(text);
    }
  } while (std::next_permutation(position.begin(), position.end()));
  return best;
}

CanonicalExpression::Piece CanonicalExpression::PrintReduce(const Node& at) {
  const std::vector<int> order = OrderOf(at);
  const std::string body = BodyIn(order, at.operands[0]);
  std::string text(ReductionName(at.reduce));
  for (size_t i = 0; i < order.size(); ++i) {
    text += i == 0 ? "(" : ",";
    text += names_[order[i]] + "<" + std::to_string(task_.formula.indices[order[i]].extent);
  }
  text += ":" + body + ")";
  return {.text = std::move(text)};
}

}  // namespace hiera
