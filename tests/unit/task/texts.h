// Reading task texts in tests: a text that must parse.
#ifndef HIERA_TESTS_UNIT_TASK_TEXTS_H_
#define HIERA_TESTS_UNIT_TASK_TEXTS_H_

#include <gtest/gtest.h>

#include <string>

#include "runtime/task/parse.h"

namespace hiera {

inline Task Parsed(const std::string& text) {
  Result<Task> task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << text << "\n" << task.status().message();
  return task.ok() ? *task : Task{};
}

inline std::string CanonicalOf(const std::string& text) { return CanonicalText(Parsed(text)); }

}  // namespace hiera

#endif  // HIERA_TESTS_UNIT_TASK_TEXTS_H_
