#include "tests/unit/policies/sweep_cases.h"

namespace hiera {
namespace {

constexpr const char* kRules[] = {"zero", "clamp", "wrap", "keep"};

std::vector<SweepCase> OneCellAThread() {
  std::vector<SweepCase> sweeps;
  for (const char* rule : kRules) {
    sweeps.push_back({SweptGrids("f32", {77}, rule) + kLine, {1, 32, 1, 1, 0}});
    sweeps.push_back({SweptGrids("f64", {13, 41}, rule, 3) + kStar2, {1, 32, 2, 3, 2}});
    sweeps.push_back({SweptGrids("f32", {7, 5, 35}, rule, 1) + kStar3, {1, 32, 2, 4, 1, false}});
    sweeps.push_back({SweptGrids("f64", {5, 6, 9}, rule) + kBox3, {1, 32, 3, 2, 0}});
  }
  return sweeps;
}

std::vector<SweepCase> SeveralCellsAThread() {
  std::vector<SweepCase> sweeps;
  for (const char* rule : kRules) {
    sweeps.push_back({SweptGrids("f32", {136}, rule) + kLine + kAligned, {4, 32, 1, 1, 0}});
    sweeps.push_back({SweptGrids("f32", {13, 140}, rule, 4) + kStar2 + kAligned, {4, 32, 2, 3, 1}});
    sweeps.push_back({SweptGrids("f32", {9, 30}, rule) + kStar2 + kAligned, {2, 32, 1, 4, 2}});
    sweeps.push_back({SweptGrids("f64", {13, 34}, rule, 2) + kStar2 + kAligned, {2, 32, 1, 16, 0}});
    sweeps.push_back(
        {SweptGrids("f32", {7, 5, 20}, rule) + kStar3 + kAligned, {4, 32, 2, 4, 1, false}});
    sweeps.push_back({SweptGrids("f64", {6, 3, 10}, rule) + kStar3 + kAligned, {2, 32, 2, 3, 1}});
    sweeps.push_back({SweptGrids("f32", {5, 6, 8}, rule) + kBox3 + kAligned, {4, 32, 3, 2, 2}});
  }
  return sweeps;
}

// All points within `radius` along every axis, with weights that differ.
std::string Box(int rank, int radius) {
  std::string text = rank == 2 ? "v[i,j] = 0" : "v[i,j,k] = 0";
  const int outer = rank == 3 ? radius : 0;
  for (int a = -outer; a <= outer; ++a) {
    for (int b = -radius; b <= radius; ++b) {
      for (int c = -radius; c <= radius; ++c) {
        const auto at = [](int d) { return d == 0 ? "" : (d > 0 ? "+" : "") + std::to_string(d); };
        const std::string first = rank == 3 ? "i" + at(a) + ",j" : "i";
        text += " + " + std::to_string(0.01 * (10 + a + 3 * b + 5 * c)) + "*u[" + first + at(b) +
                "," + (rank == 3 ? "k" : "j") + at(c) + "]";
      }
    }
  }
  return text + "\n";
}

// Up to four cells away, and further than the grid is long; planes that do not fit the registers.
std::vector<SweepCase> LongReaches() {
  std::vector<SweepCase> sweeps;
  for (const char* rule : kRules) {
    sweeps.push_back({SweptGrids("f32", {11, 20}, rule) + Box(2, 4) + kAligned, {4, 32, 1, 5, 1}});
    sweeps.push_back({SweptGrids("f64", {11, 18}, rule) + Box(2, 3) + kAligned, {2, 32, 1, 11, 1}});
    sweeps.push_back({SweptGrids("f32", {10, 19}, rule) + Box(2, 4), {1, 32, 2, 5, 1}});
    sweeps.push_back({SweptGrids("f32", {2, 4}, rule) +
                          "v[i,j] = u[i-5,j] + 0.5*u[i+3,j+9] - 0.25*u[i,j-6] + 0.1*u[i,j]\n" +
                          kAligned,
                      {4, 32, 1, 2, 1}});
    sweeps.push_back(
        {SweptGrids("f64", {3}, rule) + "v[i] = u[i-7] + 0.5*u[i+4]\n", {1, 32, 1, 1, 0}});
  }
  sweeps.push_back(
      {SweptGrids("f32", {6, 7, 12}, "clamp") + Box(3, 2) + kAligned, {4, 32, 2, 3, 1}});
  return sweeps;
}

std::vector<SweepCase> SeveralSteps() {
  std::vector<SweepCase> sweeps;
  for (const char* rule : kRules) {
    for (const int steps : {2, 3, 5}) {
      const std::string turns = "steps " + std::to_string(steps) + " (u = v)\n";
      sweeps.push_back({SweptGrids("f32", {9, 20}, rule, 4) + kStar2 + turns + kAligned,
                        {4, 32, 2, 2, 1, steps != 3}});
      sweeps.push_back({SweptGrids("f64", {6, 5, 13}, rule, 1) + kStar3 + turns, {1, 32, 2, 3, 1}});
    }
    sweeps.push_back(
        {SweptGrids("f32", {50}, rule) + kLine + "steps 4 (u = v)\n", {1, 32, 1, 1, 0}});
    // The centre is not among the reads, but kept cells need it.
    sweeps.push_back({SweptGrids("f32", {8, 12}, rule) +
                          "v[i,j] = 0.5*u[i+1,j-1] + 0.25*u[i+2,j+2]\nsteps 3 (u = v)\n" + kAligned,
                      {4, 32, 1, 3, 1}});
  }
  return sweeps;
}

std::vector<SweepCase> FieldsAndOperations() {
  const std::string field = "tensor k: f32[9,20]\n";
  const std::string far = "tensor k: f32[12,24] outside zero\n";
  return {
      {SweptGrids("f32", {9, 20}, "wrap") + field +
           "scalar a\nv[i,j] = u[i,j] + a*k[i,j]*(u[i-1,j] - 2*u[i,j] + u[i+1,j])\n" + kAligned,
       {4, 32, 1, 4, 1}},
      {SweptGrids("f32", {9, 20}, "clamp") + far +
           "scalar a\nscalar b\nv[i,j] = a*u[i,j+1] + b*k[i+3,j-4] + k[i,j]\nsteps 4 (u = v)\n" +
           kAligned,
       {4, 32, 2, 4, 1}},
      {SweptGrids("f32", {9, 21}, "keep") + "tensor k: f32[7,25] outside keep\n" +
           "v[i,j] = u[i,j+1] + 0.5*k[i-1,j+2]\n",
       {1, 32, 1, 4, 1}},
      {SweptGrids("f64", {9, 20}, "keep") +
           "v[i,j] = u[i,j] + rsqrt(0.5 + (u[i,j] - u[i-1,j])^1*(u[i,j] - u[i-1,j]))\n",
       {1, 32, 1, 4, 1}},
      {SweptGrids("f32", {9, 20}, "clamp") +
           "v[i,j] = select(u[i,j] < 0.5 and not (u[i-1,j] >= u[i+1,j]), max(u[i,j-1], u[i,j+1]), "
           "min(u[i-1,j], u[i,j])/3) + sqrt(abs(u[i,j])) - floor(u[i+1,j]) + relu(u[i,j-1])\n" +
           kAligned,
       {4, 32, 1, 4, 1}},
      // Nothing is read outside: u is larger than v.
      {"tensor u: f32[11,24]\ntensor v: f32[8,20]\n" +
           std::string("v[i,j] = u[i,j] + 0.5*u[i+3,j+2] - 0.25*u[i+1,j+4]\n") + kAligned,
       {4, 32, 1, 3, 2}},
      // Columns: the axis in which memory is contiguous comes last.
      {"tensor u: f32[30,20] strides [1,32] outside zero\ntensor v: f32[30,20] strides [1,40]\n"
       "v[i,j] = u[i-2,j] + 0.5*u[i,j+1]\n",
       {1, 32, 1, 3, 2}},
  };
}

}  // namespace

std::string SweptGrids(const std::string& type, const std::vector<int>& extents,
                       const std::string& rule, int pad) {
  const auto list = [](const std::vector<int>& values) {
    std::string text = "[";
    for (size_t i = 0; i < values.size(); ++i) {
      text += (i == 0 ? "" : ",") + std::to_string(values[i]);
    }
    return text + "]";
  };
  const auto strides = [&](int gap) {
    std::vector<int> all(extents.size(), 1);
    for (size_t axis = extents.size() - 1; axis > 0; --axis) {
      all[axis - 1] = all[axis] * extents[axis] + gap;
    }
    return list(all);
  };
  return "tensor u: " + type + list(extents) + " strides " + strides(pad) + " outside " + rule +
         "\ntensor v: " + type + list(extents) + " strides " + strides(2 * pad) + "\n";
}

const std::vector<SweepGroup>& SweepGroups() {
  static const auto& groups = *new std::vector<SweepGroup>{
      {"OneCellAThread", OneCellAThread},
      {"SeveralCellsAThread", SeveralCellsAThread},
      {"LongReaches", LongReaches},
      {"SeveralSteps", SeveralSteps},
      {"FieldsAndOperations", FieldsAndOperations},
  };
  return groups;
}

}  // namespace hiera
