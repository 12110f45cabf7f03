// Typed constructors: the key of the formula one would write, and errors that name the field.
#include "runtime/task/constructors.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/unit/task/texts.h"

namespace hiera {
namespace {

std::string MadeText(const Result<Task>& task) {
  EXPECT_TRUE(task.ok()) << task.status().message();
  return task.ok() ? CanonicalText(*task) : "";
}

hiera_gemm Gemm(int64_t m, int64_t n, int64_t k) {
  hiera_gemm gemm = HIERA_GEMM_INIT;
  gemm.dtype = HIERA_F32;
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  return gemm;
}

TEST(MakeGemm, IsTheFormula) {
  hiera_gemm gemm = Gemm(4, 5, 6);
  EXPECT_EQ(MadeText(MakeGemm(gemm)),
            CanonicalOf("tensor X: f32[4,6]; tensor Y: f32[6,5]; tensor Z: f32[4,5]\n"
                        "scalar p; scalar q\nZ[r,c] = q*Z[r,c] + p*sum(s: Y[s,c]*X[r,s])"));
}

TEST(MakeGemm, TransposedWithLeadingDimensionsBiasAndActivation) {
  hiera_gemm gemm = Gemm(4, 5, 6);
  gemm.transpose_a = 1;
  gemm.lda = 7;
  gemm.ldc = 9;
  gemm.alpha_class = HIERA_SCALAR_ONE;
  gemm.beta_class = HIERA_SCALAR_ZERO;
  gemm.bias = HIERA_BIAS_PER_COLUMN;
  gemm.activation = HIERA_ACTIVATION_RELU;
  EXPECT_EQ(MadeText(MakeGemm(gemm)),
            CanonicalOf("tensor A: f32[4,6] strides[1,7]; tensor B: f32[6,5]\n"
                        "tensor C: f32[4,5] strides[9,1]; tensor d: f32[5]\n"
                        "scalar a=1; scalar b=0\nC[i,j] = max(sum(k: A[i,k]*B[k,j]) + d[j], 0)"));
}

TEST(MakeGemm, ColumnMajorBatchWithOneB) {
  hiera_gemm gemm = Gemm(4, 5, 6);
  gemm.column_major = 1;
  gemm.transpose_b = 1;
  gemm.batch = 3;
  gemm.same_b = 1;
  gemm.batch_stride_a = 100;
  gemm.dtype = HIERA_BF16;
  gemm.dtype_c = HIERA_F32;
  gemm.bias = HIERA_BIAS_PER_ROW;
  EXPECT_EQ(
      MadeText(MakeGemm(gemm)),
      CanonicalOf("tensor A: bf16[3,4,6] strides[100,1,4]; tensor B: bf16[6,5]\n"
                  "tensor C: f32[3,4,5] strides[20,1,4]; tensor d: bf16[4]; scalar a; scalar b\n"
                  "C[z,i,j] = a*sum(k: A[z,i,k]*B[k,j]) + b*C[z,i,j] + d[i]"));
}

TEST(MakeGemm, ZeroSizesAreTasks) {
  const Result<Task> task = MakeGemm(Gemm(0, 5, 0));
  ASSERT_TRUE(task.ok()) << task.status().message();
  EXPECT_EQ(task->tensors[2].elements(), 0);
}

struct GemmFault {
  const char* message;
  std::function<void(hiera_gemm*)> edit;
};

TEST(MakeGemm, NamesTheFieldAtFault) {
  const std::vector<GemmFault> faults = {
      {"m is -1 (0 or more, below 2^62)", [](auto* g) { g->m = -1; }},
      {"dtype is 5 (HIERA_F64, HIERA_F32, HIERA_F16 or HIERA_BF16)",
       [](auto* g) { g->dtype = HIERA_I32; }},
      {"dtype_c is 3 (0 or the same as dtype; HIERA_F32 where dtype is HIERA_F16 or HIERA_BF16)",
       [](auto* g) { g->dtype_c = HIERA_F16; }},
      {"dtype_c is 1 (0 or the same as dtype; HIERA_F32 where dtype is HIERA_F16 or HIERA_BF16)",
       [](auto* g) { g->dtype_c = HIERA_F64; }},
      {"lda is 5, less than the 6 elements of a row of A", [](auto* g) { g->lda = 5; }},
      {"ldb is 5, less than the 6 elements of a column of B",
       [](auto* g) {
         g->column_major = 1;
         g->ldb = 5;
       }},
      {"ldc is -3 (0 or more, below 2^62)", [](auto* g) { g->ldc = -3; }},
      {"transpose_b is 2 (0 or 1)", [](auto* g) { g->transpose_b = 2; }},
      {"beta_class is 3 (0 to 2)", [](auto* g) { g->beta_class = 3; }},
      {"bias is 9 (0 to 2)", [](auto* g) { g->bias = 9; }},
      {"activation is 6 (0 to 5)", [](auto* g) { g->activation = 6; }},
      {"batch_stride_c is 7, which makes the matrices of C overlap",
       [](auto* g) {
         g->batch = 2;
         g->batch_stride_c = 7;
       }},
      {"lda makes a tensor reach past 2^62 elements", [](auto* g) { g->lda = int64_t{1} << 61; }},
  };
  for (const GemmFault& fault : faults) {
    hiera_gemm gemm = Gemm(4, 5, 6);
    fault.edit(&gemm);
    const Result<Task> task = MakeGemm(gemm);
    ASSERT_FALSE(task.ok()) << fault.message;
    EXPECT_EQ(task.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(task.status().message(), fault.message);
  }
}

hiera_conv Conv2d() {
  hiera_conv conv = HIERA_CONV_INIT;
  conv.dtype = HIERA_F32;
  conv.spatial_rank = 2;
  conv.n = 2;
  conv.c = 4;
  conv.f = 6;
  for (int i = 0; i < 2; ++i) {
    conv.input[i] = 9;
    conv.kernel[i] = 3;
  }
  return conv;
}

TEST(MakeConv, IsTheFormula) {
  hiera_conv conv = Conv2d();
  conv.stride[0] = 2;
  conv.dilation[1] = 2;
  conv.pad_begin[0] = 1;
  conv.pad_end[0] = 1;
  conv.has_bias = 1;
  conv.activation = HIERA_ACTIVATION_SILU;
  EXPECT_EQ(
      MadeText(MakeConv(conv)),
      CanonicalOf(
          "tensor X: f32[2,4,9,9] outside zero; tensor W: f32[6,4,3,3]; tensor Y: f32[2,6,5,5]\n"
          "tensor b: f32[6]\n"
          "Y[n,f,y,x] = silu(b[f] + sum(s,r,c: W[f,c,r,s]*X[n,c,2*y+r-1,x+2*s]))"));
}

TEST(MakeConv, GroupsAreAnAxis) {
  hiera_conv conv = Conv2d();
  conv.groups = 2;
  EXPECT_EQ(MadeText(MakeConv(conv)),
            CanonicalOf("tensor X: f32[2,2,2,9,9]; tensor W: f32[2,3,2,3,3]\n"
                        "tensor Y: f32[2,2,3,7,7]\n"
                        "Y[n,g,f,y,x] = sum(c,r,s: X[n,g,c,y+r,x+s]*W[g,f,c,r,s])"));
  conv.channels_last = 1;
  EXPECT_EQ(MadeText(MakeConv(conv)),
            CanonicalOf("tensor X: f32[2,9,9,2,2]; tensor W: f32[2,3,3,3,2]\n"
                        "tensor Y: f32[2,7,7,2,3]\n"
                        "Y[n,y,x,g,f] = sum(c,r,s: X[n,y+r,x+s,g,c]*W[g,f,r,s,c])"));
}

TEST(MakeConv, NamesTheFieldAtFault) {
  struct Fault {
    const char* message;
    std::function<void(hiera_conv*)> edit;
  };
  const std::vector<Fault> faults = {
      {"spatial_rank is 0 (1 to 3)", [](auto* c) { c->spatial_rank = 0; }},
      {"groups is 3, which does not divide c = 4 and f = 6", [](auto* c) { c->groups = 3; }},
      {"kernel[1] is 0 (1 to 2147483648)", [](auto* c) { c->kernel[1] = 0; }},
      {"kernel[0] is 5 and reaches over 13 elements, more than input[0] and its padding have",
       [](auto* c) {
         c->kernel[0] = 5;
         c->dilation[0] = 3;
       }},
      {"pad_end[1] is -1 (0 to 2147483648)", [](auto* c) { c->pad_end[1] = -1; }},
  };
  for (const Fault& fault : faults) {
    hiera_conv conv = Conv2d();
    fault.edit(&conv);
    const Result<Task> task = MakeConv(conv);
    ASSERT_FALSE(task.ok()) << fault.message;
    EXPECT_EQ(task.status().message(), fault.message);
  }
}

TEST(MakeStencil, IsTheFormula) {
  const hiera_stencil_point points[] = {
      {{0, 0, 0}, 0.5}, {{-1, 0, 0}, 0.125}, {{1, 0, 0}, 0.125}, {{0, 2, 0}, -0.25}};
  hiera_stencil stencil = HIERA_STENCIL_INIT;
  stencil.dtype = HIERA_F64;
  stencil.rank = 2;
  stencil.outside = HIERA_OUTSIDE_KEEP;
  stencil.extent[0] = 8;
  stencil.extent[1] = 9;
  stencil.steps = 4;
  stencil.points = points;
  stencil.point_count = 4;
  EXPECT_EQ(MadeText(MakeStencil(stencil)),
            CanonicalOf("tensor u: f64[8,9] outside keep; tensor v: f64[8,9]; steps 4 (u = v)\n"
                        "v[i,j] = 0.5*u[i,j] + 0.125*u[i-1,j] + 0.125*u[i+1,j] - 0.25*u[i,j+2]"));
  stencil.outside = HIERA_OUTSIDE_REFUSE;
  EXPECT_EQ(MakeStencil(stencil).status().message(),
            "stencil: axis 1 of \"u\" (extent 9) is read from 2 to 10 (give it a rule for reads "
            "outside: zero, clamp, wrap or keep)");
  stencil.outside = HIERA_OUTSIDE_WRAP;
  stencil.points = nullptr;
  EXPECT_EQ(MakeStencil(stencil).status().message(), "points is NULL");
  hiera_stencil_point off[] = {{{0, 0, 1}, 1.0}};
  stencil.points = off;
  stencil.point_count = 1;
  EXPECT_EQ(MakeStencil(stencil).status().message(), "points[0].offset[2] is 1 (0 to 0)");
  off[0] = {{0, 0, 0}, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_EQ(MakeStencil(stencil).status().message(), "points[0].coefficient is not finite");
}

struct FormulaParts {
  hiera_tensor tensors[2] = {{"x", HIERA_F32, 1, {8}, {0}, 0, 0},
                             {"y", HIERA_F32, 1, {8}, {0}, 0, 0}};
  hiera_scalar scalars[1] = {{"a", HIERA_SCALAR_ANY, 0}};
  hiera_formula formula = HIERA_FORMULA_INIT;

  FormulaParts() {
    formula.text = "y[i] = a*x[i]";
    formula.tensors = tensors;
    formula.tensor_count = 2;
    formula.scalars = scalars;
    formula.scalar_count = 1;
  }
};

TEST(MakeFormula, IsTheText) {
  const FormulaParts parts;
  EXPECT_EQ(MadeText(MakeFormula(parts.formula)),
            CanonicalOf("tensor x: f32[8]; tensor y: f32[8]; scalar a; y[i] = a*x[i]"));
}

TEST(MakeFormula, TheTextMayDeclareItsOwn) {
  const char* text = "tensor x: f32[8]; tensor y: f32[8]; scalar a; y[i] = a*x[i]";
  hiera_formula formula = HIERA_FORMULA_INIT;
  formula.text = text;
  EXPECT_EQ(MadeText(MakeFormula(formula)), CanonicalOf(text));
  hiera_contract contract = HIERA_CONTRACT_INIT;
  formula.contract = &contract;
  EXPECT_EQ(MakeFormula(formula).status().message(),
            "contract must be NULL where the text declares its own tensors; say contract in the "
            "text");
}

TEST(MakeFormula, NamesTheFieldAtFault) {
  struct Fault {
    const char* message;
    std::function<void(FormulaParts*)> edit;
  };
  const std::vector<Fault> faults = {
      {"text is NULL", [](auto* p) { p->formula.text = nullptr; }},
      {"tensors is NULL, but tensor_count is 2", [](auto* p) { p->formula.tensors = nullptr; }},
      {"scalars is NULL, but scalar_count is 1", [](auto* p) { p->formula.scalars = nullptr; }},
      {"tensors[1].name is NULL", [](auto* p) { p->tensors[1].name = nullptr; }},
      {"tensors[1].dtype is 7 (1 to 6)", [](auto* p) { p->tensors[1].dtype = 7; }},
      {"tensors[0].rank is 9 (0 to 8)", [](auto* p) { p->tensors[0].rank = 9; }},
      {"tensors[0].extent[0] is -1 (0 or more, below 2^62)",
       [](auto* p) { p->tensors[0].extent[0] = -1; }},
      {"tensors[1].stride[0] is -1 (0 or more, below 2^62)",
       [](auto* p) { p->tensors[1].stride[0] = -1; }},
      {"tensors[0].outside is 5 (0 to 4)", [](auto* p) { p->tensors[0].outside = 5; }},
      {"tensors[0].extent: tensor \"x\": extents and strides reach past 2^62",
       [](auto* p) { p->tensors[0].extent[0] = (int64_t{1} << 62) - 1; }},
      {"tensors[1].name: \"x\" is tensors[0] too (give each its own name)",
       [](auto* p) { p->tensors[1].name = "x"; }},
      {"tensors[0].name: \"2x\" is no name (letters, digits and underscores, a letter first)",
       [](auto* p) { p->tensors[0].name = "2x"; }},
      {"scalars[0].name: \"y\" is declared before (give each its own name)",
       [](auto* p) { p->scalars[0].name = "y"; }},
      {"scalars[0].name is NULL", [](auto* p) { p->scalars[0].name = nullptr; }},
      {"scalars[0].value_class is 3 (0 to 2)", [](auto* p) { p->scalars[0].value_class = 3; }},
      {"line 1, column 8: tensor \"z\" is declared in the text, but here the caller declares "
       "(remove it)",
       [](auto* p) { p->formula.text = "tensor z: f32[8]; y[i] = a*x[i]"; }},
  };
  for (const Fault& fault : faults) {
    FormulaParts parts;
    fault.edit(&parts);
    const Result<Task> task = MakeFormula(parts.formula);
    ASSERT_FALSE(task.ok()) << fault.message;
    EXPECT_EQ(task.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(task.status().message(), fault.message);
  }
}

TEST(MakeContract, DefaultsAndFaults) {
  const Result<Contract> defaults = MakeContract(nullptr);
  ASSERT_TRUE(defaults.ok());
  EXPECT_EQ(*defaults, Contract{});
  hiera_contract given = HIERA_CONTRACT_INIT;
  EXPECT_EQ(*MakeContract(&given), Contract{});
  given.workspace_bytes = UINT64_MAX;
  given.finite_only = 1;
  given.arithmetic = HIERA_ARITHMETIC_EXACT;
  const Result<Contract> made = MakeContract(&given);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->workspace_bytes, 0);
  EXPECT_FALSE(made->special_values);
  EXPECT_EQ(made->arithmetic, Arithmetic::kExact);
  given.error_scale = -1;
  EXPECT_EQ(MakeContract(&given).status().message(),
            "contract.error_scale is -1.000000 (above 0, at most 1e6)");
  given.error_scale = 0;
  given.accumulate = HIERA_F16;
  EXPECT_EQ(MakeContract(&given).status().message(),
            "contract.accumulate is 3 (HIERA_F32, HIERA_F64, or 0 for the default)");
  given.accumulate = 0;
  given.alignment = 32;
  EXPECT_EQ(MakeContract(&given).status().message(), "contract.alignment is 32 (0, 1 or 16)");
}

TEST(MakeContract, AccumulatesInTheWidestTensor) {
  FormulaParts parts;
  parts.tensors[0].dtype = HIERA_F64;
  EXPECT_EQ(MakeFormula(parts.formula)->contract.accumulate, DType::kF64);
  hiera_contract contract = HIERA_CONTRACT_INIT;
  contract.accumulate = HIERA_F32;
  parts.formula.contract = &contract;
  EXPECT_EQ(MakeFormula(parts.formula).status().message(),
            "contract.accumulate is HIERA_F32, but a tensor is f64 (HIERA_F64, or 0 for the "
            "default)");
}

}  // namespace
}  // namespace hiera
