// LibraryChoice: one way in which a vendor's library can compute a task, as an evaluator found it
// on a device. Plain values that travel to the planner, whose policies order them.
#ifndef HIERA_RUNTIME_TASK_LIBRARY_CHOICE_H_
#define HIERA_RUNTIME_TASK_LIBRARY_CHOICE_H_

#include <string>
#include <vector>

#include "runtime/task/variant.h"

namespace hiera {

struct LibraryChoice {
  LaunchPlan plan;   // by structure: "library cublaslt ... algo=66 tile=20 ..."
  std::string name;  // for people; unique within the family and the task
  int32_t rank = -1;  // position in the library's own ranking; -1: it does not rank it
  double waves = 0;   // of blocks over the device, where the library says so

  friend bool operator==(const LibraryChoice&, const LibraryChoice&) = default;
};

// What one library offers for a task: ranked choices first, in its order, then the others. None
// stands twice.
struct LibraryOffer {
  std::string family;  // "cublaslt", "cudnn"
  std::vector<Requirement> requirements;  // of every choice
  std::vector<LibraryChoice> choices;
  std::string refusal;  // why there are none, where there are none

  friend bool operator==(const LibraryOffer&, const LibraryOffer&) = default;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_LIBRARY_CHOICE_H_
