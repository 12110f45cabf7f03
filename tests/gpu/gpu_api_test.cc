// The C API on a real GPU: engines on a CUDA device, operators on streams, captured calls.
#include <gtest/gtest.h>

#include <vector>

#include "hiera/hiera.h"
#include "tests/gpu/gpu.h"

namespace hiera {
namespace {

using gpu::Check;
using gpu::Cuda;

class GpuApiTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why = gpu::WhyNone();
    if (!why.empty()) GTEST_SKIP() << why;
    gpu::UsePrimary();
    hiera_config config = HIERA_CONFIG_INIT;
    config.mode = HIERA_MODE_OFF;
    config.device = "cuda";
    ASSERT_EQ(hiera_engine_create(&config, &engine_), HIERA_OK) << hiera_last_error();
  }
  void TearDown() override { hiera_engine_destroy(engine_); }

  hiera_engine* engine_ = nullptr;
};

TEST_F(GpuApiTest, AHeatStepRunsOnTheCallersStreamAndInAGraph) {
  constexpr int kSide = 100;
  hiera_formula formula = HIERA_FORMULA_INIT;
  formula.text =
      "tensor u: f32[100,100] outside keep; tensor v: f32[100,100]; "
      "v[i,j] = u[i,j] + 0.2*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1] - 4*u[i,j])";
  hiera_op* op = nullptr;
  ASSERT_EQ(hiera_op_create(engine_, &formula, &op), HIERA_OK) << hiera_last_error();
  std::vector<float> u(kSide * kSide), expected(kSide * kSide, 7), v(kSide * kSide);
  for (int i = 0; i < kSide * kSide; ++i) u[i] = static_cast<float>(i % 37);
  for (int i = 1; i + 1 < kSide; ++i) {
    for (int j = 1; j + 1 < kSide; ++j) {
      const float* c = &u[i * kSide + j];
      expected[i * kSide + j] = c[0] + 0.2f * (c[-kSide] + c[kSide] + c[-1] + c[1] - 4 * c[0]);
    }
  }
  gpu::Memory in(4 * u.size()), out(4 * u.size());
  in.Write(u.data(), 4 * u.size());
  void* pointers[] = {in.data(), out.data()};
  CUstream stream = nullptr;
  Check(Cuda().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
  CUgraphExec exec = nullptr;
  CUgraph graph = nullptr;
  // From the first call on, when its time is still being taken.
  Check(Cuda().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "begin capture");
  for (int i = 0; i < 20; ++i) ASSERT_EQ(hiera_op_run(op, pointers, nullptr, stream), HIERA_OK);
  Check(Cuda().cuStreamEndCapture(stream, &graph), "end capture");
  Check(Cuda().cuGraphInstantiate(&exec, graph, 0), "instantiate");
  for (const bool replayed : {true, false}) {
    out.Write(std::vector<float>(v.size(), 7).data(), 4 * v.size());
    if (replayed) {
      Check(Cuda().cuGraphLaunch(exec, stream), "replay");
    } else {
      for (int i = 0; i < 20; ++i) ASSERT_EQ(hiera_op_run(op, pointers, nullptr, stream), HIERA_OK);
    }
    Check(Cuda().cuStreamSynchronize(stream), "wait");
    out.Read(v.data(), 4 * v.size());
    for (size_t i = 0; i < v.size(); ++i) ASSERT_NEAR(v[i], expected[i], 1e-4) << i;
  }
  for (int i = 0; i < 20; ++i) ASSERT_EQ(hiera_op_run(op, pointers, nullptr, stream), HIERA_OK);
  hiera_op_info info = HIERA_OP_INFO_INIT;
  ASSERT_EQ(hiera_op_get_info(op, &info), HIERA_OK);
  EXPECT_EQ(info.baseline, static_cast<uint32_t>(HIERA_BASELINE_INTERPRETER));
  EXPECT_GT(info.baseline_ns, 500);
  EXPECT_LT(info.baseline_ns, 1e9);
  hiera_op_destroy(op);
}

// By cuBLAS where there is one, else by the interpreter.
TEST_F(GpuApiTest, AProductIsAnsweredAtOnce) {
  hiera_gemm gemm = HIERA_GEMM_INIT;
  gemm.dtype = HIERA_F32;
  gemm.m = 96, gemm.n = 80, gemm.k = 112;
  hiera_op* op = nullptr;
  ASSERT_EQ(hiera_op_create_gemm(engine_, &gemm, &op), HIERA_OK) << hiera_last_error();
  std::vector<float> a(96 * 112), b(112 * 80), c(96 * 80);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2;
  gpu::Memory da(4 * a.size()), db(4 * b.size()), dc(4 * c.size());
  da.Write(a.data(), 4 * a.size()), db.Write(b.data(), 4 * b.size());
  void* pointers[] = {da.data(), db.data(), dc.data()};
  const double scalars[] = {1, 0};
  dc.Write(c.data(), 4 * c.size());
  ASSERT_EQ(hiera_op_run(op, pointers, scalars, nullptr), HIERA_OK);
  Check(Cuda().cuCtxSynchronize(), "wait");
  dc.Read(c.data(), 4 * c.size());
  for (int i = 0; i < 96; ++i) {
    for (int j = 0; j < 80; ++j) {
      float sum = 0;
      for (int k = 0; k < 112; ++k) sum += a[i * 112 + k] * b[k * 80 + j];
      ASSERT_EQ(c[i * 80 + j], sum) << i << " " << j;  // small integers: exact
    }
  }
  hiera_op_destroy(op);
}

}  // namespace
}  // namespace hiera
