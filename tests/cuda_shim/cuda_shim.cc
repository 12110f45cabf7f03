#include "tests/cuda_shim/cuda_shim.h"

#include <array>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

__thread uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace hiera::cuda_shim {
namespace {

constexpr int kWarp = 32;

// A barrier that threads may leave for good.
class Barrier {
 public:
  void Reset(int threads) {
    const std::lock_guard lock(mutex_);
    active_ = threads;
  }
  void Await() {
    std::unique_lock lock(mutex_);
    const uint64_t mine = generation_;
    ++waiting_;
    if (ReleaseIfAllAreHere()) return;
    released_.wait(lock, [&] { return generation_ != mine; });
  }
  void Leave() {
    const std::lock_guard lock(mutex_);
    --active_;
    ReleaseIfAllAreHere();
  }

 private:
  bool ReleaseIfAllAreHere() {
    if (waiting_ < active_ || waiting_ == 0) return false;
    waiting_ = 0;
    ++generation_;
    released_.notify_all();
    return true;
  }

  std::mutex mutex_;
  std::condition_variable released_;
  int active_ = 0, waiting_ = 0;
  uint64_t generation_ = 0;
};

struct Warp {
  Barrier barrier;
  std::array<std::array<char, 16>, kWarp> values;
  int lanes = 0;
};

// The block that runs now.
struct Block {
  Barrier barrier;
  std::vector<std::unique_ptr<Warp>> warps;
  std::unique_ptr<uint4, decltype(&std::free)> shared{nullptr, &std::free};
};

Block* current = nullptr;
thread_local int thread_in_block = 0;

Warp& MyWarp() { return *current->warps[thread_in_block / kWarp]; }

void SetUp(Block& block, int threads, size_t shared_bytes) {
  block.barrier.Reset(threads);
  for (size_t w = 0; w < block.warps.size(); ++w) {
    Warp& warp = *block.warps[w];
    warp.lanes = std::min(kWarp, threads - static_cast<int>(w) * kWarp);
    warp.barrier.Reset(warp.lanes);
  }
  if (shared_bytes > 0) std::memset(block.shared.get(), 0xa5, shared_bytes);
}

}  // namespace

uint4* DynamicShared() { return current->shared.get(); }
void SyncBlock() { current->barrier.Await(); }
void SyncWarp() { MyWarp().barrier.Await(); }
int Lane() { return thread_in_block % kWarp; }

void Exchange(const void* in, void* out, size_t bytes, int source) {
  Warp& warp = MyWarp();
  std::memcpy(warp.values[Lane()].data(), in, bytes);
  warp.barrier.Await();
  const bool exists = source >= 0 && source < warp.lanes;
  std::memcpy(out, exists ? warp.values[source].data() : in, bytes);
  warp.barrier.Await();
}

void LaunchOnCpu(dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()>& kernel) {
  const int threads = static_cast<int>(block.x * block.y * block.z);
  const unsigned blocks = grid.x * grid.y * grid.z;
  Block state;
  for (int w = 0; w * kWarp < threads; ++w) state.warps.push_back(std::make_unique<Warp>());
  if (shared_bytes > 0) {
    // No rounding up: an access behind the end is one behind the end of an allocation.
    void* memory = nullptr;
    if (posix_memalign(&memory, 16, shared_bytes) != 0) std::abort();
    state.shared.reset(static_cast<uint4*>(memory));
  }
  current = &state;
  Barrier between;  // blocks
  between.Reset(threads);
  const auto run = [&](int thread) {
    thread_in_block = thread;
    blockDim = {block.x, block.y, block.z};
    gridDim = {grid.x, grid.y, grid.z};
    const auto t = static_cast<unsigned>(thread);
    threadIdx = {t % block.x, t / block.x % block.y, t / block.x / block.y};
    for (unsigned b = 0; b < blocks; ++b) {
      if (thread == 0) SetUp(state, threads, shared_bytes);
      between.Await();
      blockIdx = {b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y};
      kernel();
      MyWarp().barrier.Leave();
      state.barrier.Leave();
      between.Await();
    }
  };
  std::vector<std::thread> all;
  for (int thread = 0; thread < threads; ++thread) all.emplace_back(run, thread);
  for (std::thread& thread : all) thread.join();
  current = nullptr;
}

}  // namespace hiera::cuda_shim
