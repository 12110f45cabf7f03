// VariantBatch: builds many generated sources in a few compiler runs, loads them and runs them
// under the eyes of the reference. For tests of policies.
#ifndef HIERA_TESTS_UNIT_POLICIES_VARIANT_BATCH_H_
#define HIERA_TESTS_UNIT_POLICIES_VARIANT_BATCH_H_

#include <string>
#include <vector>

#include "runtime/device/host/abi.h"
#include "runtime/task/task.h"

namespace hiera::testing {

class VariantBatch {
 public:
  VariantBatch();
  ~VariantBatch();  // unloads and removes its files
  VariantBatch(const VariantBatch&) = delete;
  VariantBatch& operator=(const VariantBatch&) = delete;

  // Adds a source that defines hiera_variant after abi.h; returns its number.
  int Add(const std::string& source);

  // Compiles everything added, with `flags` after the evaluator's own. "" or the compiler's words.
  std::string Build(const std::string& compiler, const std::string& flags);

  hiera_variant_fn Entry(int number) const { return entries_[number]; }

 private:
  std::string folder_;
  std::vector<std::string> sources_;
  std::vector<hiera_variant_fn> entries_;
  std::vector<void*> libraries_;
};

// What the inputs of a check look like.
enum class Draw { kNormal, kPositive, kSpecial };

// Runs `entry` on random inputs, cut into pieces for `threads` threads, and judges it: outputs
// against the reference, inputs and everything around the elements unchanged. "" or what is wrong.
std::string CheckVariant(const Task& task, hiera_variant_fn entry, int64_t workspace_bytes,
                         int threads, Draw draw, uint64_t seed);

}  // namespace hiera::testing

#endif  // HIERA_TESTS_UNIT_POLICIES_VARIANT_BATCH_H_
