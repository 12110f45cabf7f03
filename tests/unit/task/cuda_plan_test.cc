// Launch plans for CUDA: one spelling, bounds, and errors that name the field.
#include "runtime/task/cuda_plan.h"

#include <gtest/gtest.h>

#include "runtime/task/parse.h"

namespace hiera {
namespace {

constexpr char kWhole[] =
    "cuda align 16\n"
    "fill w+64 4096\n"
    "launch _Z4gemmPf grid 64 2 1 block 128 1 1 cluster 2 1 1 shared 98304 cooperative args t0 "
    "t1+128 w+4096 s0:f32 s1:bf16 i32=-7 i64=9007199254740993 f32=0.1 f64=-1e+300\n"
    "launch tail grid 1 1 1 block 32 1 1 args";

TEST(CudaPlanTest, APlanHasOneSpelling) {
  Result<CudaPlan> plan = ParseCudaPlan(kWhole);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(CudaPlanText(*plan), kWhole);
  EXPECT_EQ(plan->alignment, 16);
  ASSERT_EQ(plan->steps.size(), 3u);
  EXPECT_EQ(plan->steps[0].fill_bytes, 4096);
  const CudaStep& gemm = plan->steps[1];
  EXPECT_EQ(gemm.grid, (std::array<int64_t, 3>{64, 2, 1}));
  EXPECT_EQ(gemm.cluster, (std::array<int64_t, 3>{2, 1, 1}));
  EXPECT_TRUE(gemm.cooperative);
  ASSERT_EQ(gemm.arguments.size(), 9u);
  EXPECT_EQ(gemm.arguments[1].offset, 128);
  EXPECT_EQ(gemm.arguments[6].integer, 9007199254740993);
  EXPECT_EQ(SizeOf(gemm.arguments[4]), 2);
  EXPECT_EQ(SizeOf(gemm.arguments[5]), 4);
  EXPECT_EQ(SizeOf(gemm.arguments[6]), 8);
  EXPECT_EQ(gemm.arguments[7].real, 0.1);
}

struct Wrong {
  const char* text;
  const char* named;
};

TEST(CudaPlanTest, ErrorsNameLineAndField) {
  const std::string long_kernel = "cuda align 1\nlaunch k grid 1 1 1 block 1 1 1 args";
  std::string many = long_kernel, wide = long_kernel;
  for (int i = 0; i < 129; ++i) many += " i32=1";
  for (int i = 0; i < 128; ++i) wide += " t0";
  ASSERT_TRUE(ParseCudaPlan(wide).ok()) << ParseCudaPlan(wide).status().message();
  const Wrong wrongs[] = {
      {"", "line 1: \"cuda align BYTES\""},
      {"object", "line 1"},
      {"cuda align 3\nlaunch k grid 1 1 1 block 1 1 1 args", "no power of two"},
      {"cuda align 512\nlaunch k grid 1 1 1 block 1 1 1 args", "align is \"512\""},
      {"cuda align 16", "launches nothing"},
      {"cuda align 1\nlaunch 2k grid 1 1 1 block 1 1 1 args", "\"2k\" is no kernel's symbol"},
      {"cuda align 1\nlaunch k grid 0 1 1 block 1 1 1 args", "line 2: grid.x is \"0\""},
      {"cuda align 1\nlaunch k grid 1 65536 1 block 1 1 1 args", "grid.y is \"65536\""},
      {"cuda align 1\nlaunch k grid 2147483648 1 1 block 1 1 1 args", "grid.x"},
      {"cuda align 1\nlaunch k grid 1 1 1 block 1 1 65 args", "block.z"},
      {"cuda align 1\nlaunch k grid 1 1 1 block 64 32 1 args", "2048 threads"},
      {"cuda align 1\nlaunch k grid 3 1 1 block 1 1 1 cluster 2 1 1 args",
       "grid.x is no multiple of cluster.x"},
      {"cuda align 1\nlaunch k grid 16 16 1 block 1 1 1 cluster 8 4 1 args", "32 blocks"},
      {"cuda align 1\nlaunch k grid 1 1 1 block 1 1 1 shared 232449 args", "shared is \"232449\""},
      {"cuda align 1\nlaunch k grid 1 1 1 block 1 1 1 args x0", "argument \"x0\""},
      {"cuda align 1\nlaunch k grid 1 1 1 block 1 1 1 args t64", "tensor of an argument"},
      {"cuda align 1\nlaunch k grid 1 1 1 block 1 1 1 args t0+-4", "an offset"},
      {"cuda align 1\nlaunch k grid 1 1 1 block 1 1 1 args w", "w+BYTES"},
      {"cuda align 1\nlaunch k grid 1 1 1 block 1 1 1 args s0", "sN:TYPE"},
      {"cuda align 1\nlaunch k grid 1 1 1 block 1 1 1 args s0:bool", "type is \"bool\""},
      {"cuda align 1\nlaunch k grid 1 1 1 block 1 1 1 args i32=2147483648", "a constant"},
      {"cuda align 1\nlaunch k grid 1 1 1 block 1 1 1 args f32=one", "must be a number"},
      {"cuda align 1\nlaunch k grid 1 1 1 block 1 1 1", "args was expected"},
      {"cuda align 1\nlaunch k grid 1 1 1 block 1 1 1 args t0+0", "one spelling"},
      {"cuda align 1\nlaunch k  grid 1 1 1 block 1 1 1 args", "one spelling"},
      {"cuda align 1\nfill w+0 0", "the size is \"0\""},
      {"cuda align 1\nfill t0 4", "fill w+OFFSET BYTES"},
      {"cuda align 1\nrun k", "neither launch nor fill"},
      {many.c_str(), "more than 128 arguments"},
  };
  for (const Wrong& wrong : wrongs) {
    const Result<CudaPlan> plan = ParseCudaPlan(wrong.text);
    ASSERT_FALSE(plan.ok()) << wrong.text;
    EXPECT_EQ(plan.status().code(), Code::kInvalidArgument);
    EXPECT_NE(plan.status().message().find(wrong.named), std::string::npos)
        << wrong.text << "\n"
        << plan.status().message();
  }
}

TEST(CudaPlanTest, EveryCutOfATextIsRefusedOrAnotherPlan) {
  const std::string whole = kWhole;
  const CudaPlan plan = *ParseCudaPlan(whole);
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    const Result<CudaPlan> part = ParseCudaPlan(whole.substr(0, cut));
    EXPECT_TRUE(!part.ok() || !(*part == plan)) << cut;
  }
}

TEST(CudaPlanTest, APlanMustFitItsTask) {
  const Task task = *ParseTask("tensor x: f32[8]\ntensor y: f32[8]\nscalar a\ny[i] = a*x[i]");
  const std::string head = "cuda align 1\n";
  const std::string launch = head + "launch k grid 1 1 1 block 8 1 1 args ";
  const auto check = [&](const std::string& text, int64_t workspace) {
    const Result<CudaPlan> plan = ParseCudaPlan(text);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return CheckCudaPlan(*plan, task, workspace);
  };
  EXPECT_TRUE(check(launch + "t0+28 t1 s0:f32", 0).ok());
  EXPECT_TRUE(check(head + "fill w+0 16\n" + launch.substr(head.size()) + "w+12 t1", 16).ok());
  const Wrong wrongs[] = {{"t2", "binds 2 tensors"},
                          {"t0+32", "outside the tensor's 32 bytes"},
                          {"s1:f32", "has 1 scalars"},
                          {"w+16", "outside the workspace of 16 bytes"}};
  for (const Wrong& wrong : wrongs) {
    const Status status = check(launch + wrong.text, 16);
    ASSERT_FALSE(status.ok()) << wrong.text;
    EXPECT_NE(status.message().find(wrong.named), std::string::npos) << status.message();
  }
  EXPECT_FALSE(check(head + "fill w+8 16", 16).ok());
  EXPECT_FALSE(check(head + "fill w+17 1", 16).ok());
  EXPECT_FALSE(check(launch + "w+0", 0).ok());
}

}  // namespace
}  // namespace hiera
