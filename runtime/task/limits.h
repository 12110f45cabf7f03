// Limits of a task. Everything that a text or a descriptor can make large has one, so that no input
// makes the parser, or what works on its result, run out of stack, memory or time.
#ifndef HIERA_RUNTIME_TASK_LIMITS_H_
#define HIERA_RUNTIME_TASK_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace hiera {

inline constexpr size_t kMaxTextBytes = size_t{1} << 16;
inline constexpr size_t kMaxNameBytes = 64;
inline constexpr int kMaxNesting = 200;     // parentheses, brackets and unary operators in text
inline constexpr int kMaxNodes = 8192;      // of a formula
inline constexpr int kMaxNodeDepth = 1024;  // from a statement's root to a leaf
inline constexpr int64_t kMaxTreeNodes = 1 << 16;  // of a statement, shared nodes counted each time
inline constexpr int kMaxTensors = 64;             // bound and local together
inline constexpr int kMaxScalars = 64;
inline constexpr int kMaxStatements = 64;
inline constexpr int kMaxIndices = 512;     // of a formula
inline constexpr int kMaxBoundIndices = 8;  // of one reduction
inline constexpr int64_t kMaxSteps = int64_t{1} << 24;
inline constexpr int64_t kMaxCoefficient = int64_t{1}
                                           << 31;         // in a subscript: factor, offset, divisor
inline constexpr int64_t kMaxInteger = int64_t{1} << 53;  // a literal: exact as a double
inline constexpr int64_t kMaxElements = int64_t{1} << 62;  // extents, strides, spans, iterations

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_LIMITS_H_
