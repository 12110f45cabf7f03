// The interpreter kernels: run any program of program.h. Compiled when HIERA is built, for every
// supported processor, and embedded; see there for what a program is.
//
// One kernel for each type that reals are computed in. Blocks take points in turn, so any grid
// does.
#include <cstdint>

#include "runtime/device/cuda/interpreter/numbers.cuh"
#include "runtime/device/cuda/interpreter/program.h"
#include "runtime/device/cuda/interpreter/team.cuh"

#ifndef HIERA_DYNAMIC_SHARED
#define HIERA_DYNAMIC_SHARED(name) extern __shared__ uint4 name[]
#endif

namespace hiera::cuda {
namespace {

// Where instructions are read from: the launch's own data, which is constant memory when it is
// addressed by number, or memory elsewhere.
struct Near {
  static __device__ uint32_t Word(const Launch& launch, uint32_t at) {
    return reinterpret_cast<const uint32_t*>(launch.data)[at];
  }
  static __device__ uint32_t Begin(const Launch& launch) { return 2 * launch.code_at; }
  static __device__ bool IsShort(const Launch&) { return true; }
};
struct Far {
  static __device__ uint32_t Word(const Launch& launch, uint32_t at) { return launch.far_code[at]; }
  static __device__ uint32_t Begin(const Launch&) { return 0; }
  static __device__ bool IsShort(const Launch& launch) { return launch.short_longs != 0; }
};

template <typename Where>
struct Reader {
  const Launch& launch;
  uint32_t at;

  __device__ bool IsShort() const { return Where::IsShort(launch); }
  __device__ uint32_t Word() { return Where::Word(launch, at++); }
  __device__ int64_t TwoWords() {
    const uint64_t low = Word(), high = Word();
    return static_cast<int64_t>(high << 32 | low);
  }
  __device__ int64_t Long() { return IsShort() ? static_cast<int32_t>(Word()) : TwoWords(); }
  // The product with an index; where longs are short so are both.
  __device__ int64_t Times(int64_t index, int64_t factor) const {
    if (!IsShort()) return index * factor;
    return static_cast<int64_t>(static_cast<int32_t>(index)) * static_cast<int32_t>(factor);
  }
};

// One thread's slots, interleaved with those of its block so that neighbours never meet in a bank.
template <typename R>
struct Slots {
  int64_t* wide;
  uint32_t* narrow;
  uint32_t stride;  // threads of the block

  __device__ int64_t& Integer(uint32_t slot) const { return wide[slot * stride]; }
  __device__ uint32_t& Boolean(uint32_t slot) const { return narrow[slot * stride]; }
  __device__ R& Real(uint32_t slot) const {
    if constexpr (sizeof(R) == 8) {
      return reinterpret_cast<double&>(wide[slot * stride]);
    } else {
      return reinterpret_cast<float&>(narrow[slot * stride]);
    }
  }
  // Offset and terms of a linear form.
  template <typename Where>
  __device__ int64_t Linear(Reader<Where>& code, uint32_t terms) const {
    return Terms(code, terms, code.Long());
  }
  template <typename Where>
  __device__ int64_t Terms(Reader<Where>& code, uint32_t terms, int64_t sum) const {
    for (uint32_t t = 0; t < terms; ++t) {
      const uint32_t slot = code.Word();
      const int64_t coefficient = code.Long();
      sum += code.Times(Integer(slot), coefficient);
    }
    return sum;
  }
};

// A subscript by the rule: false where the element is outside and the rule names none.
__device__ inline bool Resolve(uint32_t rule, int64_t extent, int64_t* subscript) {
  constexpr uint32_t kClamp = 2, kWrap = 3;  // of Outside
  if (*subscript >= 0 && *subscript < extent) return true;
  if (extent == 0) return false;
  if (rule == kClamp) {
    *subscript = *subscript < 0 ? 0 : extent - 1;
    return true;
  }
  if (rule == kWrap) {
    *subscript -= FloorDivide(*subscript, extent) * extent;
    return true;
  }
  return false;
}

template <typename R, typename Where>
class Machine {
 public:
  __device__ Machine(const Launch& launch, const Slots<R>& slots, const Team& team)
      : launch_(launch), slots_(slots), team_(team), code_{launch, Where::Begin(launch)} {}

  __device__ void Run(int64_t point);

 private:
  __device__ const void* Buffer(uint32_t number) const {
    return reinterpret_cast<const void*>(launch_.data[number]);
  }

  __device__ void Point(int64_t point, uint32_t axes);
  __device__ void Split(uint32_t from, uint32_t axes);
  __device__ void Load(uint32_t out, const void* base, int64_t at, Storage storage);
  __device__ void LoadRuled(uint32_t out, uint32_t axes, const void* base);
  __device__ void Store(uint32_t value, uint32_t terms, uint32_t buffer);
  __device__ void Dot(uint32_t out, uint32_t a, uint32_t b);
  __device__ void Combine(uint32_t out, Combination how, Type type);
  __device__ void ArgStep(uint32_t best, uint32_t at, uint32_t value);
  __device__ void ArgCombine(uint32_t best, uint32_t at);
  __device__ void Select(uint32_t out, uint32_t a, uint32_t b);
  __device__ void OfReals(Code code, uint32_t out, uint32_t a, uint32_t b);
  __device__ void OfIntegers(Code code, uint32_t out, uint32_t a, uint32_t b);
  __device__ void OfBooleans(Code code, uint32_t out, uint32_t a, uint32_t b);

  const Launch& launch_;
  const Slots<R> slots_;
  const Team team_;
  Reader<Where> code_;
};

template <typename R, typename Where>
__device__ void Machine<R, Where>::Point(int64_t point, uint32_t axes) {
  uint64_t rest = static_cast<uint64_t>(point);
  for (; axes > 0; --axes) {
    const uint32_t slot = code_.Word();
    const uint64_t extent = static_cast<uint64_t>(code_.Long());
    uint64_t quotient = 0;
    if (axes == 1) {                          // the outermost has all that is left
    } else if ((rest | extent) >> 32 == 0) {  // a division of 32 bits costs a quarter
      quotient = static_cast<uint32_t>(rest) / static_cast<uint32_t>(extent);
    } else {
      quotient = rest / extent;
    }
    slots_.Integer(slot) = static_cast<int64_t>(rest - quotient * extent);
    rest = quotient;
  }
}

template <typename R, typename Where>
__device__ void Machine<R, Where>::Split(uint32_t from, uint32_t axes) {
  uint64_t rest = static_cast<uint64_t>(slots_.Integer(from));
  for (uint32_t axis = 0; axis < axes; ++axis) {
    const uint32_t slot = code_.Word();
    const uint64_t extent = static_cast<uint64_t>(code_.Long());
    slots_.Integer(slot) = static_cast<int64_t>(rest % extent);
    rest /= extent;
  }
}

template <typename R, typename Where>
__device__ void Machine<R, Where>::Load(uint32_t out, const void* base, int64_t at,
                                        Storage storage) {
  if (storage == Storage::kI32 || storage == Storage::kI64) {
    slots_.Integer(out) = LoadInteger(base, at, storage);
  } else if (storage == Storage::kBool) {
    slots_.Boolean(out) = LoadBoolean(base, at);
  } else {
    slots_.Real(out) = LoadReal<R>(base, at, storage);
  }
}

template <typename R, typename Where>
__device__ void Machine<R, Where>::LoadRuled(uint32_t out, uint32_t axes, const void* base) {
  constexpr uint32_t kZero = 1, kKeep = 4;  // of Outside
  const uint32_t word = code_.Word();
  const Storage storage = static_cast<Storage>(word & 15);
  const uint32_t rule = word >> 4 & 15, mask = word >> 8;
  int64_t at = 0;
  bool inside = true;
  for (uint32_t axis = 0; axis < axes; ++axis) {
    const uint32_t head = code_.Word();
    const int64_t offset = code_.Long(), divisor = code_.Long(), extent = code_.Long(),
                  stride = code_.Long();
    int64_t subscript = offset;
    if ((head >> 8 & 1) != 0) {
      subscript = slots_.Integer(head >> 16);
    } else {
      subscript = slots_.Terms(code_, head & 255, subscript);
      if (divisor != 1) {
        const int64_t quotient = FloorDivide(subscript, divisor);
        const bool exact = quotient * divisor == subscript;
        subscript = exact || (rule != kZero && rule != kKeep) ? quotient : -1;
      }
    }
    inside = Resolve(rule, extent, &subscript) && inside;
    at += code_.Times(subscript, stride);  // of what is outside nothing is read
  }
  if (mask != 0) slots_.Boolean(mask - 1) = inside ? 0 : 1;
  if (inside) {
    Load(out, base, at, storage);
  } else if (storage == Storage::kI32 || storage == Storage::kI64) {
    slots_.Integer(out) = 0;
  } else if (storage == Storage::kBool) {
    slots_.Boolean(out) = 0;
  } else {
    slots_.Real(out) = R(0);
  }
}

template <typename R, typename Where>
__device__ void Machine<R, Where>::Store(uint32_t value, uint32_t terms, uint32_t buffer) {
  const uint32_t word = code_.Word();
  const Storage storage = static_cast<Storage>(word & 15);
  const Type type = static_cast<Type>(word >> 4 & 15);
  const uint32_t mask = word >> 8;
  const int64_t at = slots_.Linear(code_, terms);
  Await(team_);  // what is overwritten in place has been read by all
  if (team_.rank != 0 || (mask != 0 && slots_.Boolean(mask - 1) != 0)) return;
  void* base = const_cast<void*>(Buffer(buffer));
  if (type == Type::kReal) {
    StoreAs(base, at, storage, slots_.Real(value));
  } else if (type == Type::kInteger) {
    StoreAs(base, at, storage, slots_.Integer(value));
  } else {
    StoreAs(base, at, storage, static_cast<uint8_t>(slots_.Boolean(value)));
  }
}

template <typename R, typename Where>
__device__ void Machine<R, Where>::Dot(uint32_t out, uint32_t a, uint32_t b) {
  const uint32_t word = code_.Word();
  const Storage a_storage = static_cast<Storage>(word & 15),
                b_storage = static_cast<Storage>(word >> 4 & 15);
  const bool by_team = (word >> 8 & 1) != 0, rounded = (word >> 9 & 1) != 0;
  const int64_t extent = code_.Long();
  const int64_t a_stride = code_.Long();
  int64_t a_at = slots_.Linear(code_, word >> 16 & 255);
  const int64_t b_stride = code_.Long();
  int64_t b_at = slots_.Linear(code_, word >> 24);
  const void *a_base = Buffer(a), *b_base = Buffer(b);
  const int64_t first = by_team ? team_.rank : 0, step = by_team ? team_.size : 1;
  R sum = slots_.Real(out);
  a_at += first * a_stride;
  b_at += first * b_stride;
  for (int64_t i = first; i < extent; i += step) {
    const R x = LoadReal<R>(a_base, a_at, a_storage), y = LoadReal<R>(b_base, b_at, b_storage);
    sum = rounded ? sum + x * y : FusedOf(x, y, sum);
    a_at += step * a_stride;
    b_at += step * b_stride;
  }
  slots_.Real(out) = sum;
}

template <typename R, typename Where>
__device__ void Machine<R, Where>::Combine(uint32_t out, Combination how, Type type) {
  if (type == Type::kReal) {
    slots_.Real(out) = Combined(team_, slots_.Real(out), how);
  } else if (type == Type::kInteger) {
    slots_.Integer(out) = Combined(team_, slots_.Integer(out), how);
  } else {
    slots_.Boolean(out) = Combined(team_, slots_.Boolean(out), how);
  }
}

template <typename R, typename Where>
__device__ void Machine<R, Where>::ArgStep(uint32_t best, uint32_t at, uint32_t value) {
  const int64_t index = slots_.Integer(code_.Word());
  const uint32_t word = code_.Word();
  const bool largest = (word >> 4) != 0;
  const auto step = [&](auto& incumbent, auto x) {
    if (slots_.Integer(at) >= 0 && !Beats(x, index, incumbent, slots_.Integer(at), largest)) return;
    incumbent = x;
    slots_.Integer(at) = index;
  };
  switch (static_cast<Type>(word & 15)) {
    case Type::kReal:
      return step(slots_.Real(best), slots_.Real(value));
    case Type::kInteger:
      return step(slots_.Integer(best), slots_.Integer(value));
    case Type::kBoolean:
      return step(slots_.Boolean(best), slots_.Boolean(value));
  }
}

template <typename R, typename Where>
__device__ void Machine<R, Where>::ArgCombine(uint32_t best, uint32_t at) {
  const uint32_t word = code_.Word();
  const bool largest = (word >> 4) != 0;
  int64_t& where = slots_.Integer(at);
  switch (static_cast<Type>(word & 15)) {
    case Type::kReal:
      where = WinnerOf(team_, slots_.Real(best), where, largest);
      break;
    case Type::kInteger:
      where = WinnerOf(team_, slots_.Integer(best), where, largest);
      break;
    case Type::kBoolean:
      where = WinnerOf(team_, slots_.Boolean(best), where, largest);
      break;
  }
}

template <typename R, typename Where>
__device__ void Machine<R, Where>::Select(uint32_t out, uint32_t a, uint32_t b) {
  const uint32_t c = code_.Word();
  const Type type = static_cast<Type>(code_.Word());
  const uint32_t chosen = slots_.Boolean(a) != 0 ? b : c;
  if (type == Type::kReal) {
    slots_.Real(out) = slots_.Real(chosen);
  } else if (type == Type::kInteger) {
    slots_.Integer(out) = slots_.Integer(chosen);
  } else {
    slots_.Boolean(out) = slots_.Boolean(chosen);
  }
}

template <typename R, typename Where>
__device__ void Machine<R, Where>::OfReals(Code code, uint32_t out, uint32_t a, uint32_t b) {
  const R x = slots_.Real(a);
  R& r = slots_.Real(out);
  // clang-format off
  switch (code) {
    case Code::kNeg: r = -x; break;
    case Code::kAbs: r = AbsOf(x); break;
    case Code::kExp: r = ExpOf(x); break;
    case Code::kLog: r = LogOf(x); break;
    case Code::kSin: r = SinOf(x); break;
    case Code::kCos: r = CosOf(x); break;
    case Code::kSqrt: r = SqrtOf(x); break;
    case Code::kRsqrt: r = R(1) / SqrtOf(x); break;
    case Code::kTanh: r = TanhOf(x); break;
    case Code::kErf: r = ErfOf(x); break;
    case Code::kSigmoid: r = SigmoidOf(x); break;
    case Code::kRelu: r = x < R(0) ? R(0) : x; break;
    case Code::kGelu: r = GeluOf(x); break;
    case Code::kSilu: r = x * SigmoidOf(x); break;
    case Code::kFloor: r = FloorOf(x); break;
    case Code::kAdd: r = x + slots_.Real(b); break;
    case Code::kSub: r = x - slots_.Real(b); break;
    case Code::kMul: r = x * slots_.Real(b); break;
    case Code::kDiv: r = x / slots_.Real(b); break;
    case Code::kPow: r = PowOf(x, slots_.Real(b)); break;
    case Code::kMin: r = MinOf(x, slots_.Real(b)); break;
    case Code::kMax: r = MaxOf(x, slots_.Real(b)); break;
    case Code::kLess: slots_.Boolean(out) = x < slots_.Real(b); break;
    case Code::kLessEqual: slots_.Boolean(out) = x <= slots_.Real(b); break;
    case Code::kEqual: slots_.Boolean(out) = x == slots_.Real(b); break;
    default: slots_.Boolean(out) = x != slots_.Real(b); break;
  }
  // clang-format on
}

template <typename R, typename Where>
__device__ void Machine<R, Where>::OfIntegers(Code code, uint32_t out, uint32_t a, uint32_t b) {
  const int64_t x = slots_.Integer(a);
  const uint64_t u = static_cast<uint64_t>(x);
  const int64_t y = code == Code::kNegInt || code == Code::kAbsInt ? 0 : slots_.Integer(b);
  const uint64_t v = static_cast<uint64_t>(y);
  // clang-format off
  switch (code) {
    case Code::kNegInt: slots_.Integer(out) = Wrapped(0 - u); break;
    case Code::kAbsInt: slots_.Integer(out) = x < 0 ? Wrapped(0 - u) : x; break;
    case Code::kAddInt: slots_.Integer(out) = Wrapped(u + v); break;
    case Code::kSubInt: slots_.Integer(out) = Wrapped(u - v); break;
    case Code::kMulInt: slots_.Integer(out) = Wrapped(u * v); break;
    case Code::kMinInt: slots_.Integer(out) = MinOf(x, y); break;
    case Code::kMaxInt: slots_.Integer(out) = MaxOf(x, y); break;
    case Code::kModInt: slots_.Integer(out) = ModOf(x, y); break;
    case Code::kLessInt: slots_.Boolean(out) = x < y; break;
    case Code::kLessEqualInt: slots_.Boolean(out) = x <= y; break;
    case Code::kEqualInt: slots_.Boolean(out) = x == y; break;
    default: slots_.Boolean(out) = x != y; break;
  }
  // clang-format on
}

template <typename R, typename Where>
__device__ void Machine<R, Where>::OfBooleans(Code code, uint32_t out, uint32_t a, uint32_t b) {
  const uint32_t x = slots_.Boolean(a);
  const uint32_t y = code == Code::kNot ? 0 : slots_.Boolean(b);
  uint32_t& r = slots_.Boolean(out);
  // clang-format off
  switch (code) {
    case Code::kNot: r = x == 0; break;
    case Code::kAnd: case Code::kMinBool: r = x & y; break;
    case Code::kOr: case Code::kMaxBool: r = x | y; break;
    case Code::kLessBool: r = x < y; break;
    case Code::kLessEqualBool: r = x <= y; break;
    case Code::kEqualBool: r = x == y; break;
    default: r = x != y; break;
  }
  // clang-format on
}

template <typename R, typename Where>
__device__ void Machine<R, Where>::Run(int64_t point) {
  for (;;) {
    const uint32_t head = code_.Word();
    const Code code = static_cast<Code>(head & 255);
    const uint32_t out = head >> 8 & 255, a = head >> 16 & 255, b = head >> 24;
    switch (code) {
      case Code::kStop:
        code_.at = Where::Begin(launch_) + launch_.point_at;
        return;
      case Code::kPoint:
        Point(point, a);
        break;
      case Code::kReal:
        slots_.Real(out) = static_cast<R>(__builtin_bit_cast(double, code_.TwoWords()));
        break;
      case Code::kInteger:
        slots_.Integer(out) = code_.Long();
        break;
      case Code::kBoolean:
        slots_.Boolean(out) = a;
        break;
      case Code::kScalar:
        slots_.Real(out) = static_cast<R>(
            __builtin_bit_cast(double, launch_.data[launch_.scalars_at + code_.Word()]));
        break;
      case Code::kLinear:
        slots_.Integer(out) = slots_.Linear(code_, a);
        break;
      case Code::kLoad: {
        const Storage storage = static_cast<Storage>(code_.Word());
        Load(out, Buffer(b), slots_.Linear(code_, a), storage);
        break;
      }
      case Code::kLoadRuled:
        LoadRuled(out, a, Buffer(b));
        break;
      case Code::kStore:
        Store(out, a, b);
        break;
      case Code::kLoop: {
        const int64_t first = a == kByTeam ? team_.rank : 0;
        const int64_t extent = code_.Long();
        const uint32_t body = code_.Word();
        slots_.Integer(out) = first;
        if (first >= extent) code_.at += body;
        break;
      }
      case Code::kNext: {
        const int64_t next = slots_.Integer(out) + (a == kByTeam ? team_.size : 1);
        const int64_t extent = code_.Long();
        const uint32_t back = code_.Word();
        slots_.Integer(out) = next;
        if (next < extent) code_.at -= back;
        break;
      }
      case Code::kSplit:
        Split(a, b);
        break;
      case Code::kDot:
        Dot(out, a, b);
        break;
      case Code::kCombine:
        Combine(out, static_cast<Combination>(a), static_cast<Type>(b));
        break;
      case Code::kArgStep:
        ArgStep(out, a, b);
        break;
      case Code::kArgCombine:
        ArgCombine(out, a);
        break;
      case Code::kSelect:
        Select(out, a, b);
        break;
      case Code::kMultiplyAdd:
        slots_.Real(out) = FusedOf(slots_.Real(a), slots_.Real(b), slots_.Real(code_.Word()));
        break;
      case Code::kToRealInt:
        slots_.Real(out) = static_cast<R>(slots_.Integer(a));
        break;
      case Code::kToRealBool:
        slots_.Real(out) = static_cast<R>(slots_.Boolean(a));
        break;
      default:
        if (code < Code::kNegInt) {
          OfReals(code, out, a, b);
        } else if (code < Code::kNot) {
          OfIntegers(code, out, a, b);
        } else {
          OfBooleans(code, out, a, b);
        }
    }
  }
}

template <typename R, typename Where>
__device__ void Interpret(const Launch& launch, uint4* shared) {
  const uint32_t threads = blockDim.x, thread = threadIdx.x;
  char* const base = reinterpret_cast<char*>(shared) + kExchangeBytes;
  int64_t* const wide = reinterpret_cast<int64_t*>(base);
  uint32_t* const narrow = reinterpret_cast<uint32_t*>(wide + launch.wide_slots * threads);
  const Slots<R> slots{wide + thread, narrow + thread, threads};
  const Team team{thread % launch.team, launch.team, shared};
  const int64_t teams = threads / launch.team;
  Machine<R, Where> machine(launch, slots, team);
  for (int64_t point = blockIdx.x * teams + thread / launch.team; point < launch.points;
       point += gridDim.x * teams) {
    machine.Run(point);
  }
}

template <typename R>
__device__ void ScanInOrder(const ScanLaunch& scan) {
  R* const rows = static_cast<R*>(scan.rows);
  for (int64_t row = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < scan.count;
       row += int64_t{gridDim.x} * blockDim.x) {
    R total = scan.product != 0 ? R(1) : R(0);
    for (int64_t i = 0; i < scan.extent; ++i) {
      R& element = rows[row * scan.extent + (scan.reverse != 0 ? scan.extent - 1 - i : i)];
      const R next = scan.product != 0 ? total * element : total + element;
      element = scan.exclusive != 0 ? total : next;
      total = next;
    }
  }
}

// A block for each row, a piece as long as the block at a time.
template <typename R>
__device__ void ScanByBlocks(const ScanLaunch& scan, uint4* shared) {
  const uint32_t thread = threadIdx.x;
  const R neutral = scan.product != 0 ? R(1) : R(0);
  for (int64_t row = blockIdx.x; row < scan.count; row += gridDim.x) {
    R* const elements = static_cast<R*>(scan.rows) + row * scan.extent;
    R carried = neutral;
    for (int64_t first = 0; first < scan.extent; first += blockDim.x) {
      const int64_t i = first + thread;
      const int64_t at = scan.reverse != 0 ? scan.extent - 1 - i : i;
      const R own = i < scan.extent ? elements[at] : neutral;
      const Scanned<R> result = ScanOfBlock(own, neutral, scan.product != 0, shared);
      const R with =
          Step(carried, scan.exclusive != 0 ? result.before : result.with, scan.product != 0);
      if (i < scan.extent) elements[at] = with;
      carried = Step(carried, result.total, scan.product != 0);
    }
  }
}

template <typename R>
__device__ void ScanRows(const ScanLaunch& scan, uint4* shared) {
  if (scan.ordered != 0) {
    ScanInOrder<R>(scan);
  } else {
    ScanByBlocks<R>(scan, shared);
  }
}

}  // namespace
}  // namespace hiera::cuda

#define HIERA_INTERPRET(name, type, where)                                              \
  extern "C" __global__ void name(const __grid_constant__ hiera::cuda::Launch launch) { \
    HIERA_DYNAMIC_SHARED(shared);                                                       \
    hiera::cuda::Interpret<type, hiera::cuda::where>(launch, shared);                   \
  }
HIERA_INTERPRET(hiera_interpret_f32, float, Near)
HIERA_INTERPRET(hiera_interpret_f64, double, Near)
HIERA_INTERPRET(hiera_interpret_far_f32, float, Far)
HIERA_INTERPRET(hiera_interpret_far_f64, double, Far)

#define HIERA_SCAN(name, type)                                                            \
  extern "C" __global__ void name(const __grid_constant__ hiera::cuda::ScanLaunch scan) { \
    HIERA_DYNAMIC_SHARED(shared);                                                         \
    hiera::cuda::ScanRows<type>(scan, shared);                                            \
  }
HIERA_SCAN(hiera_scan_f32, float)
HIERA_SCAN(hiera_scan_f64, double)
HIERA_SCAN(hiera_scan_i64, uint64_t)
