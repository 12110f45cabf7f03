// The plain loops name every point, so that the compiler does several cells at once; those of a
// grid with another rule than keep leave the border out, which is in their favour.
#include <array>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "tests/bench/interpreter_row.h"

namespace hiera {
namespace {

struct Shape {
  int dims, radius;
  bool box;
  long planes, rows, width;  // planes: 1 in two dimensions
};

constexpr int CountOf(Shape s) {
  int count = 1;
  for (int d = 0; d < s.dims; ++d) count *= 2 * s.radius + 1;
  return s.box ? count : 1 + 2 * s.radius * s.dims;
}

// Distances of the points from the cell, in elements, in the order of the box's weights.
template <Shape s>
constexpr std::array<long, CountOf(s)> Points() {
  std::array<long, CountOf(s)> points{};
  int count = 0;
  const int depth = s.dims == 3 ? s.radius : 0;
  for (int a = -depth; a <= depth; ++a) {
    for (int b = -s.radius; b <= s.radius; ++b) {
      for (int c = -s.radius; c <= s.radius; ++c) {
        if (!s.box && (a != 0) + (b != 0) + (c != 0) > 1) continue;
        points[count++] = (a * s.rows + b) * s.width + c;
      }
    }
  }
  return points;
}

template <class T, Shape s, size_t... point>
void Row(const T* __restrict u, const T* weights, T* __restrict v, std::index_sequence<point...>) {
  constexpr auto points = Points<s>();
  const T w[] = {weights[point]...};
  for (long x = s.radius; x < s.width - s.radius; ++x)
    v[x] = (... + (w[point] * u[x + points[point]]));
}

template <class T, Shape s>
void Loops(void* const* p, long begin, long end) {
  const T *u = static_cast<const T*>(p[0]), *w = static_cast<const T*>(p[1]);
  T* v = static_cast<T*>(p[2]);
  const auto points = std::make_index_sequence<CountOf(s)>();
  for (long i = begin + s.radius; i < end + s.radius; ++i) {
    if (s.dims == 2) {
      Row<T, s>(u + i * s.width, w, v + i * s.width, points);
      continue;
    }
    for (long j = s.radius; j < s.rows - s.radius; ++j) {
      const long at = (i * s.rows + j) * s.width;
      Row<T, s>(u + at, w, v + at, points);
    }
  }
}

std::string Shifted(const std::string& index, int shift) {
  return shift == 0 ? index : index + (shift > 0 ? "+" : "") + std::to_string(shift);
}

// The star written out, with the weights of a tensor w: w[0] belongs to the first point.
std::string StarSum(const Shape& s) {
  std::string text;
  int point = 0;
  const int depth = s.dims == 3 ? s.radius : 0;
  for (int a = -depth; a <= depth; ++a) {
    for (int b = -s.radius; b <= s.radius; ++b) {
      for (int c = -s.radius; c <= s.radius; ++c) {
        if ((a != 0) + (b != 0) + (c != 0) > 1) continue;
        text += (point > 0 ? " + " : "") + std::string("w[") + std::to_string(point) + "]*u[" +
                (s.dims == 3 ? Shifted("h", a) + "," : "") + Shifted("i", b) + "," +
                Shifted("j", c) + "]";
        ++point;
      }
    }
  }
  return text;
}

std::string BoxSum(const Shape& s) {
  const std::string r = Shifted("", -s.radius);
  return s.dims == 3 ? "sum(a,b,c: u[h+a" + r + ",i+b" + r + ",j+c" + r + "]*w[a,b,c])"
                     : "sum(b,c: u[i+b" + r + ",j+c" + r + "]*w[b,c])";
}

template <class T, Shape s>
InterpreterRow Make(const std::string& rule) {
  const std::string type = std::is_same_v<T, float> ? "f32" : "f64";
  const std::string side = std::to_string(2 * s.radius + 1);
  const std::string extents = (s.dims == 3 ? std::to_string(s.planes) + "," : "") +
                              std::to_string(s.rows) + "," + std::to_string(s.width);
  std::string weights = side + "," + side + (s.dims == 3 ? "," + side : "");
  if (!s.box) weights = std::to_string(CountOf(s));
  InterpreterRow row;
  row.name = (s.box ? "box" : "star") + std::to_string(s.dims) + "d" + std::to_string(s.radius) +
             "r " + type + " " + extents + (rule == "keep" ? "" : " " + rule);
  row.text = "tensor u: " + type + "[" + extents + "] outside " + rule + "\ntensor w: " + type +
             "[" + weights + "]\ntensor v: " + type + "[" + extents + "]\nv[" +
             (s.dims == 3 ? "h," : "") + "i,j] = " + (s.box ? BoxSum(s) : StarSum(s));
  row.outer = (s.dims == 3 ? s.planes : s.rows) - 2 * s.radius;
  row.loops = Loops<T, s>;
  return row;
}

template <Shape s>
void Add(std::vector<InterpreterRow>* rows, const std::string& rule = "keep") {
  rows->push_back(Make<float, s>(rule));
  rows->push_back(Make<double, s>(rule));
}

}  // namespace

std::vector<InterpreterRow> StencilRows() {
  std::vector<InterpreterRow> rows;
  Add<Shape{2, 1, true, 1, 1024, 1024}>(&rows);
  Add<Shape{2, 2, true, 1, 1024, 1024}>(&rows);
  Add<Shape{2, 3, true, 1, 1024, 1024}>(&rows);
  Add<Shape{2, 4, true, 1, 1024, 1024}>(&rows);
  Add<Shape{2, 2, true, 1, 256, 256}>(&rows);
  Add<Shape{2, 2, true, 1, 256, 256}>(&rows, "clamp");
  Add<Shape{2, 1, false, 1, 256, 256}>(&rows, "zero");
  Add<Shape{2, 2, false, 1, 1024, 1024}>(&rows);
  Add<Shape{2, 4, false, 1, 1024, 1024}>(&rows);
  Add<Shape{2, 4, false, 1, 256, 256}>(&rows);
  Add<Shape{2, 4, false, 1, 256, 256}>(&rows, "wrap");
  Add<Shape{3, 1, true, 96, 96, 256}>(&rows);
  Add<Shape{3, 2, true, 48, 48, 256}>(&rows);
  Add<Shape{3, 1, false, 96, 96, 256}>(&rows);
  Add<Shape{3, 2, false, 96, 96, 256}>(&rows);
  Add<Shape{3, 4, false, 96, 96, 256}>(&rows);
  return rows;
}

}  // namespace hiera
