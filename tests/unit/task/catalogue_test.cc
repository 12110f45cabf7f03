// Every kind of operator can be said, and what is said survives the canonical text.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "runtime/task/classify.h"
#include "runtime/task/cost.h"
#include "tests/unit/task/operator_catalogue.h"
#include "tests/unit/task/texts.h"

namespace hiera {
namespace {

class Catalogue : public testing::TestWithParam<CatalogueEntry> {};

TEST_P(Catalogue, CanBeSaid) {
  const Task task = Parsed(GetParam().text);
  const std::string text = CanonicalText(task);
  const Task again = Parsed(text);
  EXPECT_EQ(CanonicalText(again), text);
  EXPECT_EQ(Classify(again), Classify(task));
  EXPECT_EQ(CostOf(again).bytes, CostOf(task).bytes);
  EXPECT_GT(CostOf(task).bytes, 0);
  ASSERT_EQ(again.tensors.size(), task.tensors.size());
  for (size_t t = 0; t < task.tensors.size(); ++t) {
    EXPECT_EQ(again.tensors[t].extents, task.tensors[t].extents);
    EXPECT_EQ(again.tensors[t].dtype, task.tensors[t].dtype);
    EXPECT_EQ(RoleOf(again, static_cast<int>(t)), RoleOf(task, static_cast<int>(t)));
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, Catalogue, testing::ValuesIn(kOperatorCatalogue),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Catalogue, NamesAndTasksDiffer) {
  std::set<std::string> names;
  std::set<std::string> texts;
  for (const CatalogueEntry& entry : kOperatorCatalogue) {
    names.insert(entry.name);
    texts.insert(CanonicalOf(entry.text));
  }
  EXPECT_EQ(names.size(), std::size(kOperatorCatalogue));
  EXPECT_EQ(texts.size(), std::size(kOperatorCatalogue));
}

}  // namespace
}  // namespace hiera
