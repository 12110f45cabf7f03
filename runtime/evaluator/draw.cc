#include "runtime/evaluator/draw.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/evaluator/elements.h"
#include "runtime/task/reference.h"

namespace hiera {
namespace {

constexpr int64_t kBlockElements = 262'139;  // prime
// Binades on either side of 1 that kWide reaches: sums and products of a few stay finite.
int WideBinades(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 5;
    case DType::kF64:
      return 40;
    default:
      return 20;
  }
}

double DrawReal(Distribution distribution, Inputs inputs, int binades, Random& random) {
  switch (distribution) {
    case Distribution::kUniform:
      return 2 * random.Uniform() - 1;
    case Distribution::kWide: {
      const double magnitude = std::exp2((2 * random.Uniform() - 1) * binades);
      return random.Bits() & 1 ? magnitude : -magnitude;
    }
    case Distribution::kPositive:
      return 0.5 + random.Uniform();
    case Distribution::kSpecial:
      return inputs == Inputs::kPositive ? 0.5 + random.Uniform() : random.Normal();
    case Distribution::kNormal:
      break;
  }
  return random.Normal();
}

// The integers of a tensor of subscripts reach outside it now and then; plain ones are small.
int64_t DrawInteger(int64_t gather_extent, Random& random) {
  if (gather_extent <= 0) return static_cast<int64_t>(random.Below(201)) - 100;
  if (random.Below(20) != 0) return static_cast<int64_t>(random.Below(gather_extent));
  const int64_t outside[] = {-1, gather_extent, gather_extent + 7, -1000};
  return outside[random.Below(4)];
}

void DrawElement(DType dtype, Distribution distribution, Inputs inputs, int64_t gather_extent,
                 Random& random, void* element) {
  if (dtype == DType::kBool) {
    // Any byte but 0 reads as true.
    const uint8_t truth = distribution == Distribution::kSpecial && random.Below(8) == 0 ? 0x80 : 1;
    *static_cast<uint8_t*>(element) = random.Bits() & 1 ? truth : 0;
  } else if (dtype == DType::kI32) {
    const int32_t value = static_cast<int32_t>(DrawInteger(gather_extent, random));
    std::memcpy(element, &value, sizeof value);
  } else if (dtype == DType::kF32) {
    const float value =
        static_cast<float>(DrawReal(distribution, inputs, WideBinades(dtype), random));
    std::memcpy(element, &value, sizeof value);
  } else {
    StoreRounded(DrawReal(distribution, inputs, WideBinades(dtype), random), dtype, element);
  }
}

// Puts special values at up to 16 places, at most one in 64.
void Sprinkle(const TensorSpec& tensor, Random& random, std::byte* data) {
  const long double specials[] = {std::numeric_limits<long double>::quiet_NaN(),
                                  std::numeric_limits<long double>::infinity(),
                                  -std::numeric_limits<long double>::infinity(),
                                  -0.0L,
                                  0.0L,
                                  tensor.dtype == DType::kF64 ? 0x1p-1060L : 0x1p-140L};
  const int64_t elements = tensor.elements();
  const int64_t places = std::clamp<int64_t>(elements / 64, 1, 16);
  const uint64_t first = random.Below(3);
  for (int64_t i = 0; i < places && elements > 0; ++i) {
    int64_t position = 0;
    for (int axis = 0; axis < tensor.rank(); ++axis) {
      position += tensor.strides[axis] * static_cast<int64_t>(random.Below(tensor.extents[axis]));
    }
    StoreRounded(specials[(first + static_cast<uint64_t>(i)) % 6], tensor.dtype,
                 data + position * SizeOf(tensor.dtype));
  }
}

// Marks the tensors that are read inside the subscript expression `node`.
void MarkGathered(const Task& task, int node, int64_t extent, std::vector<int64_t>& extents) {
  const Node& n = task.formula.nodes[node];
  if (n.op == Op::kLoad && !task.is_local(n.target)) {
    int64_t& known = extents[n.target];
    known = known == 0 ? extent : std::min(known, extent);
  }
  for (const int operand : n.operands) MarkGathered(task, operand, extent, extents);
}

}  // namespace

std::string_view DistributionName(Distribution distribution) {
  switch (distribution) {
    case Distribution::kNormal:
      return "normal";
    case Distribution::kUniform:
      return "uniform";
    case Distribution::kWide:
      return "wide-range";
    case Distribution::kPositive:
      return "positive";
    case Distribution::kSpecial:
      return "special";
  }
  return "?";
}

std::vector<int64_t> GatherExtents(const Task& task) {
  std::vector<int64_t> extents(task.bound_count, 0);
  for (const Node& node : task.formula.nodes) {
    if (node.op != Op::kLoad) continue;
    for (size_t axis = 0; axis < node.subscripts.size(); ++axis) {
      const int gather = node.subscripts[axis].gather;
      if (gather < 0) continue;
      MarkGathered(task, gather, task.tensors[node.target].extents[axis], extents);
    }
  }
  return extents;
}

void DrawTensor(const TensorSpec& tensor, Distribution distribution, Inputs inputs,
                int64_t gather_extent, Random& random, void* data) {
  const int64_t size = SizeOf(tensor.dtype);
  const int64_t elements = tensor.elements();
  std::byte* out = static_cast<std::byte*>(data);
  std::vector<std::byte> block(std::min(elements, kBlockElements) * size);
  for (size_t at = 0; at < block.size(); at += size) {
    DrawElement(tensor.dtype, distribution, inputs, gather_extent, random, block.data() + at);
  }
  int64_t from = 0;  // bytes into the block
  const int64_t end = static_cast<int64_t>(block.size());
  ForEachRow(tensor, [&](int64_t position, int64_t count, int64_t stride) {
    for (int64_t done = 0; done < count;) {
      const int64_t piece = stride == 1 ? std::min(count - done, (end - from) / size) : 1;
      std::memcpy(out + (position + done * stride) * size, block.data() + from, piece * size);
      done += piece;
      from += piece * size;
      if (from == end) from = 0;
    }
  });
  if (distribution == Distribution::kSpecial && IsReal(tensor.dtype)) Sprinkle(tensor, random, out);
}

std::vector<double> DrawScalars(const Task& task, Distribution distribution, Random& random) {
  std::vector<double> scalars;
  for (const ScalarSpec& scalar : task.scalars) {
    double value = 0;
    if (scalar.value_class == ScalarClass::kOne) value = 1;
    if (scalar.value_class == ScalarClass::kAny) {
      // Away from 0 and 1, which are other tasks, and from what would make outputs explode.
      value = 0.25 + random.Uniform() / 2;
      const bool positive =
          distribution == Distribution::kPositive || task.contract.inputs == Inputs::kPositive;
      if (!positive && (random.Bits() & 1)) value = -value;
    }
    scalars.push_back(value);
  }
  return scalars;
}

}  // namespace hiera
