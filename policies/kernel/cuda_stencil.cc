#include "policies/kernel/cuda_stencil.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "cuda_sweep_sources.h"
#include "policies/kernel/cuda_sweep_taps.h"
#include "policies/kernel/stencil_text.h"

namespace hiera {
namespace {

constexpr int64_t kMostBlocks = 0x7fffffff;
constexpr int64_t kMostElements = 0x7fffffff - (1 << 20);  // that offsets of 32 bits reach
constexpr int64_t kVectorBytes = 16;                       // the widest access of a thread
constexpr int64_t kLine = 128;                             // of the second-level cache
constexpr int64_t kBufferUnit = 256;                       // alignment of buffers in the workspace

int64_t ElementBytes(const StencilTask& stencil) { return stencil.dtype == DType::kF32 ? 4 : 8; }
int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t RoundUp(int64_t n, int64_t unit) { return DivideUp(n, unit) * unit; }

// Whether `count` neighbours of every row lie aligned to one another.
bool Aligned(const std::array<int64_t, 3>& extent, const std::array<int64_t, 2>& stride,
             int64_t count) {
  return extent[2] % count == 0 && (extent[0] == 1 || stride[0] % count == 0) &&
         (extent[1] == 1 || stride[1] % count == 0);
}

int64_t Span(const std::array<int64_t, 3>& extent, const std::array<int64_t, 2>& stride) {
  return (extent[0] - 1) * std::abs(stride[0]) + (extent[1] - 1) * std::abs(stride[1]) + extent[2];
}

std::string Join(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

// Before anything is divided by an option.
Status CheckRanges(const StencilTask& stencil, const CudaSweepOptions& options) {
  const auto in = [](int value, int low, int high) { return value >= low && value <= high; };
  const int64_t threads = int64_t{options.threads_x} * options.threads_y;
  const int n = options.neighbours;
  if (!in(options.threads_x, 32, 1024) || options.threads_x % 32 != 0 ||
      !in(options.threads_y, 1, 1024) || threads > kMaxCudaThreads) {
    return Unsupported("blocks of " + std::to_string(options.threads_x) + "x" +
                       std::to_string(options.threads_y) +
                       " threads: whole warps along the rows, at most 1024 in all");
  }
  if (!in(options.march, 1, 4096) || !in(options.ahead, 0, 8)) {
    return Unsupported("a sweep marches 1 to 4096 planes, and asks for 0 to 8 ahead");
  }
  if (n < 1 || n > WidestSweep(stencil) || (n & (n - 1)) != 0) {
    return Unsupported(std::to_string(n) + " neighbours a thread need a contract that promises " +
                       std::to_string(n * ElementBytes(stencil)) +
                       "-byte alignment, and extents and strides that keep to it");
  }
  return {};
}

class SweepWriter {
 public:
  SweepWriter(const StencilTask& stencil, const CudaSweepOptions& options)
      : stencil_(stencil), options_(options), taps_(PlanSweepTaps(stencil, options)) {
    row_ = RoundUp(stencil.extent[2], kLine / ElementBytes(stencil));
    plane_ = row_ * stencil.extent[1];
    buffer_bytes_ = RoundUp(plane_ * stencil.extent[0] * ElementBytes(stencil), kBufferUnit);
    int64_t most = Span(stencil.extent, stencil.stride);
    for (const StencilTask::Source& source : stencil.sources) {
      most = std::max(most, Span(source.extent, source.stride));
    }
    if (stencil.steps > 1) most = std::max(most, plane_ * stencil.extent[0]);
    narrow_ = most <= kMostElements;
  }

  Result<CudaSource> Write() {
    HIERA_RETURN_IF_ERROR(Check());
    source_.text = std::string(embedded::cuda_pack_cu) + std::string(embedded::cuda_sweep_cu) +
                   "\nnamespace hiera_stencil {\nnamespace {\nnamespace instance {\n" +
                   StencilCellText(stencil_) + PlanText() +
                   "}  // namespace instance\n}  // namespace\n}  // namespace hiera_stencil\n\n" +
                   KernelText();
    const int64_t bytes = options_.neighbours * ElementBytes(stencil_);
    source_.plan.alignment = options_.neighbours > 1 ? bytes : 1;
    if (stencil_.steps > 1) {
      // Kept cells of the output must stay, so that it can't serve as a buffer between steps.
      buffers_ = stencil_.keeps() ? std::min<int64_t>(stencil_.steps - 1, 2) : 1;
      source_.workspace_bytes = buffers_ * buffer_bytes_;
    }
    for (int64_t step = 0; step < stencil_.steps; ++step) PlanStep(step);
    return std::move(source_);
  }

  // What the task and the taps have against options that are in range.
  Status Check() const {
    const int64_t threads = int64_t{options_.threads_x} * options_.threads_y;
    for (const StencilTask::Source& source : stencil_.sources) {
      if (Span(source.extent, {0, 0}) < 1 || source.extent[0] < 1 || source.extent[1] < 1) {
        return Unsupported("a tensor that is read has no element");
      }
    }
    if (stencil_.steps > 1 && stencil_.sources[0].extent != stencil_.extent) {
      return Unsupported("the state's extents are not those of the output");
    }
    if (stencil_.steps > kMaxCudaSteps) {
      return Unsupported(std::to_string(stencil_.steps) +
                         " steps are as many launches; a plan has " + "at most " +
                         std::to_string(kMaxCudaSteps));
    }
    if (ResidentBlocks(taps_, options_) == 0) {
      return Unsupported("a thread would need about " + std::to_string(taps_.registers) +
                         " registers, more than a multiprocessor has for blocks of " +
                         std::to_string(threads) + " threads");
    }
    if (Blocks() > kMostBlocks) return Unsupported("the grid has more blocks than a launch");
    return {};
  }

 private:
  // A grid in memory: where it begins, and its strides.
  struct Place {
    CudaArgument address;
    std::array<int64_t, 2> stride{0, 0};
  };

  int64_t Blocks() const {
    const int64_t along =
        DivideUp(stencil_.extent[2], int64_t{options_.neighbours} * options_.threads_x);
    const int64_t walks = DivideUp(stencil_.extent[0], options_.march);
    if (stencil_.extent[1] == 1) return along * DivideUp(walks, options_.threads_y);
    return along * DivideUp(stencil_.extent[1], options_.threads_y) * walks;
  }

  std::string PlanText() const {
    const auto number = [](int64_t n) { return std::to_string(n); };
    std::vector<std::string> grids, pieces, columns, taps;
    for (const StencilTask::Source& source : stencil_.sources) {
      grids.push_back("{" + StencilRuleText(source.rule) + ", " + ListText(source.extent) + "}");
    }
    for (const SweepTaps::Piece& piece : taps_.pieces) {
      pieces.push_back(ListText(std::vector<int64_t>{piece.source, piece.at, piece.width}));
    }
    for (const SweepTaps::Column& column : taps_.columns) {
      columns.push_back(ListText(std::vector<int64_t>{column.source, column.d1}));
    }
    for (const SweepTaps::Tap& tap : taps_.taps) {
      taps.push_back(ListText(
          std::vector<int64_t>{tap.column, tap.piece, tap.first, tap.last, tap.ahead, tap.base}));
    }
    const auto list = [](const char* type, const char* name, const std::vector<std::string>& all) {
      return std::string("  static constexpr ") + type + " " + name + "[] = {\n      " +
             Join(all, ",\n      ") + "};\n";
    };
    return std::string("struct Plan {\n  using Index = ") + IndexType() +
           ";\n  static constexpr long kExtent[] = " + ListText(stencil_.extent) +
           ", kBegin[] = " + ListText(stencil_.begin) + ", kEnd[] = " + ListText(stencil_.end) +
           ";\n  static constexpr int kSteps = " + number(stencil_.steps) +
           ", kNeighbours = " + number(options_.neighbours) +
           ", kMarch = " + number(options_.march) + ", kUnroll = " + number(taps_.unroll) +
           ", kThreads[] = {" + number(options_.threads_x) + ", " + number(options_.threads_y) +
           "};\n  static constexpr bool kStreaming = " + (options_.streaming ? "true" : "false") +
           ";\n" + list("Grid", "kGrid", grids) + list("PieceRead", "kPiece", pieces) +
           list("ColumnRead", "kColumn", columns) + list("Tap", "kTap", taps) +
           "  static constexpr int kPieces = " + number(static_cast<int64_t>(pieces.size())) +
           ", kColumns = " + number(static_cast<int64_t>(columns.size())) +
           ", kTaps = " + number(static_cast<int64_t>(taps.size())) +
           ", kHeld = " + number(taps_.held) + ";\n};\n";
  }

  const char* IndexType() const { return narrow_ ? "int" : "long"; }

  // The kernel takes the sources, the output, the scalars, and where there are several steps the
  // strides that differ between them and whether it is the last.
  std::string KernelText() const {
    const std::string type = stencil_.dtype == DType::kF32 ? "float" : "double";
    const bool stepped = stencil_.steps > 1;
    std::vector<std::string> parameters, sources, scalars, strides;
    for (size_t s = 0; s < stencil_.sources.size(); ++s) {
      const std::string name = "t" + std::to_string(s);
      parameters.push_back("const " + type + "* __restrict__ " + name);
      sources.push_back(name);
      strides.push_back(s == 0 && stepped ? "{u_plane, u_row}"
                                          : ListText(stencil_.sources[s].stride));
    }
    strides.push_back(stepped ? "{v_plane, v_row}" : ListText(stencil_.stride));
    parameters.push_back(type + "* __restrict__ out");
    for (size_t s = 0; s < stencil_.scalars.size(); ++s) {
      scalars.push_back("s" + std::to_string(s));
      parameters.push_back(type + " " + scalars.back());
    }
    if (scalars.empty()) scalars.push_back("0");  // an array has at least one entry
    if (stepped) {
      for (const char* name : {"u_plane", "u_row", "v_plane", "v_row"}) {
        parameters.push_back(std::string(IndexType()) + " " + name);
      }
      parameters.push_back("int last");
    }
    const int64_t threads = int64_t{options_.threads_x} * options_.threads_y;
    return "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(threads) + ", " +
           std::to_string(ResidentBlocks(taps_, options_)) + ") sweep(\n    " +
           Join(parameters, ",\n    ") + ") {\n  const " + type + "* const sources[] = {" +
           Join(sources, ", ") + "};\n  const " + type + " scalars[] = {" + Join(scalars, ", ") +
           "};\n  const " + IndexType() + " strides[][2] = {" + Join(strides, ", ") +
           "};\n  hiera_stencil::RunSweep<hiera_stencil::instance::Cell, "
           "hiera_stencil::instance::Plan>(\n      sources, out, scalars, strides, " +
           (stepped ? "last != 0" : "true") + ");\n}\n";
  }

  Place Bound(int tensor, const std::array<int64_t, 2>& stride) const {
    Place place;
    place.address.number = tensor;
    place.stride = stride;
    return place;
  }

  // Where a step puts its result; step -1: what the first one reads.
  Place ResultOf(int64_t step) const {
    const StencilTask::Source& state = stencil_.sources[0];
    if (step < 0) return Bound(state.tensor, state.stride);
    const int64_t left = stencil_.steps - 1 - step;
    if (left == 0 || (!stencil_.keeps() && left % 2 == 0)) {
      return Bound(stencil_.output, stencil_.stride);
    }
    Place place;
    place.address.kind = CudaArgument::Kind::kWorkspace;
    place.address.offset = step % buffers_ * buffer_bytes_;
    place.stride = {plane_, row_};
    return place;
  }

  void PlanStep(int64_t step) {
    CudaStep launch;
    launch.kernel = "sweep";
    launch.grid = {Blocks(), 1, 1};
    launch.block = {options_.threads_x, options_.threads_y, 1};
    const Place from = ResultOf(step - 1), to = ResultOf(step);
    launch.arguments.push_back(from.address);
    for (size_t s = 1; s < stencil_.sources.size(); ++s) {
      launch.arguments.push_back(Bound(stencil_.sources[s].tensor, {}).address);
    }
    launch.arguments.push_back(to.address);
    for (int scalar : stencil_.scalars) {
      CudaArgument argument;
      argument.kind = CudaArgument::Kind::kScalar;
      argument.number = scalar;
      argument.type = stencil_.dtype;
      launch.arguments.push_back(argument);
    }
    if (stencil_.steps > 1) {
      for (int64_t stride : {from.stride[0], from.stride[1], to.stride[0], to.stride[1]}) {
        launch.arguments.push_back(Integer(stride, narrow_));
      }
      launch.arguments.push_back(Integer(step + 1 == stencil_.steps ? 1 : 0, true));
    }
    source_.plan.steps.push_back(std::move(launch));
  }

  static CudaArgument Integer(int64_t value, bool narrow) {
    CudaArgument argument;
    argument.kind = CudaArgument::Kind::kInteger;
    argument.type = narrow ? DType::kI32 : DType::kF64;
    argument.integer = value;
    return argument;
  }

  const StencilTask& stencil_;
  const CudaSweepOptions options_;
  const SweepTaps taps_;
  int64_t row_ = 0, plane_ = 0;  // strides of buffers between steps
  int64_t buffer_bytes_ = 0, buffers_ = 0;
  bool narrow_ = true;  // offsets fit 32 bits
  CudaSource source_;
};

}  // namespace

std::string PlanName(const CudaSweepOptions& options) {
  return "neighbours=" + std::to_string(options.neighbours) +
         " threads=" + std::to_string(options.threads_x) + "x" + std::to_string(options.threads_y) +
         " march=" + std::to_string(options.march) + " ahead=" + std::to_string(options.ahead) +
         (options.streaming ? " streaming" : " cached");
}

std::optional<CudaSweepOptions> SweepFromName(std::string_view name) {
  CudaSweepOptions options;
  const int fields = std::sscanf(
      std::string(name).c_str(), "neighbours=%d threads=%dx%d march=%d ahead=%d",
      &options.neighbours, &options.threads_x, &options.threads_y, &options.march, &options.ahead);
  options.streaming = name.ends_with(" streaming");
  if (fields != 5 || PlanName(options) != name) return {};
  return options;
}

int WidestSweep(const StencilTask& stencil) {
  const int64_t element = ElementBytes(stencil);
  for (int64_t count = kVectorBytes / element; count > 1; count /= 2) {
    const bool promised = stencil.alignment >= count * element;
    const bool fits = std::all_of(
        stencil.sources.begin(), stencil.sources.end(),
        [&](const auto& source) { return Aligned(source.extent, source.stride, count); });
    if (promised && fits && Aligned(stencil.extent, stencil.stride, count)) {
      return static_cast<int>(count);
    }
  }
  return 1;
}

Status CheckCudaSweep(const StencilTask& stencil, const CudaSweepOptions& options) {
  HIERA_RETURN_IF_ERROR(CheckRanges(stencil, options));
  return SweepWriter(stencil, options).Check();
}

Result<CudaSource> WriteCudaSweep(const StencilTask& stencil, const CudaSweepOptions& options) {
  HIERA_RETURN_IF_ERROR(CheckRanges(stencil, options));
  return SweepWriter(stencil, options).Write();
}

}  // namespace hiera
