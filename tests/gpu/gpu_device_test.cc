// The CUDA device on a real GPU: what it is, launches on streams and in contexts of the caller's,
// alignment, workspaces.
#include <gtest/gtest.h>

#include <thread>

#include "runtime/device/cuda/driver.h"
#include "runtime/task/parse.h"
#include "tests/gpu/gpu.h"

namespace hiera {
namespace {

using gpu::Check;
using gpu::Cuda;

constexpr int kElements = 1 << 16;
constexpr char kScale[] =
    "cuda align 16\nlaunch scale grid 256 1 1 block 256 1 1 args t0 t1 s0:f32 i64=65536";

class GpuDeviceTest : public testing::Test {
 protected:
  GpuDeviceTest()
      : task_(*ParseTask("tensor x: f32[65536]\ntensor y: f32[65536]\nscalar a\ny[i] = a*x[i]")) {}
  void SetUp() override {
    const std::string why = gpu::WhyNone();
    if (!why.empty()) GTEST_SKIP() << why;
    gpu::UsePrimary();
    device_ = *MakeCudaDevice("cuda:0");
    for (int i = 0; i < kElements; ++i) x_.push_back(static_cast<float>(i % 1000) - 500);
  }

  std::unique_ptr<Executable> Load(const std::string& text, int64_t workspace = 0) {
    auto made = device_->Load(task_, {text, workspace, 0}, gpu::SampleCode());
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? *std::move(made) : nullptr;
  }
  // Runs on fresh memory of the current context; whether y is 2.5 * x afterwards.
  testing::AssertionResult Scales(const Executable& executable, CUstream stream) {
    gpu::Memory x(4 * kElements), y(4 * kElements);
    x.Write(x_.data(), 4 * kElements);
    void* pointers[] = {x.data(), y.data()};
    const double scalars[] = {2.5};
    const hiera_status status = executable.Run({pointers, scalars, stream});
    if (status != HIERA_OK) return testing::AssertionFailure() << "status " << status;
    const Status done = device_->Synchronise(stream);
    if (!done.ok()) return testing::AssertionFailure() << done.message();
    std::vector<float> out(kElements);
    y.Read(out.data(), 4 * kElements);
    for (int i = 0; i < kElements; ++i) {
      if (out[i] != 2.5f * x_[i]) {
        return testing::AssertionFailure() << "element " << i << " is " << out[i];
      }
    }
    return testing::AssertionSuccess();
  }

  const Task task_;
  std::unique_ptr<Device> device_;
  std::vector<float> x_;
};

TEST_F(GpuDeviceTest, ADeviceSaysWhatItIs) {
  printf("%s%s\n", device_->fingerprint().Text().c_str(), std::string(device_->uuid()).c_str());
  EXPECT_EQ(device_->fingerprint().fields[0].second, "cuda");
  EXPECT_GT(device_->parallelism(), 0);
  const auto same = MakeCudaDevice("cuda:" + std::string(device_->uuid()));
  ASSERT_TRUE(same.ok()) << same.status().message();
  EXPECT_EQ((*same)->fingerprint(), device_->fingerprint());
}

TEST_F(GpuDeviceTest, LaunchesGoToEveryKindOfStream) {
  const auto scale = Load(kScale);
  CUstream made = nullptr, blocking = nullptr;
  Check(Cuda().cuStreamCreate(&made, CU_STREAM_NON_BLOCKING), "stream");
  Check(Cuda().cuStreamCreate(&blocking, CU_STREAM_DEFAULT), "stream");
  for (const CUstream stream :
       {made, blocking, CUstream{nullptr}, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
    EXPECT_TRUE(Scales(*scale, stream));
  }
}

TEST_F(GpuDeviceTest, LaunchesGoToEveryContextOfTheDevice) {
  const auto scale = Load(kScale);
  const auto interpreter = device_->Interpret(task_);
  ASSERT_TRUE(interpreter.ok()) << interpreter.status().message();
  CUcontext other = nullptr;
  Check(Cuda().cuCtxCreate(&other, nullptr, 0, 0), "second context");
  for (int round = 0; round < 2; ++round) {
    Check(Cuda().cuCtxSetCurrent(other), "current context");
    EXPECT_TRUE(Scales(*scale, nullptr));
    EXPECT_TRUE(Scales(**interpreter, nullptr));
    gpu::UsePrimary();
    EXPECT_TRUE(Scales(*scale, nullptr));
    EXPECT_TRUE(Scales(**interpreter, nullptr));
  }
  Check(Cuda().cuCtxDestroy(other), "second context");
  // A thread without a context uses the primary one, and is left without.
  gpu::Memory x(4 * kElements), y(4 * kElements);
  x.Write(x_.data(), 4 * kElements);
  hiera_status status = HIERA_INTERNAL;
  CUcontext after = reinterpret_cast<CUcontext>(1);
  std::thread([&] {
    void* pointers[] = {x.data(), y.data()};
    const double scalars[] = {2.5};
    status = scale->Run({pointers, scalars, nullptr});
    Cuda().cuCtxGetCurrent(&after);
  }).join();
  EXPECT_EQ(status, HIERA_OK);
  EXPECT_EQ(after, nullptr);
  Check(Cuda().cuCtxSynchronize(), "waiting");
  float last = 0;
  std::vector<float> out(kElements);
  y.Read(out.data(), 4 * kElements);
  last = out.back();
  EXPECT_EQ(last, 2.5f * x_.back());
}

TEST_F(GpuDeviceTest, AMisalignedTensorIsLeftToTheBaseline) {
  const auto scale = Load(kScale);
  gpu::Memory x(4 * kElements + 16), y(4 * kElements + 16);
  const double scalars[] = {2.5};
  for (const int offset : {2, 4, 8}) {
    void* pointers[] = {x.data() + offset, y.data()};
    EXPECT_EQ(scale->Run({pointers, scalars, nullptr}), HIERA_UNAVAILABLE);
  }
  const auto interpreter = device_->Interpret(task_);
  ASSERT_TRUE(interpreter.ok());
  void* by_element[] = {x.data() + 4, y.data() + 8};
  EXPECT_EQ((*interpreter)->Run({by_element, scalars, nullptr}), HIERA_OK);
  void* between[] = {x.data() + 2, y.data()};
  EXPECT_EQ((*interpreter)->Run({between, scalars, nullptr}), HIERA_INVALID_ARGUMENT);
  EXPECT_TRUE(device_->Synchronise(nullptr).ok()) << "the context must be whole";
}

TEST_F(GpuDeviceTest, StepsMeetInAWorkspaceOfTheStream) {
  const auto two_steps = Load(
      "cuda align 4\n"
      "fill w+0 4\n"
      "launch keep grid 256 1 1 block 256 1 1 args t0 w+256 s0:f32 w+0 i64=65536\n"
      "launch hand_on grid 256 1 1 block 256 1 1 args w+256 t1 w+0 i32=256 i64=65536",
      256 + 4 * kElements);
  std::vector<std::thread> threads;
  std::vector<int> good(4, 0);
  CUcontext context = gpu::UsePrimary();
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Check(Cuda().cuCtxSetCurrent(context), "current context");
      CUstream stream = nullptr;
      Check(Cuda().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
      for (int run = 0; run < 50; ++run) good[t] += Scales(*two_steps, stream) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, std::vector<int>(4, 50));
}

TEST_F(GpuDeviceTest, SharedMemoryAndClustersBeyondTheOrdinary) {
  const std::string tail = " shared 90000 args t0 t1 s0:f32 i64=65536";
  EXPECT_TRUE(Scales(*Load("cuda align 4\nlaunch through_shared grid 256 1 1 block 256 1 1" + tail),
                     nullptr));
  if (device_->fingerprint().Text().find("compute_capability=8") != std::string::npos) return;
  EXPECT_TRUE(Scales(
      *Load("cuda align 4\nlaunch through_shared grid 256 1 1 block 256 1 1 cluster 4 1 1" + tail),
      nullptr));
}

TEST_F(GpuDeviceTest, PlansThatAreNotTheKernelsAreRefused) {
  for (const char* text :
       {"cuda align 4\nlaunch scale grid 1 1 1 block 1 1 1 args t0 t1 s0:f64 i64=1",
        "cuda align 4\nlaunch scale grid 1 1 1 block 1 1 1 args t0 t1 s0:f32",
        "cuda align 4\nlaunch scale grid 1 1 1 block 1 1 1 args t0 t1 s0:f32 i64=1 i32=1",
        "cuda align 4\nlaunch absent grid 1 1 1 block 1 1 1 args"}) {
    EXPECT_FALSE(device_->Load(task_, {text, 0, 0}, gpu::SampleCode()).ok()) << text;
  }
  EXPECT_TRUE(Scales(*Load(kScale), nullptr)) << "the context must be whole";
}

TEST_F(GpuDeviceTest, AnIntervalIsTimedOnTheDevice) {
  const auto interpreter =
      device_->Interpret(*ParseTask("tensor x: f32[65536]\ntensor y: f32[65536]\nscalar a\n"
                                    "y[i] = a*x[i]\nsteps 200 (x = y)"));
  ASSERT_TRUE(interpreter.ok()) << interpreter.status().message();
  const auto timer = device_->MakeTimer();
  gpu::Memory x(4 * kElements), y(4 * kElements);
  x.Write(x_.data(), 4 * kElements);
  void* pointers[] = {x.data(), y.data()};
  const double scalars[] = {1.0};
  timer->Begin(nullptr);
  ASSERT_EQ((*interpreter)->Run({pointers, scalars, nullptr}), HIERA_OK);
  timer->End(nullptr);
  ASSERT_TRUE(device_->Synchronise(nullptr).ok());
  // 200 launches take some microseconds each, and no second.
  EXPECT_GT(timer->ElapsedNs(), 200e3);
  EXPECT_LT(timer->ElapsedNs(), 1e9);
}

}  // namespace
}  // namespace hiera
