// LtAlgorithm: one way in which cuBLASLt multiplies, by structure: the attributes that name it
// whatever list it came from and however much memory is free. A plain value; pure functions.
#ifndef HIERA_RUNTIME_TASK_LT_ALGORITHM_H_
#define HIERA_RUNTIME_TASK_LT_ALGORITHM_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace hiera {

// The numbers are cuBLASLt's own (cublasLtMatmulAlgoConfigAttributes_t). They mean the same only in
// the library that gave them, which a variant therefore requires.
struct LtAlgorithm {
  int32_t id = 0;
  uint32_t tile = 0;       // cublasLtMatmulTile_t; 0: the algorithm's own
  uint32_t stages = 0;     // cublasLtMatmulStages_t; 0: the algorithm's own
  int32_t split_k = 1;     // parts of the sum that are computed side by side
  uint32_t reduction = 0;  // cublasLtReductionScheme_t: how the parts are added up
  uint32_t swizzle = 0;    // order of the blocks
  uint32_t custom = 0;
  uint16_t inner_shape = 0;  // cublasLtMatmulInnerShape_t
  uint16_t cluster = 0;      // cublasLtClusterShape_t; 0: the algorithm's own

  // "algo=66 tile=20 stages=16 splitk=1 reduce=0 swizzle=0 custom=0 inner=0 cluster=3".
  std::string Text() const;
  // For people: "66 128x128 64x4 cluster 2x1", without what is at its default.
  std::string Name() const;

  friend bool operator==(const LtAlgorithm&, const LtAlgorithm&) = default;
  friend auto operator<=>(const LtAlgorithm&, const LtAlgorithm&) = default;
};

// Reads back what Text wrote, and nothing else. Errors: kInvalidArgument, naming the field.
Result<LtAlgorithm> ParseLtAlgorithm(std::string_view text);

// cublasLtReductionScheme_t.
enum LtReduction : uint32_t {
  kLtReduceNone = 0,
  kLtReduceInPlace = 1,      // in the output, in its type
  kLtReduceComputeType = 2,  // in a workspace, in the type of the sums
  kLtReduceOutputType = 4,   // in a workspace, in the output's type
};

inline constexpr uint32_t kLtTiles = 635;  // values of cublasLtMatmulTile_t that are known here

// Rows and columns of a tile, as the (column-major) output has them; empty for 0 and unknown tiles.
std::optional<std::array<int, 2>> LtTileShape(uint32_t tile);
// Blocks of a cluster along rows and columns; empty for 0 and unknown shapes.
std::optional<std::array<int, 2>> LtClusterShape(uint16_t cluster);
// Depth of a stage and number of stages (0: as many as fit); empty for 0 and unknown values.
std::optional<std::array<int, 2>> LtStageShape(uint32_t stages);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_LT_ALGORITHM_H_
