// The fictional GPU finds what a real one would, and some that a real one lets pass.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/fake_cuda/kernels.h"

namespace hiera {
namespace {

using gpu::Check;
using gpu::Compiled;
using gpu::Contents;
using gpu::Cuda;
using gpu::Launch;
using gpu::Memory;

CUdeviceptr AddressOf(const Memory& memory) { return reinterpret_cast<CUdeviceptr>(memory.data()); }

constexpr char kStore[] =
    "extern \"C\" __global__ void store(float* out, long at) { out[at] = 1.5f; }";
constexpr char kOthers[] =
    "extern \"C\" __global__ void load(const float* in, float* out, long at) { *out = in[at]; }\n"
    "extern \"C\" __global__ void wide(const float* in, float* out) {\n"
    "  *reinterpret_cast<float4*>(out) = *reinterpret_cast<const float4*>(in);\n}\n"
    "extern \"C\" __global__ void apart() {\n"
    "  if (threadIdx.x < 32) __syncthreads(); else __syncwarp(), __shfl_sync(~0u, 1, 0);\n"
    "  if (threadIdx.x == 40) __syncwarp();\n"
    "  __syncthreads();\n}\n"
    "__device__ __noinline__ int deep(volatile int* x, int n) {\n"
    "  volatile int here[64] = {n};\n"
    "  return n == 0 ? *x : deep(x, n - 1) + here[n % 64];\n}\n"
    "extern \"C\" __global__ void recurse(int* x) { *x = deep(x, 1 << 20); }\n"
    "extern \"C\" __global__ void array(int* out, int at) {\n"
    "  int own[4] = {1, 2, 3, 4};\n"
    "  own[at] += 1;\n"
    "  *out = own[0] + own[at % 4];\n}";

// Every test in a context of its own, which it breaks.
class FakeCudaFaultTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(gpu::WhyNone(), "");
    gpu::UsePrimary();
    Check(Cuda().cuCtxCreate(&context_, nullptr, 0, 0), "context");
  }
  void TearDown() override {
    if (context_ != nullptr) Check(Cuda().cuCtxDestroy(context_), "context");
  }

  // The context answers with `error` from now on, and others are whole.
  void ExpectBroken(CUresult error) {
    EXPECT_EQ(Cuda().cuStreamSynchronize(nullptr), error);
    EXPECT_EQ(Cuda().cuCtxSynchronize(), error);
    CUdeviceptr address = 0;
    EXPECT_EQ(Cuda().cuMemAlloc(&address, 4), error);
    CUstream stream = nullptr;
    EXPECT_EQ(Cuda().cuStreamCreate(&stream, 0), error);
    gpu::UsePrimary();
    Memory memory(4);
    ASSERT_EQ(Launch(Compiled(kStore, "store"), {}, memory.data(), 0L), CUDA_SUCCESS);
    EXPECT_EQ(Contents<float>(memory, 1)[0], 1.5f);
    Check(Cuda().cuCtxSetCurrent(context_), "context");
  }

  CUcontext context_ = nullptr;
};

TEST_F(FakeCudaFaultTest, AStoreBehindAnAllocationBreaksTheContext) {
  Memory memory(4 * 64);
  ASSERT_EQ(Launch(Compiled(kStore, "store"), {}, memory.data(), 63L), CUDA_SUCCESS);
  EXPECT_EQ(Cuda().cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Launch(Compiled(kStore, "store"), {}, memory.data(), 64L), CUDA_SUCCESS)
      << "it is the work that fails, not the launch";
  ExpectBroken(CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(FakeCudaFaultTest, ALoadBeforeAnAllocationBreaksTheContext) {
  Memory memory(4096), out(4);
  const CUfunction load = Compiled(kOthers, "load");
  EXPECT_EQ(Launch(load, {}, memory.data(), out.data(), -1L), CUDA_SUCCESS);
  ExpectBroken(CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(FakeCudaFaultTest, AnAccessToWhatWasFreedBreaksTheContext) {
  char* gone = nullptr;
  {
    Memory memory(1 << 20);
    gone = memory.data();
  }
  EXPECT_EQ(Launch(Compiled(kStore, "store"), {}, gone, 0L), CUDA_SUCCESS);
  ExpectBroken(CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(FakeCudaFaultTest, AStoreCloseBehindAnAllocationIsFoundWhenItIsFreed) {
  CUdeviceptr address = 0;
  Check(Cuda().cuMemAlloc(&address, 4 * 60), "memory");
  EXPECT_EQ(Launch(Compiled(kStore, "store"), {}, address, 60L), CUDA_SUCCESS);
  EXPECT_EQ(Cuda().cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Cuda().cuMemFree(address), CUDA_ERROR_ILLEGAL_ADDRESS);
  ExpectBroken(CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(FakeCudaFaultTest, WideAccessesMustBeAligned) {
  Memory in(64), out(64);
  const CUfunction wide = Compiled(kOthers, "wide");
  ASSERT_EQ(Launch(wide, {}, in.data() + 16, out.data()), CUDA_SUCCESS);
  EXPECT_EQ(Cuda().cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  ASSERT_EQ(Launch(wide, {}, in.data() + 8, out.data()), CUDA_SUCCESS);
  ExpectBroken(CUDA_ERROR_ILLEGAL_INSTRUCTION);
}

TEST_F(FakeCudaFaultTest, AnIndexOutsideAnArrayIsAFault) {
  Memory out(4);
  const CUfunction array = Compiled(kOthers, "array");
  ASSERT_EQ(Launch(array, {}, out.data(), 3), CUDA_SUCCESS);
  EXPECT_EQ(Contents<int>(out, 1)[0], 1 + 5);
  ASSERT_EQ(Launch(array, {}, out.data(), 4), CUDA_SUCCESS);
  ExpectBroken(CUDA_ERROR_ILLEGAL_INSTRUCTION);
}

TEST_F(FakeCudaFaultTest, ThreadsThatWaitAtDifferentBarriersAreAFault) {
  ASSERT_EQ(Launch(Compiled(kOthers, "apart"), {1, 64}), CUDA_SUCCESS);
  ExpectBroken(CUDA_ERROR_LAUNCH_FAILED);
}

// A thread reads before its neighbour, of its warp or the next, has written.
TEST_F(FakeCudaFaultTest, AMissingBarrierShows) {
  const CUfunction kernel = Compiled(
      "extern \"C\" __global__ void pass(int* out, int distance, int barrier) {\n"
      "  __shared__ int values[64];\n"
      "  values[threadIdx.x] = 100 * blockIdx.x + threadIdx.x;\n"
      "  if (barrier) __syncthreads();\n"
      "  out[64 * blockIdx.x + threadIdx.x] = values[(threadIdx.x + distance) % 64];\n"
      "  if (barrier) __syncthreads();\n}",
      "pass");
  Memory out(4 * 128);
  for (const int distance : {1, 32, 63}) {
    std::vector<int> expected;
    for (int i = 0; i < 128; ++i) expected.push_back(i / 64 * 100 + (i % 64 + distance) % 64);
    for (const int barrier : {0, 1}) {
      ASSERT_EQ(Launch(kernel, {2, 64}, out.data(), distance, barrier), CUDA_SUCCESS);
      const std::vector<int> got = Contents<int>(out, 128);
      for (const int block : {0, 1}) {
        const bool right = std::equal(got.begin() + 64 * block, got.begin() + 64 * (block + 1),
                                      expected.begin() + 64 * block);
        EXPECT_EQ(right, barrier == 1) << "distance " << distance << ", block " << block;
      }
    }
  }
}

TEST_F(FakeCudaFaultTest, AStackThatOverflowsIsAFault) {
  Memory x(4);
  ASSERT_EQ(Launch(Compiled(kOthers, "recurse"), {}, x.data()), CUDA_SUCCESS);
  ExpectBroken(CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(FakeCudaFaultTest, CopiesMustStayInAllocations) {
  Memory memory(100);
  char bytes[101] = {};
  EXPECT_EQ(Cuda().cuMemcpyHtoD(AddressOf(memory), bytes, 100), CUDA_SUCCESS);
  EXPECT_EQ(Cuda().cuMemcpyHtoD(AddressOf(memory), bytes, 101), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Cuda().cuMemcpyDtoH(bytes, AddressOf(memory) + 1, 100), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Cuda().cuMemsetD8(AddressOf(memory) - 1, 0, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Cuda().cuStreamSynchronize(nullptr), CUDA_SUCCESS) << "refused, not broken";
}

TEST_F(FakeCudaFaultTest, MemoryEnds) {
  CUdeviceptr most = 0, more = 0;
  EXPECT_EQ(Cuda().cuMemAlloc(&more, (size_t{1} << 30) + 1), CUDA_ERROR_OUT_OF_MEMORY);
  Check(Cuda().cuMemAlloc(&most, 16 << 20), "memory");
  EXPECT_EQ(Cuda().cuMemAlloc(&more, (size_t{1} << 30) - (15 << 20)), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(Cuda().cuCtxSynchronize(), CUDA_SUCCESS) << "want of memory breaks nothing";
  Check(Cuda().cuMemFree(most), "memory");
  EXPECT_EQ(Cuda().cuMemFree(most), CUDA_ERROR_INVALID_VALUE) << "freed twice";
}

TEST_F(FakeCudaFaultTest, FreshMemoryIsNotZero) {
  Memory memory(1000);
  const std::vector<float> values = Contents<float>(memory, 250);
  for (const float value : values) EXPECT_NE(value, value);
}

TEST_F(FakeCudaFaultTest, TheHostCannotReachTheDevicesMemory) {
  Memory memory(64);
  volatile char* const byte = memory.data();
  EXPECT_DEATH(*byte = 1, "");
}

}  // namespace
}  // namespace hiera
