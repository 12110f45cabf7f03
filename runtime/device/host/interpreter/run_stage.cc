#include "runtime/device/host/interpreter/run_stage.h"

#include <algorithm>

namespace hiera::interpreter {
namespace {

// Work below this is done by the caller alone: a region costs a few microseconds.
constexpr double kSerialNs = 20'000;

int64_t Aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

int64_t SumsBytes(const Program& p) {
  return p.has_panel ? kMostPanelRows * kBlockLanes * LaneBytes(p.real) : 0;
}

// A thread's scratch in its parts.
struct Parts {
  char *lanes, *sums, *work;
  int64_t* index;
  void** slots;
};

Parts PartsOf(const Program& p, char* scratch, int64_t index_count) {
  Parts parts;
  parts.lanes = scratch;
  scratch += Aligned(p.scratch_bytes);
  parts.sums = scratch;
  scratch += Aligned(SumsBytes(p));
  parts.work = scratch;
  scratch += p.has_panel ? Aligned(PanelWorkBytes(p.real)) : 0;
  parts.index = reinterpret_cast<int64_t*>(scratch);
  scratch += Aligned(index_count * static_cast<int64_t>(sizeof(int64_t)));
  parts.slots = reinterpret_cast<void**>(scratch);
  return parts;
}

bool IsStored(Storage storage, Lane lane) {
  return (storage == Storage::kF32 && lane == Lane::kF32) ||
         (storage == Storage::kF64 && lane == Lane::kF64) ||
         (storage == Storage::kI64 && lane == Lane::kInt) ||
         (storage == Storage::kBool && lane == Lane::kBool);
}

// The stage's iterations, cut into units: outer indices by blocks of lanes by groups of rows.
struct Units {
  int64_t outer = 1, lane_blocks = 1, row_groups = 1;
  int64_t rows = 1;  // of a group
  int64_t count() const { return outer * lane_blocks * row_groups; }
};

Units UnitsOf(const Program& p, int threads) {
  Units u;
  for (const int64_t extent : p.outer_extents) u.outer *= extent;
  u.lane_blocks = (p.lane_extent + kBlockLanes - 1) / kBlockLanes;
  if (!p.has_panel || p.panel.row_index < 0) return u;
  u.rows = kMostPanelRows;
  const auto groups = [&] { return (p.row_extent + u.rows - 1) / u.rows; };
  while (u.rows > kPanelRows && u.outer * u.lane_blocks * groups() < 2 * threads) u.rows /= 2;
  u.row_groups = groups();
  return u;
}

class Runner {
 public:
  Runner(const Program& program, const StageCall& call)
      : p_(program),
        call_(call),
        units_(UnitsOf(program, call.pool->threads())),
        output_(call.views[program.output]) {
    for (size_t axis = 0; axis < p_.axis_index.size(); ++axis) {
      if (p_.axis_index[axis] == p_.lane) lane_stride_ = output_.strides[axis];
    }
  }

  void Run() {
    const int threads = p_.cost_ns < kSerialNs ? 1 : call_.pool->threads();
    call_.pool->Run(
        units_.count(),
        [](void* self, long begin, long end, int thread) {
          static_cast<Runner*>(self)->RunPiece(begin, end, thread);
        },
        this, threads);
  }

 private:
  void RunPiece(int64_t begin, int64_t end, int thread);
  void SetOuter(Frame& frame, int64_t outer) const;
  void RunRows(Frame& frame, const Parts& parts, int64_t first_lane, int64_t first_row) const;
  void RunLanes(Frame& frame, int64_t first, int64_t n, char* sums) const;
  void Clipped(const Frame& frame, int64_t* low, int64_t* high) const;

  const Program& p_;
  const StageCall& call_;
  const Units units_;
  const View output_;
  int64_t lane_stride_ = 0;
};

void Runner::SetOuter(Frame& frame, int64_t outer) const {
  for (size_t i = p_.outer.size(); i-- > 0;) {
    frame.index[p_.outer[i]] = outer % p_.outer_extents[i];
    outer /= p_.outer_extents[i];
  }
}

void Runner::RunPiece(int64_t begin, int64_t end, int thread) {
  const Parts parts = PartsOf(p_, call_.scratch + thread * call_.scratch_stride, call_.index_count);
  Frame frame;
  frame.program = &p_;
  frame.table = &Lanes();
  frame.views = call_.views;
  frame.scalars = call_.scalars;
  frame.index = parts.index;
  frame.slots = parts.slots;
  frame.scratch = parts.lanes;
  std::fill_n(parts.index, call_.index_count, 0);
  for (size_t i = 0; i < p_.slots.size(); ++i) {
    parts.slots[i] = frame.OwnLanes(static_cast<int>(i));
  }
  frame.lanes = 1;
  RunBlock(frame, 0);
  int64_t last_outer = -1;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t row_group = unit % units_.row_groups;
    const int64_t lane_block = unit / units_.row_groups % units_.lane_blocks;
    const int64_t outer = unit / units_.row_groups / units_.lane_blocks;
    const int64_t first = lane_block * kBlockLanes;
    if (outer != last_outer) SetOuter(frame, outer);
    if (p_.has_panel) {
      RunRows(frame, parts, first, row_group * units_.rows);
    } else {
      if (outer != last_outer) RunBlock(frame, 1);
      RunLanes(frame, first, std::min(kBlockLanes, p_.lane_extent - first), nullptr);
    }
    last_outer = outer;
  }
}

void Runner::RunRows(Frame& frame, const Parts& parts, int64_t first_lane,
                     int64_t first_row) const {
  const int64_t rows = std::min(units_.rows, p_.row_extent - first_row);
  const int row_index = p_.panel.row_index;
  const int64_t n = std::min(kBlockLanes, p_.lane_extent - first_lane);
  frame.lanes = n;
  frame.index[p_.lane] = first_lane;
  if (row_index >= 0) frame.index[row_index] = first_row;
  RunPanel(frame, rows, parts.sums, parts.work);
  for (int64_t r = 0; r < rows; ++r) {
    if (row_index >= 0) frame.index[row_index] = first_row + r;
    RunBlock(frame, 1);
    RunLanes(frame, first_lane, n, parts.sums + r * kBlockLanes * LaneBytes(p_.real));
  }
}

// Cuts [low, high), lanes from the lane index's value on, to those whose reads of tensors with a
// keep rule are all inside.
void Runner::Clipped(const Frame& frame, int64_t* low, int64_t* high) const {
  for (const Clip& clip : p_.clips) {
    const int64_t base = Numerator(clip.axis, frame.index, p_.lane);
    const int64_t step = clip.axis.lane_coefficient;
    while (*low < *high &&
           (base + *low * step + clip.low < 0 || base + *low * step + clip.high >= clip.extent)) {
      ++*low;
    }
    while (*low < *high && (base + (*high - 1) * step + clip.low < 0 ||
                            base + (*high - 1) * step + clip.high >= clip.extent)) {
      --*high;
    }
  }
}

void Runner::RunLanes(Frame& frame, int64_t first, int64_t n, char* sums) const {
  if (p_.lane >= 0) frame.index[p_.lane] = first;
  int64_t low = 0, high = n;
  if (!p_.clips.empty()) Clipped(frame, &low, &high);
  if (low >= high) return;
  if (p_.lane >= 0) frame.index[p_.lane] = first + low;
  frame.lanes = high - low;
  if (sums != nullptr) frame.slots[p_.panel.out] = sums + low * LaneBytes(p_.real);
  int64_t offset = 0;
  for (size_t axis = 0; axis < p_.axis_index.size(); ++axis) {
    offset += frame.index[p_.axis_index[axis]] * output_.strides[axis];
  }
  char* target = output_.base + offset * StorageBytes(p_.output_storage);
  const bool direct =
      p_.root_is_last && lane_stride_ == 1 && IsStored(p_.output_storage, p_.root_type);
  if (direct) {
    frame.slots[p_.root] = target;
    RunBlock(frame, 2);
    return;
  }
  RunBlock(frame, 2);
  const uint8_t* mask = nullptr;
  if (p_.root_mask != kNoSlot) {
    mask = static_cast<const uint8_t*>(frame.slots[p_.root_mask]);
    if (!p_.root_mask_vector) {
      if (*mask != 0) return;
      mask = nullptr;
    }
  }
  frame.table->store[static_cast<int>(p_.output_storage)][static_cast<int>(p_.root_type)](
      target, lane_stride_, frame.slots[p_.root], mask, frame.lanes,
      p_.root_vector ? 0 : kFirstUniform);
}

template <typename A>
void ScanRow(A* row, int64_t n, const Scan& scan) {
  const bool sum = scan.kind == ScanKind::kSum;
  A total = sum ? A(0) : A(1);
  for (int64_t i = 0; i < n; ++i) {
    A& element = row[scan.reverse ? n - 1 - i : i];
    const A next = sum ? total + element : total * element;
    element = scan.exclusive ? total : next;
    total = next;
  }
}

struct ScanCall {
  const Buffer& buffer;
  const View& view;
  const Scan& scan;
  int64_t extent;
};

void ScanRows(void* context, long begin, long end, int) {
  const ScanCall& c = *static_cast<const ScanCall*>(context);
  for (long r = begin; r < end; ++r) {
    char* row = c.view.base + r * c.extent * StorageBytes(c.buffer.storage);
    switch (c.buffer.storage) {
      case Storage::kF64:
        ScanRow(reinterpret_cast<double*>(row), c.extent, c.scan);
        break;
      case Storage::kF32:
        ScanRow(reinterpret_cast<float*>(row), c.extent, c.scan);
        break;
      default:  // integers wrap
        ScanRow(reinterpret_cast<uint64_t*>(row), c.extent, c.scan);
        break;
    }
  }
}

}  // namespace

int64_t ThreadScratchBytes(const Program& p, int64_t index_count) {
  return Aligned(p.scratch_bytes) + Aligned(SumsBytes(p)) +
         (p.has_panel ? Aligned(PanelWorkBytes(p.real)) : 0) +
         Aligned(index_count * static_cast<int64_t>(sizeof(int64_t))) +
         Aligned(static_cast<int64_t>(p.slots.size() * sizeof(void*)));
}

void RunProgram(const Program& program, const StageCall& call) { Runner(program, call).Run(); }

void RunScan(const Buffer& buffer, const View& view, const Scan& scan, const ThreadPool& pool) {
  const int64_t extent = buffer.extents.back();
  int64_t rows = extent == 0 ? 0 : 1;
  for (size_t axis = 0; axis + 1 < buffer.extents.size(); ++axis) rows *= buffer.extents[axis];
  ScanCall call{buffer, view, scan, extent};
  pool.Run(rows, ScanRows, &call, rows * extent < 20'000 ? 1 : pool.threads());
}

}  // namespace hiera::interpreter
