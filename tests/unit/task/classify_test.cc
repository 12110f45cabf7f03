// Classification: which class a formula belongs to, and the views that policies map to templates.
#include "runtime/task/classify.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/task/texts.h"

namespace hiera {
namespace {

struct ClassCase {
  const char* name;
  TaskClass expected;
  const char* text;
};

class ClassOf : public testing::TestWithParam<ClassCase> {};

TEST_P(ClassOf, IsAsExpected) {
  const Task task = Parsed(GetParam().text);
  EXPECT_EQ(TaskClassName(Classify(task)), TaskClassName(GetParam().expected));
  // However it is spelt.
  EXPECT_EQ(Classify(Parsed(CanonicalText(task))), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Classes, ClassOf,
    testing::Values(
        ClassCase{"gemm", TaskClass::kGemm,
                  "tensor A: f32[4,6]; tensor B: f32[6,5]; tensor C: f32[4,5]; scalar a; scalar b\n"
                  "C[i,j] = relu(a*sum(k: A[i,k]*B[k,j]) + b*C[i,j])"},
        ClassCase{"batched", TaskClass::kBatchedGemm,
                  "tensor A: f32[3,4,6]; tensor B: f32[3,6,5]; tensor C: f32[3,4,5]\n"
                  "C[b,i,j] = sum(k: A[b,i,k]*B[b,k,j])"},
        ClassCase{"matrix_vector", TaskClass::kGemm,
                  "tensor A: f32[4,6]; tensor x: f32[6]; tensor y: f32[4]\n"
                  "y[i] = sum(k: x[k]*A[i,k])"},
        ClassCase{"diagonal", TaskClass::kGeneric,
                  "tensor A: f32[6,6]; tensor B: f32[6,5]; tensor C: f32[6,5]\n"
                  "C[i,j] = sum(k: A[k,k]*B[k,j]) "},
        ClassCase{"triangular", TaskClass::kGeneric,
                  "tensor A: f32[6,6]; tensor B: f32[6,6]; tensor C: f32[6,6]\n"
                  "C[i,j] = sum(k: select(k<=i, A[i,k]*B[k,j], 0))"},
        ClassCase{"literal_zero_beta", TaskClass::kGeneric,
                  "tensor A: f32[6,6]; tensor B: f32[6,6]; tensor C: f32[6,6]\n"
                  "C[i,j] = sum(k: A[i,k]*B[k,j]) + 0*C[i,j]"},
        ClassCase{"conv2d", TaskClass::kConv,
                  "tensor X: f32[2,3,8,8] outside zero; tensor W: f32[4,3,3,3]\n"
                  "tensor Y: f32[2,4,4,4]; tensor bias: f32[4]\n"
                  "Y[n,f,y,x] = gelu(sum(c,r,s: X[n,c,2*y+r-1,2*x+s-1]*W[f,c,r,s]) + bias[f])"},
        ClassCase{"conv1d_dilated_depthwise", TaskClass::kConv,
                  "tensor X: f32[2,3,9]; tensor W: f32[3,3]; tensor Y: f32[2,3,5]\n"
                  "Y[n,c,x] = sum(r: W[c,r]*X[n,c,x+2*r])"},
        ClassCase{"conv_grouped", TaskClass::kConv,
                  "tensor X: f32[2,2,3,8,8]; tensor W: f32[2,4,3,3,3]; tensor Y: f32[2,2,4,6,6]\n"
                  "Y[n,g,f,y,x] = sum(c,r,s: X[n,g,c,y+r,x+s]*W[g,f,c,r,s])"},
        ClassCase{"transposed_conv", TaskClass::kGeneric,
                  "tensor X: f32[2,3,5] outside zero; tensor W: f32[3,4,3]; tensor Y: f32[2,4,11]\n"
                  "Y[n,f,x] = sum(c,r: X[n,c,(x-r)/2]*W[c,f,r])"},
        ClassCase{"stencil", TaskClass::kStencil,
                  "tensor u: f32[8,8] outside clamp; tensor v: f32[8,8]\n"
                  "steps 4 (u = v)\nv[i,j] = 0.25*(u[i-1,j]+u[i+1,j]+u[i,j-1]+u[i,j+1])"},
        ClassCase{
            "softmax", TaskClass::kRowWise,
            "tensor x: f32[4,9]; tensor y: f32[4,9]\n"
            "m[i] = max(j: x[i,j]); e[i,j] = exp(x[i,j]-m[i]); y[i,j] = e[i,j]/sum(k: e[i,k])"},
        ClassCase{"layer_norm", TaskClass::kRowWise,
                  "tensor x: f32[4,9]; tensor y: f32[4,9]; tensor w: f32[9]\n"
                  "m[i] = mean(j: x[i,j]); d[i,j] = x[i,j]-m[i]\n"
                  "y[i,j] = w[j]*d[i,j]*rsqrt(mean(k: d[i,k]^2)+1e-5)"},
        ClassCase{"argmax", TaskClass::kRowWise,
                  "tensor x: f32[4,9]; tensor y: i32[4]; y[i] = argmax(j: x[i,j])"},
        ClassCase{"cumsum", TaskClass::kRowWise,
                  "tensor x: f32[4,9]; tensor y: f32[4,9]; y[i,j] = cumsum(j: x[i,j])"},
        ClassCase{"loss", TaskClass::kRowWise,
                  "tensor x: f32[4,9]; tensor t: f32[4,9]; tensor y: f32[]\n"
                  "y = mean(i,j: (x[i,j]-t[i,j])^2)"},
        ClassCase{"reads_other_rows", TaskClass::kGeneric,
                  "tensor x: f32[9,9]; tensor y: f32[9,9]\n"
                  "e[i,j] = exp(x[i,j]); y[i,j] = e[j,i]/sum(k: e[i,k])"},
        ClassCase{"column_sum", TaskClass::kGeneric,
                  "tensor x: f32[4,9]; tensor y: f32[9]; y[j] = sum(i: x[i,j])"},
        ClassCase{"scan_down", TaskClass::kGeneric,
                  "tensor x: f32[4,9]; tensor y: f32[4,9]; y[i,j] = cumsum(i: x[i,j])"},
        ClassCase{"pointwise", TaskClass::kPointwise,
                  "tensor x: f32[4,9]; tensor w: f32[9]; tensor t: f32[9,4]; tensor y: f32[4,9]\n"
                  "y[i,j] = max(x[i,j]*w[j], t[j,i])"},
        ClassCase{"gather", TaskClass::kGeneric,
                  "tensor E: f32[50,8] outside zero; tensor n: i32[6]; tensor y: f32[6,8]\n"
                  "y[i,j] = E[n[i],j]"},
        ClassCase{"max_pool", TaskClass::kGeneric,
                  "tensor x: f32[8]; tensor y: f32[4]; y[i] = max(r<2: x[2*i+r])"}),
    [](const auto& info) { return info.param.name; });

// Strides of a view as text, for comparisons that say everything at once.
std::string Described(const GemmView& g) {
  std::string text =
      std::to_string(g.m) + "x" + std::to_string(g.n) + "x" + std::to_string(g.k) + " a" +
      std::to_string(g.a) + "(" + std::to_string(g.a_m) + "," + std::to_string(g.a_k) + ") b" +
      std::to_string(g.b) + "(" + std::to_string(g.b_k) + "," + std::to_string(g.b_n) + ") c" +
      std::to_string(g.c) + "(" + std::to_string(g.c_m) + "," + std::to_string(g.c_n) + ")";
  for (const GemmView::BatchAxis& axis : g.batch) {
    text += " batch " + std::to_string(axis.extent) + "(" + std::to_string(axis.stride_a) + "," +
            std::to_string(axis.stride_b) + "," + std::to_string(axis.stride_c) + "," +
            std::to_string(axis.stride_bias) + ")";
  }
  if (g.bias >= 0) {
    text += " bias" + std::to_string(g.bias) + "(" + std::to_string(g.bias_m) + "," +
            std::to_string(g.bias_n) + ")";
  }
  return text;
}

std::string GemmOf(const std::string& text) {
  const std::optional<GemmView> view = AsGemm(Parsed(text));
  return view.has_value() ? Described(*view) : "none";
}

TEST(Gemm, EveryOrientation) {
  const std::string c = "tensor C: f32[4,5]\n";
  EXPECT_EQ(
      GemmOf("tensor A: f32[4,6]; tensor B: f32[6,5];" + c + "C[i,j] = sum(k: A[i,k]*B[k,j])"),
      "4x5x6 a0(6,1) b1(5,1) c2(5,1)");
  EXPECT_EQ(
      GemmOf("tensor A: f32[6,4]; tensor B: f32[6,5];" + c + "C[i,j] = sum(k: A[k,i]*B[k,j])"),
      "4x5x6 a0(1,4) b1(5,1) c2(5,1)");
  EXPECT_EQ(
      GemmOf("tensor A: f32[4,6]; tensor B: f32[5,6];" + c + "C[i,j] = sum(k: B[j,k]*A[i,k])"),
      "4x5x6 a0(6,1) b1(1,6) c2(5,1)");
  EXPECT_EQ(GemmOf("tensor A: f32[6,4] strides[1,6]; tensor B: f32[5,6];" + c +
                   "C[i,j] = sum(k: B[j,k]*A[k,i])"),
            "4x5x6 a0(6,1) b1(1,6) c2(5,1)");
  EXPECT_EQ(GemmOf("tensor A: f32[4,6]; tensor C: f32[4,4]\nC[i,j] = sum(k: A[i,k]*A[j,k])"),
            "4x4x6 a0(6,1) b0(1,6) c1(4,1)");
}

TEST(Gemm, BatchAxesMergeWhereTheyLieAlike) {
  EXPECT_EQ(GemmOf("tensor Q: f32[2,3,4,8]; tensor K: f32[2,3,5,8]; tensor S: f32[2,3,4,5]\n"
                   "S[b,h,i,j] = sum(d: Q[b,h,i,d]*K[b,h,j,d])"),
            "4x5x8 a0(8,1) b1(1,8) c2(5,1) batch 6(32,40,20,0)");
  // Heads between the rows: two batch axes.
  EXPECT_EQ(GemmOf("tensor Q: f32[2,4,3,8]; tensor K: f32[2,5,3,8]; tensor S: f32[2,3,4,5]\n"
                   "S[b,h,i,j] = sum(d: Q[b,i,h,d]*K[b,j,h,d])"),
            "4x5x8 a0(24,1) b1(1,24) c2(5,1) batch 2(96,120,60,0) batch 3(8,8,20,0)");
  // One B for all rows of a dense batch: more rows.
  EXPECT_EQ(GemmOf("tensor A: f32[3,4,6]; tensor B: f32[6,5]; tensor C: f32[3,4,5]\n"
                   "C[b,i,j] = sum(k: A[b,i,k]*B[k,j])"),
            "12x5x6 a0(6,1) b1(5,1) c2(5,1)");
  // The same with gaps between the matrices: B is constant along the batch.
  EXPECT_EQ(GemmOf("tensor A: f32[3,4,6] strides[30,6,1]; tensor B: f32[6,5]\n"
                   "tensor C: f32[3,4,5]\nC[b,i,j] = sum(k: A[b,i,k]*B[k,j])"),
            "4x5x6 a0(6,1) b1(5,1) c2(5,1) batch 3(30,0,20,0)");
  // One A for all.
  EXPECT_EQ(GemmOf("tensor A: f32[4,6]; tensor B: f32[3,6,5]; tensor C: f32[3,4,5]\n"
                   "C[b,i,j] = sum(k: A[i,k]*B[b,k,j])"),
            "4x5x6 a0(6,1) b1(5,1) c2(5,1) batch 3(0,30,20,0)");
}

TEST(Gemm, SummedAxesMergeOrRefuse) {
  EXPECT_EQ(GemmOf("tensor A: f32[4,2,3]; tensor B: f32[2,3,5]; tensor C: f32[4,5]\n"
                   "C[i,j] = sum(k,l: A[i,k,l]*B[k,l,j])"),
            "4x5x6 a0(6,1) b1(5,1) c2(5,1)");
  EXPECT_EQ(GemmOf("tensor A: f32[4,2,3]; tensor B: f32[3,2,5]; tensor C: f32[4,5]\n"
                   "C[i,j] = sum(k,l: A[i,k,l]*B[l,k,j])"),
            "none");
}

TEST(Gemm, FactorsBiasAndActivation) {
  const Task task = Parsed(
      "tensor A: f32[4,6]; tensor B: f32[6,5]; tensor C: f32[4,5]; tensor d: f32[5]\n"
      "scalar s\nC[i,j] = tanh(relu(d[j] - 0.5*C[i,j] + sum(k: s*A[i,k]*B[k,j])))");
  const std::optional<GemmView> view = AsGemm(task);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->alpha.scalar, 0);
  EXPECT_EQ(view->beta.scalar, -1);
  EXPECT_EQ(view->beta.value, -0.5);
  EXPECT_EQ(view->bias, 3);
  EXPECT_EQ(view->bias_m, 0);
  EXPECT_EQ(view->bias_n, 1);
  EXPECT_EQ(view->activation, (std::vector<Op>{Op::kRelu, Op::kTanh}));
  EXPECT_EQ(view->batch_count(), 1);
}

TEST(Gemm, MatrixVectorEitherWay) {
  EXPECT_EQ(GemmOf("tensor A: f32[4,6]; tensor x: f32[6]; tensor y: f32[4]\n"
                   "y[i] = sum(k: x[k]*A[i,k])"),
            "4x1x6 a0(6,1) b1(1,0) c2(1,0)");
  EXPECT_EQ(GemmOf("tensor A: f32[6,4]; tensor x: f32[6]; tensor y: f32[4]\n"
                   "y[i] = sum(k: x[k]*A[k,i])"),
            "4x1x6 a0(1,4) b1(1,0) c2(1,0)");
}

TEST(Stencil, ReadsReachAndCoefficients) {
  const std::optional<StencilView> view = AsStencil(
      Parsed("tensor u: f64[8,9] outside wrap; tensor v: f64[8,9]\n"
             "v[i,j] = u[i,j] + (u[i-2,j] - 2*u[i,j] + u[i+1,j])/4 - 0.5*(u[i,j+3] - u[i,j])"));
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->output, 1);
  EXPECT_EQ(view->state, 0);
  EXPECT_EQ(view->outside, Outside::kWrap);
  EXPECT_EQ(view->extent, (std::vector<int64_t>{8, 9}));
  EXPECT_EQ(view->low, (std::vector<int64_t>{2, 0}));
  EXPECT_EQ(view->high, (std::vector<int64_t>{1, 3}));
  ASSERT_EQ(view->reads.size(), 4u);  // the centre, read three times, counts once
  ASSERT_EQ(view->coefficients.size(), 4u);
  double centre = 0;
  double sum = 0;
  for (size_t i = 0; i < 4; ++i) {
    sum += view->coefficients[i];
    if (view->reads[i].offset == std::vector<int64_t>{0, 0}) centre = view->coefficients[i];
  }
  EXPECT_EQ(centre, 1.0);  // 1 - 2/4 + 0.5
  EXPECT_EQ(sum, 1.0);
}

TEST(Stencil, NonlinearHasNoCoefficients) {
  const std::optional<StencilView> view = AsStencil(
      Parsed("tensor u: f32[8,9] outside keep; tensor v: f32[8,9]\n"
             "v[i,j] = 0.1*u[i,j] + 1/sqrt(0.5 + (u[i,j]-u[i-1,j])^2 + (u[i,j]-u[i,j+1])^2)"));
  ASSERT_TRUE(view.has_value());
  EXPECT_TRUE(view->coefficients.empty());
  EXPECT_EQ(view->reads.size(), 3u);
}

TEST(Stencil, SecondFieldLeavesTheStateClear) {
  const std::optional<StencilView> view =
      AsStencil(Parsed("tensor u: f32[8] outside zero; tensor c: f32[8]; tensor v: f32[8]\n"
                       "v[i] = c[i]*(u[i-1] + u[i+1])"));
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->state, 0);
  EXPECT_TRUE(view->coefficients.empty());
  const std::optional<StencilView> two = AsStencil(
      Parsed("tensor u: f32[8] outside zero; tensor c: f32[8] outside zero; tensor v: f32[8]\n"
             "v[i] = c[i+1]*u[i-1]"));
  ASSERT_TRUE(two.has_value());
  EXPECT_EQ(two->state, -1);
}

}  // namespace
}  // namespace hiera
