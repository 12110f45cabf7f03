// The CUDA device on a fictional driver: what it launches, where, and what it leaves alone.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/interpreter/interpreter.h"
#include "runtime/device/cuda/interpreter/program.h"
#include "runtime/task/parse.h"
#include "tests/temporary_folder.h"
#include "tests/unit/device/fictional_driver.h"

namespace hiera {
namespace {

// The interpreter's kernels as the fictional driver knows code.
std::string InterpreterText() {
  std::string text;
  const std::string launch =
      " threads 1024 shared 0 params 0:" + std::to_string(sizeof(cuda::Launch)) + "\n";
  for (const char* name : {"f32", "f64", "far_f32", "far_f64"}) {
    text += std::string("kernel hiera_interpret_") + name + launch;
  }
  for (const char* name : {"f32", "f64", "i64"}) {
    text += std::string("kernel hiera_scan_") + name + " threads 1024 shared 0 params 0:40\n";
  }
  return text;
}

class CudaDeviceTest : public testing::Test {
 protected:
  CudaDeviceTest()
      : driver_({{}, {.name = "Fiction 2", .major = 8, .shared_bytes = 99 << 10}}),
        task_(*ParseTask("tensor x: f32[64]\ntensor y: f32[64]\nscalar a\ny[i] = a*x[i]")) {
    path_ = folder_.path() + "/code.cubin";
    WriteCode(
        "kernel scale threads 1024 shared 1024 params 0:8 8:8 16:4 24:8\n"
        "kernel small threads 64 shared 0 params");
  }

  void WriteCode(const std::string& code) { std::ofstream(path_, std::ios::binary) << code; }
  std::unique_ptr<Device> MakeDevice(std::string_view which = "cuda:0") {
    Result<std::unique_ptr<Device>> device = cuda::MakeDevice(driver_.table(), which);
    EXPECT_TRUE(device.ok()) << device.status().message();
    return *std::move(device);
  }
  Result<std::unique_ptr<Executable>> Load(Device& device, const std::string& text,
                                           int64_t workspace = 0) {
    return device.Load(task_, {text, workspace, 0}, path_);
  }
  hiera_status Run(const Executable& executable, CUstream stream = nullptr) {
    void* pointers[] = {reinterpret_cast<void*>(x_), reinterpret_cast<void*>(y_)};
    const double scalars[] = {1.5};
    return executable.Run({pointers, scalars, stream});
  }

  FictionalDriver driver_;
  TemporaryFolder folder_;
  std::string path_;
  const Task task_;
  uintptr_t x_ = 0x10000, y_ = 0x20000;
  const std::string plan_ =
      "cuda align 16\nlaunch scale grid 4 1 1 block 64 1 1 args t0+16 t1 s0:f32 i64=-3";
  const CUstream stream_ = reinterpret_cast<CUstream>(0x40);
};

TEST_F(CudaDeviceTest, ADeviceIsChosenByNumberUuidOrCurrentContext) {
  EXPECT_EQ(MakeDevice("cuda")->name(), "cuda:0");
  EXPECT_EQ(MakeDevice("cuda:1")->name(), "cuda:1");
  const std::string uuid = "GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadae01";
  EXPECT_EQ(MakeDevice("cuda:" + uuid)->name(), "cuda:1");
  EXPECT_EQ(MakeDevice("cuda:1")->uuid(), uuid);
  driver_.Use(driver_.NewContext(1));
  EXPECT_EQ(MakeDevice("cuda")->name(), "cuda:1");
  EXPECT_EQ(MakeDevice("cuda:1")->parallelism(), 4);
  for (const char* absent : {"cuda:2", "cuda:GPU-00000000-0000-0000-0000-000000000000"}) {
    EXPECT_EQ(cuda::MakeDevice(driver_.table(), absent).status().code(), Code::kUnsupported);
  }
  for (const char* wrong : {"cuda:", "cuda:x", "cuda:0x", "cuda:-1"}) {
    EXPECT_EQ(cuda::MakeDevice(driver_.table(), wrong).status().code(), Code::kInvalidArgument)
        << wrong;
  }
  FictionalDriver none({});
  EXPECT_EQ(cuda::MakeDevice(none.table(), "cuda").status().code(), Code::kUnsupported);
}

TEST_F(CudaDeviceTest, EqualDevicesShareAFingerprint) {
  FictionalDriver twins({{}, {}, {.multiprocessors = 8}});
  const auto text = [&](const char* which) {
    return (*cuda::MakeDevice(twins.table(), which))->fingerprint().Text();
  };
  EXPECT_EQ(text("cuda:0"), text("cuda:1"));
  EXPECT_NE(text("cuda:0"), text("cuda:2"));
  EXPECT_EQ(text("cuda:0").find("device=cuda\nname=Fiction 1\ncompute_capability=9.0\n"), 0u);
  EXPECT_NE(text("cuda:0").find("multiprocessors=4\nmemory_mib=16384\n"), std::string::npos);
  EXPECT_EQ(text("cuda:0").find("GPU-"), std::string::npos);
}

TEST_F(CudaDeviceTest, ALaunchHasItsArgumentsInPlace) {
  driver_.Use(driver_.NewContext(0));
  const auto device = MakeDevice();
  const auto made = Load(*device, plan_);
  ASSERT_TRUE(made.ok()) << made.status().message();
  ASSERT_EQ(Run(**made, stream_), HIERA_OK);
  ASSERT_EQ(driver_.launched.size(), 1u);
  const FictionalDriver::Launched& launch = driver_.launched[0];
  EXPECT_EQ(launch.kernel, "scale");
  EXPECT_EQ(launch.stream, stream_);
  EXPECT_EQ(launch.context, driver_.current());
  EXPECT_TRUE(launch.was_loaded);
  EXPECT_EQ(launch.config.gridDimX, 4u);
  EXPECT_EQ(launch.config.blockDimX, 64u);
  struct Block {
    uint64_t x, y;
    float a;
    int64_t n;
  };
  ASSERT_EQ(launch.block.size(), sizeof(Block));
  Block block;
  std::memcpy(&block, launch.block.data(), sizeof(block));
  EXPECT_EQ(block.x, x_ + 16);
  EXPECT_EQ(block.y, y_);
  EXPECT_EQ(block.a, 1.5f);
  EXPECT_EQ(block.n, -3);
}

TEST_F(CudaDeviceTest, ALaunchGoesToTheCallersContext) {
  const CUcontext first = driver_.NewContext(0), second = driver_.NewContext(0);
  driver_.Use(first);
  const auto device = MakeDevice();
  const auto made = Load(*device, plan_);
  ASSERT_TRUE(made.ok());
  for (const CUcontext context : {second, first, second, driver_.primary_of(0)}) {
    driver_.Use(context);
    ASSERT_EQ(Run(**made), HIERA_OK);
    EXPECT_EQ(driver_.launched.back().context, context);
    EXPECT_TRUE(driver_.launched.back().was_loaded);
  }
  EXPECT_EQ(driver_.Count("FuncLoad"), 3);  // once a context
  // Without a context: the primary one, for the length of the call.
  driver_.Use(nullptr);
  ASSERT_EQ(Run(**made), HIERA_OK);
  EXPECT_EQ(driver_.launched.back().context, driver_.primary_of(0));
  EXPECT_EQ(driver_.current(), nullptr);
  // In another device's context nothing is launched.
  driver_.Use(driver_.NewContext(1));
  const size_t before = driver_.launched.size();
  EXPECT_EQ(Run(**made), HIERA_UNAVAILABLE);
  EXPECT_EQ(driver_.launched.size(), before);
}

TEST_F(CudaDeviceTest, AlignmentIsCheckedAtEachLaunch) {
  driver_.Use(driver_.NewContext(0));
  const auto device = MakeDevice();
  const auto made = Load(*device, plan_);
  ASSERT_TRUE(made.ok());
  for (const uintptr_t offset : {4, 8}) {
    y_ = 0x20000 + offset;
    EXPECT_EQ(Run(**made), HIERA_UNAVAILABLE);
  }
  EXPECT_TRUE(driver_.launched.empty());
  const auto interpreter = [&] {
    const auto kernels = [&] {
      auto state = std::make_shared<cuda::DeviceState>(
          driver_.table(), *cuda::ChooseDevice(driver_.table(), "cuda:0"));
      return std::pair(state, *cuda::InterpreterKernels::Load(*state, InterpreterText()));
    }();
    return *cuda::MakeInterpreter(kernels.first, kernels.second, task_);
  }();
  EXPECT_EQ(Run(*interpreter), HIERA_OK);  // aligned to its elements
  y_ = 0x20002;
  EXPECT_EQ(Run(*interpreter), HIERA_INVALID_ARGUMENT);
  EXPECT_EQ(driver_.launched.size(), 1u);
}

TEST_F(CudaDeviceTest, APlanThatDoesNotFitIsRefusedWithAReason) {
  driver_.Use(driver_.NewContext(0));
  const auto device = MakeDevice();
  const auto reason = [&](Device& on, const std::string& launch, Code code) {
    const auto made = Load(on, "cuda align 4\nlaunch " + launch);
    EXPECT_FALSE(made.ok()) << launch;
    EXPECT_EQ(made.status().code(), code) << launch << ": " << made.status().message();
    return made.status().message();
  };
  const std::string good = " args t0 t1 s0:f32 i64=1";
  EXPECT_NE(reason(*device, "scale grid 1 1 1 block 1 1 1 args t0 t1 s0:f64 i64=1",
                   Code::kInvalidArgument)
                .find("argument 2"),
            std::string::npos);
  reason(*device, "scale grid 1 1 1 block 1 1 1 args t0 t1 s0:f32", Code::kInvalidArgument);
  reason(*device, "scale grid 1 1 1 block 1 1 1" + good + " t0", Code::kInvalidArgument);
  reason(*device, "small grid 1 1 1 block 128 1 1 args", Code::kUnsupported);
  reason(*device, "absent grid 1 1 1 block 1 1 1 args", Code::kDeviceError);
  // 227 KiB less what the kernel has of its own.
  reason(*device, "scale grid 1 1 1 block 1 1 1 shared 231425" + good, Code::kUnsupported);
  EXPECT_TRUE(
      Load(*device, "cuda align 4\nlaunch scale grid 1 1 1 block 1 1 1 shared 231424" + good).ok());
  const auto older = MakeDevice("cuda:1");
  EXPECT_NE(reason(*older, "scale grid 2 1 1 block 1 1 1 cluster 2 1 1" + good, Code::kUnsupported)
                .find("9.0"),
            std::string::npos);
  WriteCode("no code at all");
  EXPECT_NE(reason(*device, "scale grid 1 1 1 block 1 1 1" + good, Code::kDeviceError)
                .find("CUDA_ERROR_INVALID_IMAGE"),
            std::string::npos);
  path_ += ".gone";
  reason(*device, "scale grid 1 1 1 block 1 1 1" + good, Code::kUnavailable);
}

TEST_F(CudaDeviceTest, SharedMemoryAndClustersAreAskedFor) {
  driver_.Use(driver_.NewContext(0));
  const auto device = MakeDevice();
  const auto made =
      Load(*device,
           "cuda align 4\nlaunch scale grid 16 1 1 block 64 1 1 cluster 16 1 1 shared "
           "100000 cooperative args t0 t1 s0:f32 i64=1");
  ASSERT_TRUE(made.ok()) << made.status().message();
  ASSERT_EQ(Run(**made), HIERA_OK);
  const FictionalDriver::Launched& launch = driver_.launched[0];
  EXPECT_EQ(launch.config.sharedMemBytes, 100000u);
  ASSERT_EQ(launch.attributes.size(), 2u);
  EXPECT_EQ(launch.attributes[0].value.clusterDim.x, 16u);
  EXPECT_EQ(launch.attributes[1].id, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  const auto& asked = driver_.kernel("scale").attributes;
  EXPECT_EQ(asked.at(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 100000);
  EXPECT_EQ(asked.at(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED), 1);
}

TEST_F(CudaDeviceTest, AWorkspaceIsTheStreamsOwn) {
  driver_.Use(driver_.NewContext(0));
  const auto device = MakeDevice();
  WriteCode("kernel k threads 1024 shared 0 params 0:8 8:8");
  const auto made = Load(
      *device, "cuda align 4\nfill w+256 64\nlaunch k grid 1 1 1 block 1 1 1 args w+256 t1", 512);
  ASSERT_TRUE(made.ok()) << made.status().message();
  ASSERT_EQ(Run(**made, stream_), HIERA_OK);
  EXPECT_EQ(driver_.log,
            (std::vector<std::string>{"allocate 512", "fill 64 with 0", "launch k", "free"}));
  uint64_t address = 0;
  std::memcpy(&address, driver_.launched[0].block.data(), sizeof(address));
  EXPECT_EQ(address, 0x7000000000u + 256);
  driver_.Fail("MemAllocFromPoolAsync", CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(Run(**made, stream_), HIERA_UNAVAILABLE);
  EXPECT_EQ(driver_.launched.size(), 1u);
}

TEST_F(CudaDeviceTest, CodeStaysWhenAllThatUsedItIsGone) {
  driver_.Use(driver_.NewContext(0));
  {
    const auto device = MakeDevice();
    ASSERT_TRUE(Load(*device, plan_).ok());
    const auto again = Load(*device, plan_);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(driver_.Count("LibraryLoadData"), 1);
    EXPECT_EQ(Run(**again), HIERA_OK);
  }
  EXPECT_EQ(driver_.Count("LibraryUnload"), 0);
}

TEST_F(CudaDeviceTest, AFaultOfOthersIsNotTheVariants) {
  driver_.Use(driver_.NewContext(0));
  const auto device = MakeDevice();
  const auto made = Load(*device, plan_);
  ASSERT_TRUE(made.ok());
  driver_.Fail("LaunchKernelEx", CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(Run(**made), HIERA_UNAVAILABLE);
  driver_.Fail("LaunchKernelEx", CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Run(**made), HIERA_DEVICE_ERROR);
}

TEST_F(CudaDeviceTest, NothingEndsACapture) {
  const CUcontext context = driver_.NewContext(0), other = driver_.NewContext(0);
  driver_.Use(context);
  driver_.Capture(stream_);
  const auto device = MakeDevice();
  EXPECT_TRUE(device->IsCapturing(stream_));
  EXPECT_FALSE(device->IsCapturing(nullptr));
  const auto made = Load(*device, plan_);  // on another thread's stream, say
  ASSERT_TRUE(made.ok()) << made.status().message();
  const auto with_workspace = Load(*device, plan_, 4096);
  ASSERT_TRUE(with_workspace.ok());
  EXPECT_EQ(Run(**made, stream_), HIERA_OK);
  EXPECT_EQ(Run(**with_workspace, stream_), HIERA_UNAVAILABLE);
  EXPECT_EQ(Run(**with_workspace, nullptr), HIERA_OK);  // not captured
  driver_.Use(other);
  EXPECT_EQ(Run(**made, stream_), HIERA_UNAVAILABLE);  // it would have to be loaded there
  const auto timer = device->MakeTimer();
  timer->Begin(nullptr);
  timer->End(nullptr);
  EXPECT_EQ(timer->ElapsedNs(), 0.5e6);
  EXPECT_FALSE(driver_.broken());
  ASSERT_TRUE(device->Synchronise(nullptr).ok());  // which would: the recorder is awake
  EXPECT_TRUE(driver_.broken());
}

TEST_F(CudaDeviceTest, TheInterpreterRunsUnderCaptureInAnyContext) {
  driver_.Use(driver_.NewContext(0));
  auto state = std::make_shared<cuda::DeviceState>(driver_.table(),
                                                   *cuda::ChooseDevice(driver_.table(), "cuda:0"));
  const auto kernels = cuda::InterpreterKernels::Load(*state, InterpreterText());
  ASSERT_TRUE(kernels.ok()) << kernels.status().message();
  const Task rows = *ParseTask(
      "tensor x: f32[8,64]\ntensor y: f32[8,64]\n"
      "m[i] = max(j: x[i,j])\ny[i,j] = x[i,j] - m[i]");
  driver_.Capture(stream_);
  const auto made = cuda::MakeInterpreter(state, *kernels, rows);
  ASSERT_TRUE(made.ok()) << made.status().message();
  driver_.Use(driver_.NewContext(0));
  ASSERT_EQ(Run(**made, stream_), HIERA_OK);
  EXPECT_FALSE(driver_.broken());
  ASSERT_EQ(driver_.launched.size(), 2u);
  EXPECT_TRUE(driver_.launched[0].was_loaded);
  EXPECT_EQ(driver_.log.front(), "allocate 256");  // m, rounded up
  EXPECT_EQ(driver_.log.back(), "free");
  driver_.Use(driver_.NewContext(1));
  EXPECT_EQ(Run(**made, stream_), HIERA_INVALID_ARGUMENT);
}

TEST_F(CudaDeviceTest, AnIntervalIsPendingThenKnownOrLost) {
  driver_.Use(driver_.NewContext(0));
  const auto device = MakeDevice();
  const auto timer = device->MakeTimer();
  EXPECT_LT(timer->ElapsedNs(), 0);
  driver_.events_are_ready = false;
  timer->Begin(stream_);
  timer->End(stream_);
  EXPECT_LT(timer->ElapsedNs(), 0);
  driver_.events_are_ready = true;
  EXPECT_EQ(timer->ElapsedNs(), 0.5e6);
  timer->Begin(stream_);
  driver_.Fail("EventRecord", CUDA_ERROR_INVALID_HANDLE);
  timer->End(stream_);
  EXPECT_TRUE(std::isnan(timer->ElapsedNs()));
}

}  // namespace
}  // namespace hiera
