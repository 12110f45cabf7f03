#include "tests/bench/stencil_suite.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

namespace hiera {
namespace {

// Writes the operands of a cell's expression: the text of a read, and of a number.
struct Dialect {
  std::function<std::string(const std::vector<int64_t>&)> read;
  std::function<std::string(double)> number;
  std::string rsqrt;  // the beginning of a call
};

std::string Expression(const SuiteStencil& stencil, const Dialect& dialect) {
  const std::string centre = dialect.read(std::vector<int64_t>(stencil.dims, 0));
  std::string sum = stencil.gradient ? dialect.number(0.0001) : "";
  for (size_t p = 0; p < stencil.points.size(); ++p) {
    const std::string read = dialect.read(stencil.points[p]);
    if (stencil.gradient) {
      if (read == centre) continue;
      sum += " + (" + centre + " - " + read + ") * (" + centre + " - " + read + ")";
      continue;
    }
    // Weights that differ from point to point and add up to about 1.
    const double share = stencil.divisor / static_cast<double>(stencil.points.size());
    const double weight = share * (0.75 + 0.5 * static_cast<double>(p + 1) /
                                              static_cast<double>(stencil.points.size() + 1));
    sum += (p ? " + " : "") + dialect.number(weight) + " * " + read;
  }
  if (stencil.gradient) return centre + " + " + dialect.rsqrt + sum + ")";
  if (stencil.divisor != 1) return "(" + sum + ") / " + dialect.number(stencil.divisor);
  return sum;
}

std::string Number(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.9f", value);
  return text;
}

std::string Bracketed(const std::vector<int64_t>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}

void AddPoints(SuiteStencil* stencil, bool box) {
  std::vector<std::vector<int64_t>> points{{}};
  for (int axis = 0; axis < stencil->dims; ++axis) {
    std::vector<std::vector<int64_t>> longer;
    for (const std::vector<int64_t>& point : points) {
      for (int64_t d = -stencil->radius; d <= stencil->radius; ++d) {
        longer.push_back(point);
        longer.back().push_back(d);
      }
    }
    points = std::move(longer);
  }
  for (const std::vector<int64_t>& point : points) {
    const auto moved = std::count_if(point.begin(), point.end(), [](int64_t d) { return d != 0; });
    if (box || moved <= 1) stencil->points.push_back(point);
  }
}

}  // namespace

std::vector<SuiteStencil> ReadSuite(const std::string& path) {
  std::vector<SuiteStencil> suite;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#' || line.rfind("name,", 0) == 0) continue;
    std::istringstream fields(line);
    SuiteStencil stencil;
    std::string dims, radius, shape, form;
    std::getline(fields, stencil.name, ',');
    std::getline(fields, dims, ',');
    std::getline(fields, radius, ',');
    std::getline(fields, shape, ',');
    std::getline(fields, form);
    stencil.dims = std::atoi(dims.c_str());
    stencil.radius = std::atoi(radius.c_str());
    stencil.gradient = form == "gradient";
    if (form.rfind("sum/", 0) == 0) stencil.divisor = std::atof(form.c_str() + 4);
    AddPoints(&stencil, shape == "box");
    suite.push_back(stencil);
  }
  return suite;
}

std::string FormulaText(const SuiteStencil& stencil, const std::vector<int64_t>& extents,
                        DType dtype, int64_t steps) {
  const std::string layout = ": " + std::string(DTypeName(dtype)) + Bracketed(extents);
  const std::string indices = stencil.dims == 2 ? "i, j" : "i, j, k";
  const Dialect dialect{[](const std::vector<int64_t>& offset) {
                          std::string text = "u[";
                          for (size_t axis = 0; axis < offset.size(); ++axis) {
                            text += (axis ? ", " : "") + std::string(1, "ijk"[axis]);
                            if (offset[axis] != 0)
                              text += (offset[axis] > 0 ? "+" : "") + std::to_string(offset[axis]);
                          }
                          return text + "]";
                        },
                        Number, "rsqrt("};
  std::string text = "tensor u" + layout + " outside keep\ntensor v" + layout + "\nv[" + indices +
                     "] = " + Expression(stencil, dialect) + "\n";
  if (steps > 1) text += "steps " + std::to_string(steps) + " (u = v)\n";
  return text;
}

std::string PlainLoop(const SuiteStencil& stencil, const std::vector<int64_t>& extents,
                      DType dtype) {
  const bool single = dtype == DType::kF32;
  const std::string type = single ? "float" : "double", suffix = single ? "f" : "";
  const int64_t row = extents.back(), plane = stencil.dims == 3 ? row * extents[1] : row;
  const Dialect dialect{[&](const std::vector<int64_t>& offset) {
                          int64_t distance = 0;
                          for (size_t axis = 0; axis < offset.size(); ++axis) {
                            distance = distance * extents[axis] + offset[axis];
                          }
                          return "u[x + (" + std::to_string(distance) + ")]";
                        },
                        [&](double value) { return Number(value) + suffix; },
                        "1.0" + suffix + " / __builtin_sqrt" + suffix + "("};
  const std::string r = std::to_string(stencil.radius);
  const std::string x_loop = "for (long x = " + r + "; x < " + std::to_string(row) + " - " + r +
                             "; ++x) v[x] = " + Expression(stencil, dialect) + ";\n";
  std::string text =
      "static void Body(void* context, long begin, long end, int) {\n"
      "  void* const* tensors = (void* const*)context;\n"
      "  if (begin < " +
      r + ") begin = " + r +
      ";\n"
      "  if (end > " +
      std::to_string(extents[0]) + " - " + r + ") end = " + std::to_string(extents[0]) + " - " + r +
      ";\n"
      "  for (long z = begin; z < end; ++z) {\n";
  std::string at = "z * " + std::to_string(plane);
  if (stencil.dims == 3) {
    text +=
        "  for (long y = " + r + "; y < " + std::to_string(extents[1]) + " - " + r + "; ++y) {\n";
    at += " + y * " + std::to_string(row);
  }
  text += "    const " + type + "* __restrict u = (const " + type + "*)tensors[0] + " + at + ";\n";
  text += "    " + type + "* __restrict v = (" + type + "*)tensors[1] + " + at + ";\n    " + x_loop;
  if (stencil.dims == 3) text += "  }\n";
  return text +
         "  }\n}\nextern \"C\" void hiera_variant(const hiera_host_call* call) {\n"
         "  call->parallel->run(call->parallel, " +
         std::to_string(extents[0]) + ", Body, (void*)call->tensors);\n}\n";
}

}  // namespace hiera
