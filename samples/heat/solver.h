// An explicit heat solver as one finds it in the wild: five points, two buffers, all cores. It
// knows nothing of HIERA; main.cc hands it over as the baseline.
#ifndef HEAT_SOLVER_H_
#define HEAT_SOLVER_H_

#include <vector>

class Solver {
 public:
  // kappa: diffusivity * dt / dx^2; stable up to 0.25. Borders are insulated.
  Solver(int width, int height, int steps, float kappa);

  // u advanced by `steps` steps into v. u is not changed.
  void Advance(const float* u, float* v);

 private:
  void Step(const float* from, float* to) const;

  int width_;
  int height_;
  int steps_;
  float kappa_;
  std::vector<float> scratch_[2];
};

#endif  // HEAT_SOLVER_H_
