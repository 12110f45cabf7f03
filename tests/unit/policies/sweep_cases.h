// Stencils that a CUDA sweep must get right, with the options to write them with, in groups: every
// rule at every border, one to three dimensions, several reaches, sources and steps, kept cells,
// grids that blocks do and do not divide. For the tests on a CPU and on a GPU.
#ifndef HIERA_TESTS_UNIT_POLICIES_SWEEP_CASES_H_
#define HIERA_TESTS_UNIT_POLICIES_SWEEP_CASES_H_

#include <string>
#include <vector>

#include "policies/kernel/cuda_stencil.h"

namespace hiera {

struct SweepCase {
  std::string text;
  CudaSweepOptions options;
};

struct SweepGroup {
  const char* name;
  std::vector<SweepCase> (*cases)();
};
const std::vector<SweepGroup>& SweepGroups();

// A grid u and a result v; the rows of u are `pad` elements longer, those of v twice that.
std::string SweptGrids(const std::string& type, const std::vector<int>& extents,
                       const std::string& rule, int pad = 0);

inline constexpr const char* kLine = "v[i] = 0.5*u[i] + 0.3*u[i-1] - 0.2*u[i+3]\n";
inline constexpr const char* kStar2 =
    "v[i,j] = 0.5*u[i,j] + 0.125*(u[i-1,j] + u[i+2,j]) - 0.25*u[i,j-1] + 0.3*u[i,j+1]\n";
inline constexpr const char* kStar3 =
    "v[i,j,k] = 0.4*u[i,j,k] + 0.1*u[i-1,j,k] + 0.2*u[i+1,j,k] + 0.3*u[i,j-1,k] - "
    "0.4*u[i,j+2,k] + 0.1*u[i,j,k-2] + 0.1*u[i,j,k+1]\n";
inline constexpr const char* kBox3 =
    "v[i,j,k] = 0.4*u[i-1,j-1,k-1] + 0.1*u[i+1,j+1,k+1] + 0.2*u[i,j-1,k+1] + 0.3*u[i+1,j,k-1] - "
    "0.4*u[i,j,k]\n";
inline constexpr const char* kAligned = "contract align=16\n";

}  // namespace hiera

#endif  // HIERA_TESTS_UNIT_POLICIES_SWEEP_CASES_H_
