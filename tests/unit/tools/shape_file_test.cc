#include "runtime/tools/shape_file.h"

#include <gtest/gtest.h>

namespace hiera {
namespace {

std::string ErrorOf(std::string_view text) {
  const auto entries = ParseShapes(text, {});
  return entries.ok() ? "" : entries.status().message();
}

TEST(ShapeFile, ReadsGemmColumnsInAnyOrder) {
  const auto entries = ParseShapes(
      "# a comment\nset,k,n,m,tb,ta,dtype,batch\n\n\"a, b\",30,20,10,1,0,f64,5\nx,3,2,1,0,1,,\n",
      {HIERA_F32, true});
  ASSERT_TRUE(entries.ok()) << entries.status().message();
  ASSERT_EQ(entries->size(), 2u);
  const auto& first = std::get<hiera_gemm>((*entries)[0].what);
  EXPECT_EQ(first.m, 10);
  EXPECT_EQ(first.n, 20);
  EXPECT_EQ(first.k, 30);
  EXPECT_EQ(first.batch, 5);
  EXPECT_EQ(first.dtype, HIERA_F64 + 0u);
  EXPECT_EQ(first.transpose_a, 0u);
  EXPECT_EQ(first.transpose_b, 1u);
  EXPECT_EQ(first.column_major, 1u);
  EXPECT_EQ(first.alpha_class, HIERA_SCALAR_ONE + 0u);
  EXPECT_EQ((*entries)[0].line, 4);
  EXPECT_EQ((*entries)[0].label, "gemm f64 10x20x30 batch 5 NT");
  const auto& second = std::get<hiera_gemm>((*entries)[1].what);
  EXPECT_EQ(second.dtype, HIERA_F32 + 0u);
  EXPECT_EQ(second.batch, 1);
  EXPECT_EQ(second.transpose_a, 1u);
}

TEST(ShapeFile, ReadsConvolutions) {
  const auto entries =
      ParseShapes("n,c,h,w,k,r,s,pad_h,pad_w,stride_h,stride_w\n4,1,161,700,32,5,20,0,3,2,1\n", {});
  ASSERT_TRUE(entries.ok()) << entries.status().message();
  const auto& conv = std::get<hiera_conv>((*entries)[0].what);
  EXPECT_EQ(conv.f, 32);
  EXPECT_EQ(conv.kernel[0], 5);
  EXPECT_EQ(conv.kernel[1], 20);
  EXPECT_EQ(conv.pad_end[1], 3);
  EXPECT_EQ(conv.stride[0], 2);
}

TEST(ShapeFile, ReadsFormulas) {
  const std::string line = "tensor x: f32[8]; tensor y: f32[8]; y[i] = 2*x[i]";
  const auto entries = ParseShapes("# mine\n" + line + "\n", {});
  ASSERT_TRUE(entries.ok()) << entries.status().message();
  EXPECT_EQ(std::get<std::string>((*entries)[0].what), line);
  EXPECT_EQ((*entries)[0].label, "y[i] = 2*x[i]");
}

TEST(ShapeFile, ErrorsNameLineAndColumn) {
  EXPECT_EQ(ErrorOf("m,n,k\n1,2\n"), "line 2: 2 fields where the header has 3");
  EXPECT_EQ(ErrorOf("m,n,k\n1,x,3\n"),
            "line 2: column n: must be a whole number of at least 1, not 'x'");
  EXPECT_EQ(ErrorOf("m,n,k\n1,0,3\n"),
            "line 2: column n: must be a whole number of at least 1, not '0'");
  EXPECT_EQ(ErrorOf("m,n,k\n1,,3\n"), "line 2: column n: is missing");
  EXPECT_EQ(ErrorOf("m,n,k,layout\n1,1,3,diagonal\n"),
            "line 2: column layout: must be row or column, not 'diagonal'");
  EXPECT_EQ(ErrorOf("m,n,k\n9999999999999999999,1,3\n"),
            "line 2: column m: must be a whole number of at least 1, not '9999999999999999999'");
  EXPECT_NE(ErrorOf("# nothing\n").find("no shapes"), std::string::npos);
}

}  // namespace
}  // namespace hiera
