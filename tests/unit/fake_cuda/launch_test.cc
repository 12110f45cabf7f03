// The fictional GPU runs kernels as a real one would.
#include <gtest/gtest.h>

#include <numeric>

#include "runtime/device/cuda/facts.h"
#include "tests/unit/fake_cuda/kernels.h"

namespace hiera {
namespace {

using gpu::Check;
using gpu::Compiled;
using gpu::Contents;
using gpu::Cuda;
using gpu::Launch;
using gpu::Memory;

class FakeCudaLaunchTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(gpu::WhyNone(), "");
    gpu::UsePrimary();
  }
};

TEST_F(FakeCudaLaunchTest, TheCardIsWhatTheTestsSay) {
  const auto facts = cuda::ChooseDevice(**cuda::MachineDriver(), "cuda");
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  EXPECT_EQ(facts->name, "HIERA fictional GPU");
  EXPECT_EQ(facts->uuid, "GPU-48494552-4120-6669-6374-696f6e000000");
  EXPECT_EQ(facts->major * 10 + facts->minor, 90);
  EXPECT_EQ(facts->multiprocessors, 4);
  EXPECT_EQ(facts->memory_bytes, 1 << 30);
}

TEST_F(FakeCudaLaunchTest, ParametersLieWhereTheKernelsTypesPutThem) {
  const CUfunction kernel = Compiled(
      "extern \"C\" __global__ void __launch_bounds__(64) many(char c, double d, short s, "
      "const float* p, int i, double* out) {\n"
      "  out[0] = c; out[1] = d; out[2] = s; out[3] = p[1]; out[4] = i;\n}",
      "many");
  const cuda::Driver& driver = **cuda::MachineDriver();
  const auto handle = reinterpret_cast<CUkernel>(kernel);
  std::vector<size_t> places;
  size_t offset = 0, bytes = 0;
  while (driver.KernelGetParamInfo(handle, places.size() / 2, &offset, &bytes) == CUDA_SUCCESS) {
    places.insert(places.end(), {offset, bytes});
  }
  EXPECT_EQ(places, (std::vector<size_t>{0, 1, 8, 8, 16, 2, 24, 8, 32, 4, 40, 8}));
  int threads = 0;
  driver.KernelGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, handle, 0);
  EXPECT_EQ(threads, 64);
  Memory p(8), out(40);
  const float values[] = {1, 2.5f};
  p.Write(values, 8);
  ASSERT_EQ(Launch(kernel, {}, 'A', 0.125, short{-3}, p.data(), 1 << 30, out.data()), CUDA_SUCCESS);
  EXPECT_EQ(Contents<double>(out, 5), (std::vector<double>{65, 0.125, -3, 2.5, 1 << 30}));
  EXPECT_EQ(Launch(kernel, {1, 96}, 'A', 0.125, short{-3}, p.data(), 1, out.data()),
            CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_EQ(Launch(kernel, {1, 32, 64 << 10}, 'A', 0.125, short{-3}, p.data(), 1, out.data()),
            CUDA_ERROR_INVALID_VALUE)
      << "more shared memory than the kernel was allowed";
}

TEST_F(FakeCudaLaunchTest, EveryThreadOfEveryBlockRunsOnce) {
  const CUfunction kernel = Compiled(
      "extern \"C\" __global__ void number(int* out) {\n"
      "  const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;\n"
      "  const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;\n"
      "  atomicAdd(out + block * 30 + thread, block * 30 + thread + 1);\n}",
      "number");
  Memory out(4 * 24 * 30);
  Check(Cuda().cuMemsetD8(reinterpret_cast<CUdeviceptr>(out.data()), 0, 4 * 24 * 30), "fill");
  void* at = out.data();
  void* each[] = {&at};
  Check(Cuda().cuLaunchKernel(kernel, 2, 3, 4, 5, 3, 2, 0, nullptr, each, nullptr), "launch");
  std::vector<int> expected(24 * 30);
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(Contents<int>(out, 24 * 30), expected);
}

// Each value goes through a shuffle, a barrier and memory of the block; one block in two has
// threads that leave early.
TEST_F(FakeCudaLaunchTest, BarriersAndShufflesMeanWhatTheyMeanOnAGpu) {
  const CUfunction kernel = Compiled(
      "extern \"C\" __global__ void total(const int* in, int* out, int count) {\n"
      "  extern __shared__ int dynamic[];\n"
      "  __shared__ int parts[32];\n"
      "  if (blockIdx.x % 2 == 1 && threadIdx.x >= 64) return;\n"
      "  int x = 0;\n"
      "  for (int i = threadIdx.x; i < count; i += blockDim.x) x += in[blockIdx.x * count + i];\n"
      "  for (int m = 16; m > 0; m /= 2) x += __shfl_xor_sync(0xffffffffu, x, m);\n"
      "  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;\n"
      "  __syncthreads();\n"
      "  dynamic[threadIdx.x] = parts[threadIdx.x / 32];\n"
      "  __syncthreads();\n"
      "  if (threadIdx.x != 0) return;\n"
      "  int sum = 0;\n"
      "  const int warps = blockIdx.x % 2 == 1 ? 2 : blockDim.x / 32;\n"
      "  for (int w = 0; w < warps; ++w) sum += dynamic[32 * w + 31];\n"
      "  out[blockIdx.x] = sum;\n}",
      "total");
  constexpr int kBlocks = 50, kCount = 100;
  std::vector<int> in(kBlocks * kCount), expected;
  std::iota(in.begin(), in.end(), 0);
  for (int b = 0; b < kBlocks; ++b) {
    int sum = 0;
    for (int i = 0; i < kCount; ++i) sum += b % 2 == 1 && i % 128 >= 64 ? 0 : in[b * kCount + i];
    expected.push_back(sum);
  }
  Memory from(4 * in.size()), to(4 * kBlocks);
  from.Write(in.data(), 4 * in.size());
  ASSERT_EQ(Launch(kernel, {kBlocks, 128, 4 * 128}, from.data(), to.data(), kCount), CUDA_SUCCESS);
  EXPECT_EQ(Contents<int>(to, kBlocks), expected);
}

TEST_F(FakeCudaLaunchTest, ALaneGetsWhatTheOtherPassedInThatExchange) {
  const CUfunction kernel = Compiled(
      "extern \"C\" __global__ void exchange(int* out) {\n"
      "  const int lane = threadIdx.x;\n"
      "  int x = 100 + lane;\n"
      "  x = __shfl_up_sync(0xffffffffu, x, 1);\n"        // lane 0 keeps its own
      "  x = __shfl_down_sync(0xffffffffu, x + 1, 2);\n"  // the last two keep theirs
      "  x = __shfl_sync(0xffffffffu, x, lane + 1, 8);\n"
      "  const unsigned odd = __ballot_sync(0xffffffffu, lane % 2);\n"
      "  if (lane < 16) out[lane] = x;\n"
      "  if (lane == 16) out[16] = odd;\n}",
      "exchange");
  Memory out(4 * 17);
  ASSERT_EQ(Launch(kernel, {}, out.data()), CUDA_SUCCESS);
  std::vector<int> expected;
  for (int lane = 0; lane < 16; ++lane) {
    const int from = lane / 8 * 8 + (lane + 1) % 8;  // of the last exchange
    expected.push_back(100 + (from + 2 - 1) + 1);
  }
  expected.push_back(static_cast<int>(0xaaaaaaaau));
  EXPECT_EQ(Contents<int>(out, 17), expected);
}

TEST_F(FakeCudaLaunchTest, CompilationTellsWhatIsWrong) {
  const auto compiler = DeviceCompiler::Open();
  ASSERT_TRUE(compiler.ok()) << compiler.status().message();
  const auto broken = (*compiler)->Compile(
      "\nextern \"C\" __global__ void f(int* x) {\n  x[0] = nothing;\n}", "sm_90a", {});
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(broken.status().message().find("NVRTC_ERROR_COMPILATION: "), std::string::npos);
  EXPECT_NE(broken.status().message().find("candidate.cu:3:"), std::string::npos)
      << broken.status().message();
  EXPECT_NE(broken.status().message().find("nothing"), std::string::npos);
  const auto header = (*compiler)->Compile("#include <cstdint>\n", "sm_90a", {});
  EXPECT_FALSE(header.ok()) << "NVRTC has no headers";
  const auto processor = (*compiler)->Compile("", "x86-64", {});
  EXPECT_FALSE(processor.ok()) << "no GPU's architecture";
}

TEST_F(FakeCudaLaunchTest, CodeThatIsNotForThisGpuIsRefused) {
  CUlibrary library = nullptr;
  const auto load = [&](const char* code) {
    return Cuda().cuLibraryLoadData(&library, code, nullptr, nullptr, 0, nullptr, nullptr, 0);
  };
  const std::string text(64, 'x');
  EXPECT_EQ(load(text.c_str()), CUDA_ERROR_INVALID_IMAGE);
  std::string cubin = std::string(
                          "\x7f"
                          "ELF\2\1\1") +
                      std::string(57, '\0');
  cubin[18] = static_cast<char>(190);  // EM_CUDA
  EXPECT_EQ(load(cubin.c_str()), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

}  // namespace
}  // namespace hiera
