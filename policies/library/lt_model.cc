#include "policies/library/lt_model.h"

#include <algorithm>
#include <cmath>

namespace hiera {
namespace {

double RoundedUp(int64_t extent, int tile) {
  return std::ceil(static_cast<double>(extent) / tile) * tile;
}

}  // namespace

double LtModel::Coverage(const LtAlgorithm& algorithm) const {
  const auto tile = LtTileShape(algorithm.tile);
  if (!tile) return 1;
  return RoundedUp(call.m, (*tile)[0]) * RoundedUp(call.n, (*tile)[1]) /
         (static_cast<double>(call.m) * static_cast<double>(call.n));
}

double LtModel::Fullness(const LtAlgorithm& algorithm, double waves) const {
  const auto tile = LtTileShape(algorithm.tile);
  if (waves <= 0 && tile) {
    const double blocks = std::ceil(static_cast<double>(call.m) / (*tile)[0]) *
                          std::ceil(static_cast<double>(call.n) / (*tile)[1]) *
                          static_cast<double>(call.batch) * std::max(algorithm.split_k, 1);
    waves = blocks / std::max(multiprocessors, 1);
  }
  return waves <= 0 ? 1 : waves / std::ceil(waves);
}

double LtModel::Predict(const LtAlgorithm& algorithm, double waves) const {
  // Operands that a block loads are used as often as its tile is wide: half as good where the mean
  // side is 32, nearly best from 128 on.
  double reuse = 1;
  if (const auto tile = LtTileShape(algorithm.tile)) {
    const double side = 2.0 * (*tile)[0] * (*tile)[1] / ((*tile)[0] + (*tile)[1]);
    reuse = side / (side + 32);
  }
  const double floor = floor_ns > 0 ? floor_ns : 1;
  // Memory is kept busy by half the multiprocessors or so; arithmetic needs them all. The floor
  // does not say which of both it is, so that fullness counts in between.
  const double full = std::sqrt(Fullness(algorithm, waves));
  double time = floor * Coverage(algorithm) / (full * reuse);
  if (algorithm.split_k > 1) {
    const double parts = algorithm.reduction == kLtReduceInPlace ? 1 : algorithm.split_k;
    const double bytes = 2.0 * parts * static_cast<double>(call.m) * static_cast<double>(call.n) *
                         static_cast<double>(call.batch) *
                         static_cast<double>(SizeOf(call.compute));
    // Where nothing is known of the memory, as if the parts were a tenth of the work each.
    time += copy_gbps > 0 ? bytes / copy_gbps : floor * 0.1 * parts;
  }
  return time;
}

}  // namespace hiera
