// Streams, captures, graphs and events of the fictional GPU.
#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/fake_cuda/kernels.h"

namespace hiera {
namespace {

using gpu::Check;
using gpu::Compiled;
using gpu::Contents;
using gpu::Cuda;
using gpu::Launch;
using gpu::Memory;

constexpr char kAdd[] =
    "extern \"C\" __global__ void add(int* x, int value) {\n"
    "  if (threadIdx.x == 0) atomicAdd(x, value);\n}\n"
    "extern \"C\" __global__ void spin(int* x, long turns) {\n"
    "  volatile int* const y = x;\n"
    "  for (long t = 0; t < turns; ++t) *y = *y + 1;\n}";

class FakeCudaStreamTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(gpu::WhyNone(), "");
    gpu::UsePrimary();
    x_ = std::make_unique<Memory>(4);
    Check(Cuda().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "stream");
    Check(Cuda().cuMemsetD8(reinterpret_cast<CUdeviceptr>(x_->data()), 0, 4), "fill");
  }
  void TearDown() override { Check(Cuda().cuStreamDestroy(stream_), "stream"); }

  void Add(int value) {
    EXPECT_EQ(Launch(Compiled(kAdd, "add"), {1, 32, 0, stream_}, x_->data(), value), CUDA_SUCCESS);
  }
  int X() { return Contents<int>(*x_, 1)[0]; }
  void Begin(CUstreamCaptureMode mode) {
    Compiled(kAdd, "add");  // loaded before
    Check(Cuda().cuStreamBeginCapture(stream_, mode), "begin");
  }

  std::unique_ptr<Memory> x_;
  CUstream stream_ = nullptr;
};

TEST_F(FakeCudaStreamTest, AGraphReplaysWhatWasCaptured) {
  Add(1);
  Begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  Add(10);
  const cuda::Driver& driver = **cuda::MachineDriver();
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  Check(driver.StreamIsCapturing(stream_, &status), "status");
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  Add(100);
  CUgraph graph = nullptr;
  Check(Cuda().cuStreamEndCapture(stream_, &graph), "end");
  EXPECT_EQ(X(), 1) << "what is captured does not run";
  CUgraphExec executable = nullptr;
  Check(Cuda().cuGraphInstantiate(&executable, graph, 0), "instantiate");
  Check(Cuda().cuGraphDestroy(graph), "destroy");
  for (int turn = 1; turn <= 3; ++turn) {
    Check(Cuda().cuGraphLaunch(executable, stream_), "launch");
    EXPECT_EQ(X(), 1 + 110 * turn);
  }
  Check(Cuda().cuGraphExecDestroy(executable), "destroy");
  EXPECT_EQ(Cuda().cuGraphLaunch(executable, stream_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(FakeCudaStreamTest, WaitingEndsACapture) {
  Begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(Cuda().cuStreamSynchronize(stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph graph = nullptr;
  EXPECT_EQ(Cuda().cuStreamEndCapture(stream_, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(graph, nullptr);
  Add(1);
  EXPECT_EQ(X(), 1) << "the stream is whole";
}

TEST_F(FakeCudaStreamTest, AnotherThreadEndsAGlobalCaptureUnlessItIsRelaxed) {
  for (const auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL}) {
    for (const bool relaxed : {false, true}) {
      Begin(mode);
      CUresult allocated = CUDA_SUCCESS;
      std::thread([&] {
        gpu::UsePrimary();
        CUstreamCaptureMode own =
            relaxed ? CU_STREAM_CAPTURE_MODE_RELAXED : CU_STREAM_CAPTURE_MODE_GLOBAL;
        (*cuda::MachineDriver())->ThreadExchangeStreamCaptureMode(&own);
        CUdeviceptr address = 0;
        allocated = Cuda().cuMemAlloc(&address, 4);
        if (allocated == CUDA_SUCCESS) Check(Cuda().cuMemFree(address), "free");
      }).join();
      CUgraph graph = nullptr;
      const CUresult ended = Cuda().cuStreamEndCapture(stream_, &graph);
      const bool ends = mode == CU_STREAM_CAPTURE_MODE_GLOBAL && !relaxed;
      EXPECT_EQ(allocated, ends ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS);
      EXPECT_EQ(ended, ends ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS);
      if (!ends) Check(Cuda().cuGraphDestroy(graph), "destroy");
    }
  }
}

TEST_F(FakeCudaStreamTest, EventsTimeWhatLiesBetween) {
  const cuda::Driver& driver = **cuda::MachineDriver();
  CUevent begin = nullptr, end = nullptr, untimed = nullptr;
  Check(driver.EventCreate(&begin, CU_EVENT_DEFAULT), "event");
  Check(driver.EventCreate(&end, CU_EVENT_DEFAULT), "event");
  Check(driver.EventCreate(&untimed, CU_EVENT_DISABLE_TIMING), "event");
  float ms = -1;
  EXPECT_EQ(driver.EventElapsedTime(&ms, begin, end), CUDA_ERROR_INVALID_HANDLE) << "not recorded";
  const auto timed = [&](long turns) {
    Check(driver.EventRecord(begin, stream_), "begin");
    EXPECT_EQ(Launch(Compiled(kAdd, "spin"), {1, 1, 0, stream_}, x_->data(), turns), CUDA_SUCCESS);
    Check(driver.EventRecord(end, stream_), "end");
    Check(driver.EventQuery(end), "query");
    Check(driver.EventElapsedTime(&ms, begin, end), "elapsed");
    return ms;
  };
  const float some = timed(1'000'000), many = timed(20'000'000);
  EXPECT_GT(some, 0);
  EXPECT_GT(many, some);
  Check(driver.EventRecord(untimed, stream_), "record");
  EXPECT_EQ(driver.EventElapsedTime(&ms, begin, untimed), CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace
}  // namespace hiera
