#include "runtime/device/cuda/interpreter/stage_launch.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace hiera::cuda {
namespace {

constexpr int64_t kBlocksPerMultiprocessor = 32;  // then blocks take several points in turn

uint32_t Blocks(int64_t wanted, const Target& target) {
  const int64_t most = kBlocksPerMultiprocessor * target.multiprocessors;
  return static_cast<uint32_t>(std::clamp<int64_t>(wanted, 1, most));
}

Shape ShapeOf(const StageProgram& program, const Target& target) {
  const uint32_t thread_bytes = 8 * program.encoded.wide_slots + 4 * program.encoded.narrow_slots;
  Shape shape;
  shape.threads = target.block_threads;
  while (shape.threads > std::max(program.team, 32u) &&
         shape.threads * thread_bytes + kExchangeBytes > kMostShared) {
    shape.threads /= 2;
  }
  shape.shared_bytes = kExchangeBytes + shape.threads * thread_bytes;
  const int64_t teams = shape.threads / program.team;
  shape.blocks = Blocks((program.points + teams - 1) / teams, target);
  return shape;
}

}  // namespace

Result<StageLaunch> StageLaunch::Of(const StageProgram& program, const Target& target) {
  StageLaunch stage;
  stage.buffers_ = program.buffers;
  stage.scalars_ = program.scalars;
  stage.is_empty_ = program.points == 0;
  stage.shape_ = ShapeOf(program, target);
  Launch& launch = stage.launch_;
  launch.points = program.points;
  launch.team = program.team;
  launch.wide_slots = program.encoded.wide_slots;
  launch.short_longs = program.encoded.short_longs ? 1 : 0;
  launch.point_at = program.encoded.point_at;
  launch.scalars_at = static_cast<uint32_t>(program.buffers.size());
  launch.code_at = launch.scalars_at + static_cast<uint32_t>(program.scalars.size());
  if (launch.code_at > kDataWords) {
    return Unsupported("a statement of the formula reads too many tensors at once; cut it");
  }
  const std::vector<uint32_t>& code = program.encoded.code;
  const size_t code_bytes = code.size() * sizeof(uint32_t);
  stage.launch_bytes_ = offsetof(Launch, data) + launch.code_at * sizeof(uint64_t);
  if (program.encoded.short_longs &&
      code_bytes <= (kDataWords - launch.code_at) * sizeof(uint64_t)) {
    std::memcpy(launch.data + launch.code_at, code.data(), code_bytes);
    stage.launch_bytes_ += code_bytes;
  } else {
    stage.far_code_ = code;
  }
  return stage;
}

StageLaunch StageLaunch::OfScan(const interpreter::Lowered& lowered, int number, const Scan& scan,
                                const Target& target) {
  const interpreter::Buffer& buffer = lowered.buffers[number];
  StageLaunch stage;
  stage.is_scan_ = true;
  stage.buffers_ = {number};
  stage.scan_storage_ = buffer.storage;
  stage.scan_.extent = buffer.extents.back();
  stage.scan_.count = stage.scan_.extent == 0 ? 0 : 1;
  for (size_t axis = 0; axis + 1 < buffer.extents.size(); ++axis) {
    stage.scan_.count *= buffer.extents[axis];
  }
  stage.is_empty_ = stage.scan_.count == 0;
  stage.scan_.product = scan.kind == ScanKind::kProd ? 1 : 0;
  stage.scan_.reverse = scan.reverse ? 1 : 0;
  stage.scan_.exclusive = scan.exclusive ? 1 : 0;
  stage.scan_.ordered = lowered.exact && buffer.storage != interpreter::Storage::kI64 ? 1 : 0;
  stage.shape_.threads = target.block_threads;
  stage.shape_.shared_bytes = kExchangeBytes;
  const int64_t rows = stage.scan_.count;
  stage.shape_.blocks = Blocks(
      stage.scan_.ordered != 0 ? (rows + target.block_threads - 1) / target.block_threads : rows,
      target);
  return stage;
}

void StageLaunch::Fill(char* const* bases, const double* scalars, Launch* out) const noexcept {
  std::memcpy(out, &launch_, launch_bytes_);
  for (size_t i = 0; i < buffers_.size(); ++i) {
    out->data[i] = reinterpret_cast<uint64_t>(bases[buffers_[i]]);
  }
  for (size_t i = 0; i < scalars_.size(); ++i) {
    std::memcpy(&out->data[launch_.scalars_at + i], &scalars[scalars_[i]], sizeof(double));
  }
}

ScanLaunch StageLaunch::FillScan(char* const* bases) const noexcept {
  ScanLaunch scan = scan_;
  scan.rows = bases[buffers_[0]];
  return scan;
}

}  // namespace hiera::cuda
