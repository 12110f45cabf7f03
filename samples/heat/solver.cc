#include "solver.h"

#include <algorithm>

Solver::Solver(int width, int height, int steps, float kappa)
    : width_(width), height_(height), steps_(steps), kappa_(kappa) {
  for (auto& buffer : scratch_) buffer.resize(static_cast<size_t>(width) * height);
}

void Solver::Advance(const float* u, float* v) {
  const float* from = u;
  for (int step = 0; step < steps_; ++step) {
    float* to = step + 1 == steps_ ? v : scratch_[step % 2].data();
    Step(from, to);
    from = to;
  }
}

void Solver::Step(const float* from, float* to) const {
#pragma omp parallel for schedule(static)
  for (int y = 0; y < height_; ++y) {
    const float* row = from + static_cast<long>(y) * width_;
    const float* above = from + static_cast<long>(std::max(y - 1, 0)) * width_;
    const float* below = from + static_cast<long>(std::min(y + 1, height_ - 1)) * width_;
    float* out = to + static_cast<long>(y) * width_;
    const auto update = [&](int x, int left, int right) {
      out[x] = row[x] + kappa_ * (above[x] + below[x] + row[left] + row[right] - 4.0f * row[x]);
    };
    update(0, 0, std::min(1, width_ - 1));
    for (int x = 1; x < width_ - 1; ++x) update(x, x - 1, x + 1);
    if (width_ > 1) update(width_ - 1, width_ - 2, width_ - 1);
  }
}
