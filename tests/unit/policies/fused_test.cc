// Fused rows against the reference, the reasons for which they refuse, and their mathematics.
#include <gtest/gtest.h>

#include "policies/kernel/fused/row_program.h"
#include "policies/kernel/fused/row_writer.h"
#include "policies/kernel/fused_policy.h"
#include "runtime/task/parse.h"
#include "tests/unit/policies/formula_cases.h"
#include "tests/unit/policies/variant_batch.h"
#include "tests/unit/task/operator_catalogue.h"

namespace hiera::testing {
namespace {

// More shapes of rows than kFormulaCases has.
const FormulaCase kRowCases[] = {
    {"chain of statements",
     "tensor x: f32[6,67]; tensor w: f32[67]; tensor y: f32[6,67]; tensor z: f32[6]\n"
     "a[i,j] = gelu(x[i,j]); s[i] = sum(j: a[i,j] * a[i,j]); z[i] = sqrt(s[i])\n"
     "y[i,j] = a[i,j] * rsqrt(s[i] / 67 + 0.00001) * w[j]"},
    {"softmax over inner axes",
     "tensor x: f32[4,6,20] strides[150,25,1]; tensor y: f32[4,6,20]\n"
     "m[b] = max(i, j: x[b,i,j]); e[b,i,j] = exp(x[b,i,j] - m[b])\n"
     "y[b,i,j] = e[b,i,j] / sum(k, l: e[b,k,l])"},
    {"softmax over columns",
     "tensor x: f32[21,6]; tensor y: f32[21,6]\n"
     "m[j] = max(i: x[i,j]); e[i,j] = exp(x[i,j] - m[j]); y[i,j] = e[i,j] / sum(k: e[k,j])"},
    {"softmax of halves",
     "tensor x: f16[5,77]; tensor y: bf16[5,77]; scalar t\n"
     "m[i] = max(j: x[i,j]); e[i,j] = exp(t * (x[i,j] - m[i])); y[i,j] = e[i,j] / sum(k: e[i,k])"},
    {"f64 functions",
     "tensor x: f64[3,35]; tensor y: f64[3,35]\n"
     "y[i,j] = erf(x[i,j]) + tanh(x[i,j]) * sigmoid(x[i,j]) + gelu(x[i,j]) * sin(x[i,j])"},
    {"masks and indices along the row",
     "tensor x: f32[9,41]; tensor m: bool[41]; tensor y: f32[9,41]; tensor z: bool[9,41]\n"
     "tensor n: f32[9]\n"
     "y[i,j] = select(m[j] and j <= i + 7, x[i,j], -1); z[i,j] = x[i,j] > 0 or j == 3\n"
     "n[i] = sum(j: select(x[i,j] > 0, 1.5, 0))"},
    {"transposed and broadcast",
     "tensor x: f32[18,22]; tensor r: f32[22]; tensor c: f32[18]; tensor y: f32[22,18]\n"
     "y[j,i] = x[i,j] * r[j] + c[i]"},
    {"one long row",
     "tensor x: f32[70001]; tensor y: f32[70001]; tensor n: f32[]; tensor h: f32[]\n"
     "n = sqrt(sum(i: x[i] * x[i])); h = max(i: abs(x[i])); y[i] = x[i] / sqrt(sum(k: x[k]*x[k]))"},
    {"two long rows",
     "tensor x: f64[2,9001]; tensor y: f64[2,9001]; tensor a: bool[2]\n"
     "m[i] = mean(j: x[i,j]); y[i,j] = x[i,j] - m[i]; a[i] = any(j: x[i,j] > 3)"},
};

TEST(FusedRows, AgreeWithTheReference) {
  struct Built {
    std::string name;
    Task task;
    int64_t workspace_bytes;
    int number;
  };
  VariantBatch batch;
  std::vector<Built> built;
  const std::vector<RowOptions> all_forms = {{32, 4, false}, {32, 2, true}, {16, 1, false}};
  const auto add = [&](const FormulaCase& formula, bool must,
                       const std::vector<RowOptions>& forms) {
    const auto task = ParseTask(formula.text);
    ASSERT_TRUE(task.ok()) << formula.name << ": " << task.status().message();
    const auto program = MakeRowProgram(*task);
    if (!program.ok()) {
      EXPECT_FALSE(must) << formula.name << ": " << program.status().message();
      return;
    }
    for (const RowOptions& options : forms) {
      const GeneratedSource source = WriteRows(*task, *program, options);
      built.push_back({formula.name + " vector " + std::to_string(options.vector_bytes) +
                           (options.split_rows ? " split" : ""),
                       *task, source.workspace_bytes, batch.Add(source.text)});
    }
  };
  for (const FormulaCase& formula : kFormulaCases) add(formula, false, all_forms);
  for (const FormulaCase& formula : kRowCases) add(formula, true, all_forms);
  const size_t own = built.size();
  for (const CatalogueEntry& entry : kOperatorCatalogue) {
    add({entry.name, entry.text}, false, {{32, 2, false}});
  }
  // Most of what networks are made of besides products, convolutions and scans is rows.
  EXPECT_GE(built.size() - own, std::size(kOperatorCatalogue) / 3);
  ASSERT_EQ(batch.Build("g++",
                        "-O1 -fno-math-errno -fno-trapping-math -Wall -Wextra -Werror"
                        " -Wno-unused-function -Wno-unused-parameter"),
            "");
  for (const Built& b : built) {
    for (const Draw draw : {Draw::kNormal, Draw::kSpecial}) {
      for (const int threads : {1, 3}) {
        EXPECT_EQ(CheckVariant(b.task, batch.Entry(b.number), b.workspace_bytes, threads, draw, 5),
                  "")
            << b.name;
      }
    }
  }
}

}  // namespace
}  // namespace hiera::testing
