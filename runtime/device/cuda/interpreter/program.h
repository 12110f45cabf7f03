// Program: the instructions that the interpreter kernel runs, as 32-bit words. Read by host code,
// device code and the CPU shim alike, so it includes nothing of any of them.
//
// A stage computes one output element ("point") by a team of threads: one thread, a warp or a whole
// block. Every thread of a team runs the same instructions on its own slots; loops marked kByTeam
// deal their turns out to the team, and kCombine makes one value of the team's.
//
// A slot holds one value. Wide slots (8 bytes) hold integers and, where reals are f64, reals;
// narrow ones (4 bytes) hold booleans and f32 reals. The two kinds are numbered apart.
//
// An instruction begins with a word of four bytes: code, out, a, b. More words follow as said
// below; "long" is two words, the low one first, or one in a program whose longs all fit. "terms"
// are (slot of an index, coefficient long).
#ifndef HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_PROGRAM_H_
#define HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_PROGRAM_H_

#include <cstdint>

#include "runtime/device/interpreter/storage.h"

namespace hiera::cuda {

enum class Code : uint8_t {
  kStop,
  kPoint,      // a axes: (slot, extent long) innermost first; their values at this point
  kReal,       // out = constant; the bits of a double, two words
  kInteger,    // out = constant long
  kBoolean,    // out = a
  kScalar,     // out = scalar; word: its number
  kLinear,     // out = offset long + a terms
  kLoad,       // out = element offset long + a terms of buffer b; word: Storage. Never outside.
  kLoadRuled,  // out = element of buffer b by rule; word: RuledWord; a axes, each AxisWord, offset
               // long, divisor long, extent long, stride long, terms
  kStore,      // element offset long + a terms of buffer b = out; word: StoreWord
  kLoop,       // out = 0 or the thread's number; a: kByTeam or 0; extent long; words of the body
  kNext,       // out += 1 or the team's size; a; extent long; words back to the body's start
  kSplit,      // b axes, innermost first: (slot, extent long) = the parts of slot a
  kDot,        // out += sum over the loop of load a * load b; see DotWord
  kCombine,    // out = combination of the team's; a: Combination, b: Type
  kArgStep,  // (out, a) = step of an arg-reduction with value b; words: slot of the index, ArgWord
  kArgCombine,   // (out, a) = the team's winner; word: ArgWord
  kSelect,       // out = a ? b : c; words: c, Type
  kMultiplyAdd,  // out = a * b + c in one rounding; word: c
  kToRealInt,
  kToRealBool,

  // Reals: out = f(a) or f(a, b).
  kNeg,
  kAbs,
  kExp,
  kLog,
  kSin,
  kCos,
  kSqrt,
  kRsqrt,
  kTanh,
  kErf,
  kSigmoid,
  kRelu,
  kGelu,
  kSilu,
  kFloor,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kPow,
  kMin,
  kMax,
  kLess,
  kLessEqual,
  kEqual,
  kNotEqual,
  // Integers.
  kNegInt,
  kAbsInt,
  kAddInt,
  kSubInt,
  kMulInt,
  kMinInt,
  kMaxInt,
  kModInt,
  kLessInt,
  kLessEqualInt,
  kEqualInt,
  kNotEqualInt,
  // Booleans.
  kNot,
  kAnd,
  kOr,
  kMinBool,
  kMaxBool,
  kLessBool,
  kLessEqualBool,
  kEqualBool,
  kNotEqualBool,
};

enum class Type : uint8_t { kReal, kInteger, kBoolean };
enum class Combination : uint8_t { kSum, kProduct, kMax, kMin };

inline constexpr uint32_t kByTeam = 1;

// RuledWord: Storage | rule (as Outside) << 4 | slot of the mask + 1 << 8; 0: no mask.
// AxisWord: terms | 1 << 8 where the subscript is a gather | its slot << 16.
// StoreWord: Storage | Type << 4 | slot of the mask + 1 << 8.
// ArgWord: Type | 1 << 4 where the largest wins.
// DotWord, after the head (a, b: buffers): Storage of a | Storage of b << 4 | kByTeam << 8 |
// 1 << 9 where products are rounded | terms of a << 16 | terms of b << 24; then the loop's extent
// long; then for each load its stride along the loop long, offset long, terms.

// What a launch is given, by value. Buffers, scalars and code lie in `data` one after another, the
// code elsewhere where it is too long.
inline constexpr int kDataWords = 496;

struct Launch {
  int64_t points;
  const uint32_t* far_code;  // null: in data, from code_at on
  uint32_t scalars_at;       // in data, in units of 8 bytes
  uint32_t code_at;
  uint32_t team;  // threads
  uint32_t wide_slots;
  uint32_t short_longs;  // 1, as always where the code is in data: a long is one word, and every
                         // index is below 2^31
  uint32_t point_at;     // in the code: kPoint; what comes before is done once a thread
  uint64_t data[kDataWords];
};
static_assert(sizeof(Launch) <= 4096, "what a kernel's parameters may take");

struct ScanLaunch {
  void* rows;
  int64_t count;   // of rows
  int64_t extent;  // of one
  uint32_t product, reverse, exclusive, ordered;
};

// Shared memory of a launch: values that warps exchange, then wide slots, then narrow ones.
inline constexpr uint32_t kExchangeBytes = 32 * 16;
inline constexpr uint32_t kMostSlots = 250;  // of either kind
inline constexpr uint32_t kMostShared = 48 << 10;

}  // namespace hiera::cuda

#endif  // HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_PROGRAM_H_
