// Drawing the inputs of trials. Every draw follows from its seed.
#ifndef HIERA_RUNTIME_EVALUATOR_DRAW_H_
#define HIERA_RUNTIME_EVALUATOR_DRAW_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/evaluator/random.h"
#include "runtime/task/task.h"

namespace hiera {

enum class Distribution : uint8_t {
  kNormal,    // N(0, 1): what shows a loss of precision that positive numbers would hide
  kUniform,   // (-1, 1)
  kWide,      // random signs, magnitudes spread evenly over many binades
  kPositive,  // (0.5, 1.5)
  kSpecial,   // as the contract's inputs, with a few NaNs, infinities, zeros and subnormals
};
std::string_view DistributionName(Distribution distribution);

// What the values of an integer tensor stand for: subscripts along an axis of that extent (the
// smallest, where it serves several), or plain numbers (0).
std::vector<int64_t> GatherExtents(const Task& task);

// Fills the elements of one tensor; bytes between them are left alone. Large tensors repeat a block
// of a quarter of a million elements, whose length is prime.
void DrawTensor(const TensorSpec& tensor, Distribution distribution, Inputs inputs,
                int64_t gather_extent, Random& random, void* data);

// One value per scalar, of its class.
std::vector<double> DrawScalars(const Task& task, Distribution distribution, Random& random);

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_DRAW_H_
