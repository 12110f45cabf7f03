// The host's interpreter against the reference: every kind of operator, layout and rule.
#include <gtest/gtest.h>

#include "runtime/device/host/interpreter/interpreter.h"
#include "runtime/task/parse.h"
#include "tests/unit/device/interpreted_formulas.h"

namespace hiera {
namespace {

const ThreadPool& Pool(int threads) {
  static const ThreadPool& one = *new ThreadPool(1);
  static const ThreadPool& three = *new ThreadPool(3);
  return threads == 1 ? one : three;
}

class InterpreterTest : public testing::TestWithParam<FormulaGroup> {};

TEST_P(InterpreterTest, AgreesWithTheReference) {
  int formulas = 0;
  GetParam().visit(FormulaVisit([&](const std::string& text, InterpretedCase::Fill fill) {
    const Result<Task> task = ParseTask(text);
    ASSERT_TRUE(task.ok()) << text << "\n" << task.status().message();
    for (const int threads : {1, 3}) {
      const auto make = [&](const Task& t) { return MakeInterpreter(t, Pool(threads)); };
      EXPECT_EQ(InterpretedCase(*task, 17, fill).Check(make, 2), "") << threads << " threads\n"
                                                                     << text;
    }
    ++formulas;
  }));
  EXPECT_GT(formulas, 2);
}

INSTANTIATE_TEST_SUITE_P(Groups, InterpreterTest, testing::ValuesIn(FormulaGroups()),
                         [](const auto& group) { return std::string(group.param.name); });

}  // namespace
}  // namespace hiera
