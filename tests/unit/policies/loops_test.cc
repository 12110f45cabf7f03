// Plain loops against the reference, for formulas of every kind.
#include "policies/framework/loops.h"

#include <gtest/gtest.h>

#include "runtime/task/parse.h"
#include "tests/unit/policies/formula_cases.h"
#include "tests/unit/policies/variant_batch.h"
#include "tests/unit/task/operator_catalogue.h"

namespace hiera::testing {
namespace {

TEST(Loops, AgreeWithTheReference) {
  struct Built {
    std::string name;
    Task task;
    int64_t workspace_bytes;
    int number;
  };
  VariantBatch batch;
  std::vector<Built> built;
  std::vector<FormulaCase> formulas(std::begin(kFormulaCases), std::end(kFormulaCases));
  const size_t own = formulas.size();
  for (const CatalogueEntry& entry : kOperatorCatalogue) {
    formulas.push_back({entry.name, entry.text});
  }
  for (const FormulaCase& formula : formulas) {
    const bool of_catalogue = &formula >= &formulas[own];
    auto task = ParseTask(formula.text);
    ASSERT_TRUE(task.ok()) << formula.name << ": " << task.status().message();
    for (int64_t block : {0, 8}) {
      if (of_catalogue && block == 0) continue;  // compile time
      auto source = WriteLoops(*task, {.block = block});
      ASSERT_TRUE(source.ok()) << formula.name << ": " << source.status().message();
      built.push_back({formula.name + " block " + std::to_string(block), *task,
                       source->workspace_bytes, batch.Add(source->text)});
    }
  }
  ASSERT_EQ(batch.Build("g++", "-O1 -ffp-contract=off -Wall -Wextra -Werror -Wno-unused-function"),
            "");
  for (const Built& b : built) {
    for (const Draw draw : {Draw::kNormal, Draw::kSpecial}) {
      for (const int threads : {1, 3}) {
        EXPECT_EQ(CheckVariant(b.task, batch.Entry(b.number), b.workspace_bytes, threads, draw, 7),
                  "")
            << b.name;
      }
    }
  }
}

}  // namespace
}  // namespace hiera::testing
