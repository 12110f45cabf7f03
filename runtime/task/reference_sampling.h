// Which elements of an output a sampled reference computes. Pure functions.
#ifndef HIERA_RUNTIME_TASK_REFERENCE_SAMPLING_H_
#define HIERA_RUNTIME_TASK_REFERENCE_SAMPLING_H_

#include <cstdint>
#include <vector>

namespace hiera::reference {

// At most `most` (0: all) row-major element numbers of a tensor of these extents, ascending and
// distinct. First the corners, then up to half of `most` from the faces (an index at either end),
// axis by axis in turn, then one from each of equal ranges of the whole.
std::vector<int64_t> SampleElements(const std::vector<int64_t>& extents, int64_t most,
                                    uint64_t seed);

}  // namespace hiera::reference

#endif  // HIERA_RUNTIME_TASK_REFERENCE_SAMPLING_H_
