// Captured graphs on a real GPU: made before, across and after a swap of executables, and replayed
// when what made them is gone.
#include <gtest/gtest.h>

#include <thread>

#include "runtime/task/parse.h"
#include "tests/gpu/gpu.h"

namespace hiera {
namespace {

using gpu::Check;
using gpu::Cuda;

constexpr int kRows = 64, kColumns = 1024, kElements = kRows * kColumns;

int Replays() { return gpu::IsFictional() ? 20 : 1000; }

class GpuCaptureTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why = gpu::WhyNone();
    if (!why.empty()) GTEST_SKIP() << why;
    context_ = gpu::UsePrimary();
    Check(Cuda().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "stream");
    device_ = *MakeCudaDevice("cuda:0");
  }

  template <typename Work>
  CUgraphExec Captured(Work work) {
    CUgraph graph = nullptr;
    CUgraphExec made = nullptr;
    Check(Cuda().cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), "begin capture");
    work();
    Check(Cuda().cuStreamEndCapture(stream_, &graph), "end capture");
    Check(Cuda().cuGraphInstantiate(&made, graph, 0), "instantiate");
    Check(Cuda().cuGraphDestroy(graph), "destroy");
    return made;
  }

  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  std::unique_ptr<Device> device_;
};

// Loads as the client thread does: beside a thread that captures in global mode.
TEST_F(GpuCaptureTest, GraphsLiveBeforeAcrossAndAfterASwap) {
  const Task task =
      *ParseTask("tensor x: f32[65536]\ntensor y: f32[65536]\nscalar a\ny[i] = a*x[i]");
  auto baseline = *device_->Interpret(task);
  std::unique_ptr<Executable> variant;
  gpu::Memory x(4 * kElements), y(4 * kElements), z(4 * kElements);
  const double scalars[] = {2};
  const auto run = [&](const Executable& executable, gpu::Memory& from, gpu::Memory& to) {
    void* pointers[] = {from.data(), to.data()};
    ASSERT_EQ(executable.Run({pointers, scalars, stream_}), HIERA_OK);
  };
  const auto load = [&] {
    Check(Cuda().cuCtxSetCurrent(context_), "current context");
    auto loaded = device_->Load(
        task,
        {"cuda align 16\nlaunch scale grid 256 1 1 block 256 1 1 args t0 t1 s0:f32 i64=65536", 0,
         0},
        gpu::SampleCode());
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    variant = *std::move(loaded);
  };
  std::vector<CUgraphExec> graphs;
  graphs.push_back(Captured([&] { run(*baseline, x, y), run(*baseline, y, z); }));
  graphs.push_back(Captured([&] {
    run(*baseline, x, y);
    std::thread(load).join();
    run(*variant, y, z);
  }));
  graphs.push_back(Captured([&] { run(*variant, x, y), run(*variant, y, z); }));

  const auto replay = [&](const char* when) {
    const int replays = Replays(), period = replays / 10;  // of one input
    std::vector<float> in(kElements), out(kElements);
    for (size_t g = 0; g < graphs.size(); ++g) {
      for (int r = 0; r < replays; ++r) {
        if (r % period == 0) {
          for (int i = 0; i < kElements; ++i) in[i] = static_cast<float>((i * 7 + r) % 1001);
          x.Write(in.data(), 4 * kElements);
          Check(Cuda().cuMemsetD8(reinterpret_cast<CUdeviceptr>(z.data()), 0xff, 4 * kElements),
                "poison");
        }
        Check(Cuda().cuGraphLaunch(graphs[g], stream_), "replay");
        if (r % period != period - 1) continue;
        Check(Cuda().cuStreamSynchronize(stream_), "wait");
        z.Read(out.data(), 4 * kElements);
        for (int i = 0; i < kElements; ++i) {
          ASSERT_EQ(out[i], 4 * in[i]) << when << ", graph " << g << ", replay " << r;
        }
      }
    }
  };
  replay("while the executables live");
  baseline.reset();
  variant.reset();
  device_.reset();
  replay("when they are gone");
}

// A softmax in three statements keeps rows between its stages: each graph has its own.
TEST_F(GpuCaptureTest, GraphsWithMemoryBetweenStagesRunSideBySide) {
  const Task task = *ParseTask(
      "tensor x: f32[64,1024]\ntensor y: f32[64,1024]\n"
      "m[i] = max(j: x[i,j]); e[i,j] = exp(x[i,j] - m[i]); y[i,j] = e[i,j] / sum(k: e[i,k])");
  const auto made = *device_->Interpret(task);
  constexpr int kGraphs = 4;
  std::vector<std::unique_ptr<gpu::Memory>> in, out;
  std::vector<CUgraphExec> graphs;
  std::vector<CUstream> streams(kGraphs);
  std::vector<std::vector<float>> expected;
  for (int g = 0; g < kGraphs; ++g) {
    in.push_back(std::make_unique<gpu::Memory>(4 * kElements));
    out.push_back(std::make_unique<gpu::Memory>(4 * kElements));
    std::vector<float> values(kElements);
    for (int i = 0; i < kElements; ++i) values[i] = static_cast<float>((i * (g + 3)) % 17) / 4;
    in[g]->Write(values.data(), 4 * kElements);
    void* pointers[] = {in[g]->data(), out[g]->data()};
    ASSERT_EQ(made->Run({pointers, nullptr, stream_}), HIERA_OK);
    Check(Cuda().cuStreamSynchronize(stream_), "wait");
    expected.emplace_back(kElements);
    out[g]->Read(expected[g].data(), 4 * kElements);
    graphs.push_back(Captured([&] {
      ASSERT_EQ(made->Run({pointers, nullptr, stream_}), HIERA_OK);
    }));
    Check(Cuda().cuStreamCreate(&streams[g], CU_STREAM_NON_BLOCKING), "stream");
  }
  const int replays = Replays();
  for (int r = 0; r < replays; ++r) {
    for (int g = 0; g < kGraphs; ++g) Check(Cuda().cuGraphLaunch(graphs[g], streams[g]), "replay");
  }
  for (int g = 0; g < kGraphs; ++g) {
    Check(Cuda().cuStreamSynchronize(streams[g]), "wait");
    std::vector<float> got(kElements);
    out[g]->Read(got.data(), 4 * kElements);
    EXPECT_EQ(got, expected[g]) << "graph " << g;
    double row = 0;
    for (int j = 0; j < kColumns; ++j) row += got[j];
    EXPECT_NEAR(row, 1, 1e-4);
  }
}

TEST_F(GpuCaptureTest, AWorkspaceIsNotForGraphs) {
  const Task task =
      *ParseTask("tensor x: f32[65536]\ntensor y: f32[65536]\nscalar a\ny[i] = a*x[i]");
  auto loaded = device_->Load(
      task,
      {"cuda align 4\nfill w+0 4\n"
       "launch keep grid 256 1 1 block 256 1 1 args t0 w+256 s0:f32 w+0 i64=65536\n"
       "launch hand_on grid 256 1 1 block 256 1 1 args w+256 t1 w+0 i32=256 i64=65536",
       256 + 4 * kElements, 0},
      gpu::SampleCode());
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  gpu::Memory x(4 * kElements), y(4 * kElements);
  void* pointers[] = {x.data(), y.data()};
  const double scalars[] = {2};
  Captured([&] {
    EXPECT_TRUE(device_->IsCapturing(stream_));
    EXPECT_EQ((*loaded)->Run({pointers, scalars, stream_}), HIERA_UNAVAILABLE);
  });
  EXPECT_FALSE(device_->IsCapturing(stream_));
  EXPECT_EQ((*loaded)->Run({pointers, scalars, stream_}), HIERA_OK);
  Check(Cuda().cuStreamSynchronize(stream_), "wait");
}

}  // namespace
}  // namespace hiera
