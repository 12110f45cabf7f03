// CheckVariant: buffers with guard zones, a parallel region cut into pieces, and the comparison.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "runtime/task/reference.h"
#include "tests/unit/policies/variant_batch.h"

namespace hiera::testing {
namespace {

constexpr int64_t kGuardBytes = 256;
constexpr unsigned char kPoison = 0xA5;

// One bound tensor's memory: guard, elements, guard.
struct Buffer {
  std::vector<unsigned char> bytes;
  unsigned char* data() { return bytes.data() + kGuardBytes; }
};

int64_t OffsetOf(const TensorSpec& tensor, int64_t element) {
  int64_t offset = 0;
  for (int axis = tensor.rank() - 1; axis >= 0; --axis) {
    offset += element % tensor.extents[axis] * tensor.strides[axis];
    element /= tensor.extents[axis];
  }
  return offset;
}

long double DrawValue(Draw draw, DType dtype, std::mt19937_64& random) {
  if (dtype == DType::kBool) return static_cast<long double>(random() & 1);
  if (dtype == DType::kI32) return static_cast<long double>(static_cast<int64_t>(random() % 9) - 1);
  std::normal_distribution<double> normal;
  const double value = normal(random);
  if (draw == Draw::kPositive) return 0.25 + std::fabs(value);
  if (draw == Draw::kSpecial && random() % 16 == 0) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double special[] = {kInfinity, -kInfinity, std::nan(""), 0.0, -0.0};
    return special[random() % 5];
  }
  return value;
}

void Fill(const TensorSpec& tensor, Draw draw, std::mt19937_64& random, Buffer* buffer) {
  for (int64_t e = 0; e < tensor.elements(); ++e) {
    StoreRounded(DrawValue(draw, tensor.dtype, random), tensor.dtype,
                 buffer->data() + OffsetOf(tensor, e) * SizeOf(tensor.dtype));
  }
}

// Pieces of [0, count) one after another, each as a thread of its own would get it.
void RunPieces(const hiera_parallel* self, long count,
               void (*body)(void* context, long begin, long end, int thread), void* context) {
  for (int t = 0; t < self->threads; ++t) {
    const long begin = count * t / self->threads, end = count * (t + 1) / self->threads;
    if (begin < end) body(context, begin, end, t);
  }
}

std::string Describe(const TensorSpec& tensor, const ReferenceElement& element, long double got) {
  return tensor.name + "[element at " + std::to_string(element.position) + "] is " +
         std::to_string(got) + ", reference " + std::to_string(element.value) + " (magnitude " +
         std::to_string(element.magnitude) + ", " + std::to_string(element.terms) + " terms)";
}

}  // namespace

std::string CheckVariant(const Task& task, hiera_variant_fn entry, int64_t workspace_bytes,
                         int threads, Draw draw, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Buffer> before(task.bound_count);
  for (int t = 0; t < task.bound_count; ++t) {
    const TensorSpec& tensor = task.tensors[t];
    before[t].bytes.assign(2 * kGuardBytes + tensor.span_bytes(), kPoison);
    if (RoleOf(task, t) != Role::kOutput || CanReadOutside(task, t)) {
      Fill(tensor, draw, random, &before[t]);
    }
  }
  std::vector<Buffer> actual = before, expected = before;
  std::vector<void*> pointers, reference_pointers;
  for (int t = 0; t < task.bound_count; ++t) {
    pointers.push_back(actual[t].data());
    reference_pointers.push_back(before[t].data());
  }
  std::vector<double> scalars;
  for (const ScalarSpec& scalar : task.scalars) {
    const bool any = scalar.value_class == ScalarClass::kAny;
    scalars.push_back(any ? 1.25 : scalar.value_class == ScalarClass::kOne ? 1 : 0);
  }
  auto reference = RunReference(task, reference_pointers.data(), scalars.data());
  if (!reference.ok()) return "reference: " + reference.status().message();

  constexpr int64_t kLine = 64;
  std::vector<unsigned char> workspace(workspace_bytes + 2 * kLine + kGuardBytes, kPoison);
  auto* aligned = reinterpret_cast<unsigned char*>(
      (reinterpret_cast<uintptr_t>(workspace.data()) + kLine - 1) / kLine * kLine);
  const hiera_parallel parallel{RunPieces, threads};
  const hiera_host_call call{pointers.data(), scalars.data(), aligned, &parallel};
  entry(&call);

  for (int64_t i = workspace_bytes; i < workspace_bytes + kLine; ++i) {
    if (aligned[i] != kPoison) return "wrote behind its workspace";
  }
  for (const ReferenceOutput& output : *reference) {
    const TensorSpec& tensor = task.tensors[output.tensor];
    for (const ReferenceElement& element : output.elements) {
      const int64_t at = element.position * SizeOf(tensor.dtype);
      unsigned char* got = actual[output.tensor].data() + at;
      unsigned char* was = expected[output.tensor].data() + at;
      const bool unchanged = std::memcmp(got, was, SizeOf(tensor.dtype)) == 0;
      if (element.written ? !Admits(element, task.contract, tensor.dtype, got) : !unchanged) {
        return Describe(tensor, element, LoadExact(tensor.dtype, got));
      }
      std::memcpy(was, got, SizeOf(tensor.dtype));
    }
  }
  for (int t = 0; t < task.bound_count; ++t) {
    if (actual[t].bytes != expected[t].bytes) {
      return "changed bytes of " + task.tensors[t].name + " that are not its elements to write";
    }
  }
  return "";
}

}  // namespace hiera::testing
