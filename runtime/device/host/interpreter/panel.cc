// Sums of products, several rows at once: what makes GEMM and convolution fast. The bound indices
// are taken as one long index k. For a piece of k, `row` gives a line of lanes for each k, used in
// place or packed; `scale` gives kPanelRows factors for each k; and the kernel adds the products to
// kPanelRows rows of sums held in registers. A packed line is used by all rows of the panel.
#include <algorithm>
#include <cstring>

#include "runtime/device/host/interpreter/frame.h"

namespace hiera::interpreter {
namespace {

constexpr int64_t kPiece = 128;        // k values at a time
constexpr int64_t kLineMultiple = 16;  // lanes that a packed line is padded to

struct Work {
  const void** lines;  // kPiece pointers
  char* packed;        // kPiece lines of kBlockLanes
  char* scale;         // kMostPanelRows / kPanelRows groups of kPiece * kPanelRows factors
};

Work WorkAt(char* memory, int64_t lane_bytes) {
  Work w;
  w.lines = reinterpret_cast<const void**>(memory);
  memory += kPiece * sizeof(void*);
  w.packed = memory;
  w.scale = memory + kPiece * kBlockLanes * lane_bytes;
  return w;
}

// Advances the bound indices as an odometer, innermost last.
void Advance(const PanelPlan& plan, int64_t* index) {
  for (size_t i = plan.bound.size(); i-- > 0;) {
    if (++index[plan.bound[i]] < plan.extents[i]) return;
    index[plan.bound[i]] = 0;
  }
}

// The factors of one k for all rows.
void ReadScale(const Frame& frame, const PanelPlan& plan, int64_t rows, int64_t k, char* scale,
               int64_t lane_bytes) {
  const Load& load = frame.program->loads[plan.scale];
  int64_t first = 0;
  if (plan.row_index >= 0) first = frame.index[plan.row_index];
  double own;
  for (int64_t r = 0; r < rows; ++r) {
    if (plan.row_index >= 0) frame.index[plan.row_index] = first + r;
    const void* value = ReadLanes(frame, load, 1, &own, nullptr);
    const int64_t group = r / kPanelRows, place = r % kPanelRows;
    std::memcpy(scale + ((group * kPiece + k) * kPanelRows + place) * lane_bytes, value,
                lane_bytes);
  }
  if (plan.row_index >= 0) frame.index[plan.row_index] = first;
}

// Whether the scale's rows lie a constant stride apart, all inside: then `start` gets the first.
struct Stepped {
  bool plain = false;
  int64_t row_stride = 0;
};

Stepped SteppedScale(const Frame& frame, const PanelPlan& plan) {
  const Load& load = frame.program->loads[plan.scale];
  Stepped s;
  if (load.can_leave || load.slow) return s;
  const bool f32 = load.storage == Storage::kF32 && load.type == Lane::kF32;
  const bool f64 = load.storage == Storage::kF64 && load.type == Lane::kF64;
  if (!f32 && !f64) return s;
  s.plain = true;
  for (size_t axis = 0; axis < load.axes.size(); ++axis) {
    for (const auto& [i, coefficient] : load.axes[axis].terms) {
      if (i == plan.row_index) s.row_stride += coefficient * frame.views[load.buffer].strides[axis];
    }
  }
  return s;
}

template <typename A>
void CopyScale(const void* source, int64_t row_stride, int64_t rows, int64_t k, char* scale) {
  const A* from = static_cast<const A*>(source);
  A* to = reinterpret_cast<A*>(scale);
  for (int64_t r = 0; r < rows; ++r) {
    to[((r / kPanelRows) * kPiece + k) * kPanelRows + r % kPanelRows] = from[r * row_stride];
  }
}

}  // namespace

int64_t PanelWorkBytes(Lane real) {
  return kPiece * static_cast<int64_t>(sizeof(void*)) +
         kPiece * (kBlockLanes + kMostPanelRows) * LaneBytes(real);
}

void RunPanel(Frame& frame, int64_t rows, void* sums, char* memory) {
  const PanelPlan& plan = frame.program->panel;
  const Lane real = frame.program->real;
  const int64_t lane_bytes = LaneBytes(real);
  const Work work = WorkAt(memory, lane_bytes);
  const Load& row = frame.program->loads[plan.row];
  const Load& scale = frame.program->loads[plan.scale];
  const int64_t groups = (rows + kPanelRows - 1) / kPanelRows;
  const PanelFn kernel = frame.table->panel[real == Lane::kF64 ? 1 : 0];
  const Stepped stepped = SteppedScale(frame, plan);
  // A line whose end is no full vector is packed and padded, so that the kernel needs no remainder.
  const int64_t padded = (frame.lanes + kLineMultiple - 1) / kLineMultiple * kLineMultiple;
  std::memset(sums, 0, groups * kPanelRows * kBlockLanes * lane_bytes);
  std::memset(work.scale, 0, groups * kPiece * kPanelRows * lane_bytes);
  for (const int index : plan.bound) frame.index[index] = 0;
  for (int64_t done = 0; done < plan.count; done += kPiece) {
    const int64_t piece = std::min(kPiece, plan.count - done);
    for (int64_t k = 0; k < piece; ++k) {
      char* own = work.packed + k * kBlockLanes * lane_bytes;
      const void* line = ReadLanes(frame, row, frame.lanes, own, nullptr);
      if (padded != frame.lanes) {
        if (line != own) std::memcpy(own, line, frame.lanes * lane_bytes);
        std::memset(own + frame.lanes * lane_bytes, 0, (padded - frame.lanes) * lane_bytes);
        line = own;
      }
      work.lines[k] = line;
      if (stepped.plain) {
        const void* first = ReadLanes(frame, scale, 1, nullptr, nullptr);
        if (real == Lane::kF64) {
          CopyScale<double>(first, stepped.row_stride, rows, k, work.scale);
        } else {
          CopyScale<float>(first, stepped.row_stride, rows, k, work.scale);
        }
      } else {
        ReadScale(frame, plan, rows, k, work.scale, lane_bytes);
      }
      Advance(plan, frame.index);
    }
    for (int64_t g = 0; g < groups; ++g) {
      kernel(static_cast<char*>(sums) + g * kPanelRows * kBlockLanes * lane_bytes,
             work.scale + g * kPiece * kPanelRows * lane_bytes, work.lines, piece, padded,
             frame.program->exact);
    }
  }
}

}  // namespace hiera::interpreter
