#include "runtime/task/reference_sampling.h"

#include <numeric>
#include <random>
#include <set>

namespace hiera::reference {
namespace {

int64_t ElementAt(const std::vector<int64_t>& extents, const std::vector<int64_t>& index) {
  int64_t element = 0;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    element = element * extents[axis] + index[axis];
  }
  return element;
}

int64_t Draw(std::mt19937_64& random, int64_t below) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(below));
}

}  // namespace

std::vector<int64_t> SampleElements(const std::vector<int64_t>& extents, int64_t most,
                                    uint64_t seed) {
  int64_t total = 1;
  for (const int64_t extent : extents) total *= extent;
  if (most <= 0 || total <= most) {
    std::vector<int64_t> all(total);
    std::iota(all.begin(), all.end(), int64_t{0});
    return all;
  }
  std::mt19937_64 random(seed);
  std::set<int64_t> chosen;
  const int rank = static_cast<int>(extents.size());
  std::vector<int64_t> index(rank);
  for (int corner = 0; corner < 1 << rank && static_cast<int64_t>(chosen.size()) < most; ++corner) {
    for (int axis = 0; axis < rank; ++axis) {
      index[axis] = (corner >> axis & 1) != 0 ? extents[axis] - 1 : 0;
    }
    chosen.insert(ElementAt(extents, index));
  }
  // Draws that hit an element twice are not made up for, so the loop ends on narrow tensors too.
  for (int64_t draw = 0; static_cast<int64_t>(chosen.size()) < most / 2 && draw < most; ++draw) {
    for (int axis = 0; axis < rank; ++axis) index[axis] = Draw(random, extents[axis]);
    const int face = static_cast<int>(draw % (2 * rank));
    index[face / 2] = face % 2 == 0 ? 0 : extents[face / 2] - 1;
    chosen.insert(ElementAt(extents, index));
  }
  const int64_t rest = most - static_cast<int64_t>(chosen.size());
  for (int64_t i = 0; i < rest; ++i) {
    const auto edge = [&](int64_t k) {
      return static_cast<int64_t>(static_cast<long double>(total) * k / rest);
    };
    const int64_t begin = edge(i), end = edge(i + 1);
    if (end > begin) chosen.insert(begin + Draw(random, end - begin));
  }
  return {chosen.begin(), chosen.end()};
}

}  // namespace hiera::reference
