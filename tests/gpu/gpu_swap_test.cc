// The whole product on a GPU: an operator is answered at once, planned in the background by the
// processes that a program starts, swapped, and there from the first call on in the next engine.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "hiera/hiera.h"
#include "tests/gpu/gpu.h"
#include "tests/temporary_folder.h"

namespace hiera {
namespace {

using gpu::Check;
using gpu::Cuda;

constexpr uint64_t kMostNs = 100'000'000'000;

class GpuSwapTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why = gpu::WhyNone();
    if (!why.empty()) GTEST_SKIP() << why;
    gpu::UsePrimary();
    Check(Cuda().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "stream");
  }

  hiera_engine* Engine() {
    hiera_config config = HIERA_CONFIG_INIT;
    config.device = "cuda";
    config.store_dir = store_.c_str();
    config.plan_seconds = 40;
    hiera_engine* engine = nullptr;
    EXPECT_EQ(hiera_engine_create(&config, &engine), HIERA_OK) << hiera_last_error();
    return engine;
  }

  static hiera_op* Create(hiera_engine* engine, const std::string& text) {
    hiera_formula formula = HIERA_FORMULA_INIT;
    formula.text = text.c_str();
    hiera_op* op = nullptr;
    EXPECT_EQ(hiera_op_create(engine, &formula, &op), HIERA_OK) << hiera_last_error();
    return op;
  }

  static std::string Explain(hiera_op* op) {
    std::string text(1 << 16, '\0');
    size_t length = 0;
    hiera_op_explain(op, text.data(), text.size(), &length);
    text.resize(std::min(length, text.size() - 1));
    return text;
  }

  static hiera_op_info Info(const hiera_op* op) {
    hiera_op_info info = HIERA_OP_INFO_INIT;
    EXPECT_EQ(hiera_op_get_info(op, &info), HIERA_OK);
    return info;
  }

  // Runs the operator on tensors of `count` elements each, which begin `shift` elements into their
  // allocations, and compares it with the reference.
  void ExpectRight(hiera_op* op, size_t count, size_t shift = 0) {
    std::vector<float> in(count), out(count, -5), expected(count, -5);
    for (size_t i = 0; i < count; ++i) in[i] = std::sin(static_cast<float>(i) * 0.37f);
    void* const host[] = {in.data(), expected.data()};
    ASSERT_EQ(hiera_op_reference(op, host, nullptr), HIERA_OK) << hiera_last_error();
    in.insert(in.begin(), shift, 0);
    out.insert(out.begin(), shift, 0);
    gpu::Memory from(4 * in.size()), to(4 * in.size());
    from.Write(in.data(), 4 * in.size());
    to.Write(out.data(), 4 * in.size());
    void* const pointers[] = {from.data() + 4 * shift, to.data() + 4 * shift};
    ASSERT_EQ(hiera_op_run(op, pointers, nullptr, stream_), HIERA_OK) << hiera_last_error();
    Check(Cuda().cuStreamSynchronize(stream_), "wait");
    to.Read(out.data(), 4 * in.size());
    for (size_t i = 0; i < count; ++i) {
      ASSERT_NEAR(out[i + shift], expected[i], 1e-5 * (1 + std::fabs(expected[i]))) << i;
    }
  }

  const TemporaryFolder folder_;
  const std::string store_ = folder_.path() + "/store";
  CUstream stream_ = nullptr;
};

void ExpectSwap(hiera_op* op, const std::string& why) {
  hiera_op_info info = HIERA_OP_INFO_INIT;
  ASSERT_EQ(hiera_op_get_info(op, &info), HIERA_OK);
  EXPECT_GE(info.generation, 1u) << why;
  EXPECT_NE(info.space, static_cast<uint32_t>(HIERA_SPACE_BASELINE)) << why;
}

TEST_F(GpuSwapTest, ASoftmaxIsSwappedAndThenThereFromTheStart) {
  const std::string rows = gpu::IsFictional() ? "3" : "4096";
  const std::string shape = "f32[" + rows + ",512]";
  const size_t count = std::stoul(rows) * 512;
  const std::string text = "tensor x: " + shape + "; tensor y: " + shape +
                           "\nm[i] = max(j: x[i,j]); e[i,j] = exp(x[i,j] - m[i])\n"
                           "y[i,j] = e[i,j] / sum(k: e[i,k])";
  hiera_engine* engine = Engine();
  hiera_op* op = Create(engine, text);
  EXPECT_EQ(Info(op).generation, 0u);
  ExpectRight(op, count);
  ASSERT_EQ(hiera_op_settle(op, kMostNs), HIERA_OK) << hiera_last_error() << Explain(op);
  ExpectSwap(op, Explain(op));
  EXPECT_EQ(Info(op).space, static_cast<uint32_t>(HIERA_SPACE_KERNEL)) << Explain(op);
  ExpectRight(op, count);
  // Pointers that are less aligned than every allocation of the device are the baseline's.
  hiera_stats stats = HIERA_STATS_INIT;
  ASSERT_EQ(hiera_engine_stats(engine, &stats), HIERA_OK);
  EXPECT_EQ(stats.unfit_runs, 0u);
  ExpectRight(op, count, 1);
  ASSERT_EQ(hiera_engine_stats(engine, &stats), HIERA_OK);
  EXPECT_EQ(stats.unfit_runs, 1u);
  hiera_op_destroy(op);
  hiera_engine_destroy(engine);

  engine = Engine();
  op = Create(engine, text);
  EXPECT_EQ(Info(op).generation, 1u) << Explain(op);
  ExpectRight(op, count);
  hiera_op_destroy(op);
  hiera_engine_destroy(engine);
}

TEST_F(GpuSwapTest, AGraphCapturedBeforeASwapAndOneCapturedAfterItReplay) {
  const std::string side = gpu::IsFictional() ? "24" : "2000";
  const std::string shape = "f32[" + side + "," + side + "]";
  const size_t count = std::stoul(side) * std::stoul(side);
  hiera_engine* engine = Engine();
  hiera_op* op = Create(engine, "tensor u: " + shape + " outside clamp; tensor v: " + shape +
                                    "\nv[i,j] = 0.5*u[i,j] + 0.125*(u[i-1,j] + u[i+1,j] + "
                                    "u[i,j-1] + u[i,j+1])");
  std::vector<float> u(count), v(count), expected(count);
  for (size_t i = 0; i < count; ++i) u[i] = static_cast<float>(i % 101);
  void* const host[] = {u.data(), expected.data()};
  ASSERT_EQ(hiera_op_reference(op, host, nullptr), HIERA_OK);
  gpu::Memory from(4 * count), to(4 * count);
  from.Write(u.data(), 4 * count);
  void* const pointers[] = {from.data(), to.data()};
  std::vector<CUgraphExec> graphs;
  for (const bool swapped : {false, true}) {
    if (swapped) {
      ASSERT_EQ(hiera_op_settle(op, kMostNs), HIERA_OK) << hiera_last_error();
      ExpectSwap(op, Explain(op));
    }
    CUgraph graph = nullptr;
    Check(Cuda().cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), "begin capture");
    ASSERT_EQ(hiera_op_run(op, pointers, nullptr, stream_), HIERA_OK);
    Check(Cuda().cuStreamEndCapture(stream_, &graph), "end capture");
    graphs.emplace_back();
    Check(Cuda().cuGraphInstantiate(&graphs.back(), graph, 0), "instantiate");
    Check(Cuda().cuGraphDestroy(graph), "destroy");
  }
  // What they launch outlives operator and engine.
  hiera_op_destroy(op);
  hiera_engine_destroy(engine);
  for (const CUgraphExec graph : graphs) {
    to.Write(std::vector<float>(count, -1).data(), 4 * count);
    const int replays = gpu::IsFictional() ? 3 : 1000;
    for (int i = 0; i < replays; ++i) Check(Cuda().cuGraphLaunch(graph, stream_), "replay");
    Check(Cuda().cuStreamSynchronize(stream_), "wait");
    to.Read(v.data(), 4 * count);
    for (size_t i = 0; i < count; ++i) ASSERT_NEAR(v[i], expected[i], 1e-4) << i;
    Check(Cuda().cuGraphExecDestroy(graph), "destroy");
  }
}

}  // namespace
}  // namespace hiera
