// Moving a row's elements between memory and vectors, and reducing vectors to one value. Placed in
// front of every fused kernel, after vector_math.cc.
namespace vm {

// How many lanes of a vector count: all, or the first few in a row's last vector.
struct Whole {};
struct Part {
  long count;
};
template <typename V>
static inline long count_of(Whole) { return kLanes<V>; }
template <typename V>
static inline long count_of(Part part) { return part.count; }

// Memory in vectors, at any alignment.
template <typename W>
static inline W peek(const void* from) {
  W w;
  __builtin_memcpy(&w, from, sizeof w);
  return w;
}
template <typename T, int N>
struct Packed { typedef T type __attribute__((vector_size(sizeof(T) * N))); };

// Elements as they lie in memory, lanes that do not count as zero.
template <typename V, typename T>
static inline auto raw(const T* from, Whole) {
  return peek<typename Packed<T, kLanes<V>>::type>(from);
}
template <typename V, typename T>
static inline auto raw(const T* from, Part part) {
  typename Packed<T, kLanes<V>>::type w{};
#pragma GCC unroll 16
  for (int i = 0; i < kLanes<V>; ++i) {
    if (i < part.count) w[i] = from[i];
  }
  return w;
}

template <typename V>
static inline V widen(Element<V> scale, typename Packed<float, kLanes<V>>::type x) {
  (void)scale;
  if constexpr (kSingle<V>) return x;
  else return __builtin_convertvector(x, V);
}
template <typename V, typename L>
static inline V load(const float* from, L lanes) {
  return widen<V>(0, raw<V>(from, lanes));
}
template <typename V, typename L>
static inline V load(const double* from, L lanes) { return raw<V>(from, lanes); }
// As fn::widen, on vectors.
template <typename V, typename L>
static inline V load(const fn::half* from, L lanes) {
  using F = typename Packed<float, kLanes<V>>::type;
  using U = typename Packed<unsigned, kLanes<V>>::type;
  const U bits = __builtin_convertvector(raw<V>((const unsigned short*)from, lanes), U);
  const U magnitude = (bits & 0x7fffu) << 13;
  const F scaled = (F)magnitude * 0x1p112f;
  const U special = (U)(magnitude >= 0x0f800000u) & 0x7f800000u;
  return widen<V>(0, (F)((U)scaled | special | (bits & 0x8000u) << 16));
}
template <typename V, typename L>
static inline V load(const fn::bfloat* from, L lanes) {
  using F = typename Packed<float, kLanes<V>>::type;
  using U = typename Packed<unsigned, kLanes<V>>::type;
  const U bits = __builtin_convertvector(raw<V>((const unsigned short*)from, lanes), U);
  return widen<V>(0, (F)(bits << 16));
}
// Integers and booleans become masks' integers.
template <typename V, typename L>
static inline Mask<V> load(const int* from, L lanes) {
  return __builtin_convertvector(raw<V>(from, lanes), Mask<V>);
}
template <typename V, typename L>
static inline Mask<V> load(const unsigned char* from, L lanes) {
  return __builtin_convertvector(raw<V>(from, lanes), Mask<V>) != 0;
}

// One element in every lane.
template <typename V, typename T, typename L>
static inline auto load(const T* from, long stride, L lanes) {
  T row[kLanes<V>] = {};
  for (long i = 0; i < count_of<V>(lanes); ++i) row[i] = from[i * stride];
  return load<V>(row, Whole());
}

static inline void put(float* to, double x) { *to = (float)x; }
static inline void put(double* to, double x) { *to = x; }
template <typename T>
static inline void put(fn::half* to, T x) { *to = fn::narrow_half(fn::round_to_odd(x)); }
template <typename T>
static inline void put(fn::bfloat* to, T x) { *to = fn::narrow_bfloat(fn::round_to_odd(x)); }
static inline void put(int* to, long x) { *to = (int)x; }
static inline void put(unsigned char* to, long x) { *to = x != 0; }

template <typename V>
static inline void store(float* to, V x, Whole) {
  const auto w = __builtin_convertvector(x, typename Packed<float, kLanes<V>>::type);
  __builtin_memcpy(to, &w, sizeof w);
}
template <typename V>
static inline void store(double* to, V x, Whole) {
  const auto w = __builtin_convertvector(x, typename Packed<double, kLanes<V>>::type);
  __builtin_memcpy(to, &w, sizeof w);
}
// As fn::narrow_half and fn::narrow_bfloat, on vectors; f64 goes lane by lane.
template <typename U, typename T>
static inline void put_low_halves(T* to, U bits) {
  const auto w = __builtin_convertvector(
      bits, typename Packed<unsigned short, kLanes<U>>::type);
  __builtin_memcpy((void*)to, &w, sizeof w);
}
template <typename V>
static inline void store(fn::half* to, V x, Whole) {
  if constexpr (kSingle<V>) {
    using U = typename Packed<unsigned, kLanes<V>>::type;
    const U sign = (U)x >> 16 & 0x8000u, magnitude = (U)x & 0x7fffffffu;
    const U normal = (magnitude - 0x37fff001u + (magnitude >> 13 & 1u)) >> 13;
    const U tiny = (U)((V)magnitude + 0.5f) - 0x3f000000u;
    const U finite = magnitude < 0x38800000u ? tiny : normal;
    const U large = magnitude > 0x7f800000u ? U{} + 0x7e00u : U{} + 0x7c00u;
    put_low_halves(to, sign | (magnitude < 0x47800000u ? finite : large));
  } else {
    for (int i = 0; i < kLanes<V>; ++i) to[i] = fn::narrow_half(fn::round_to_odd((double)x[i]));
  }
}
template <typename V>
static inline void store(fn::bfloat* to, V x, Whole) {
  if constexpr (kSingle<V>) {
    using U = typename Packed<unsigned, kLanes<V>>::type;
    const U bits = (U)x;
    const U rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    put_low_halves(to, x == x ? rounded : (bits >> 16 | 0x40u));
  } else {
    for (int i = 0; i < kLanes<V>; ++i) to[i] = fn::narrow_bfloat(fn::round_to_odd((double)x[i]));
  }
}
template <typename T, typename V, typename L>
static inline void store(T* to, long stride, V x, L lanes) {
  for (long i = 0; i < count_of<V>(lanes); ++i) put(to + i * stride, x[i]);
}
template <typename T, typename V>
static inline void store(T* to, V x, Whole lanes) { store(to, 1, x, lanes); }
template <typename T, typename V>
static inline void store(T* to, V x, Part lanes) { store(to, 1, x, lanes); }
// first, first + step, ...
template <typename M>
static inline M count_up(long first, long step) {
  M m{};
#pragma GCC unroll 16
  for (int i = 0; i < kLanes<M>; ++i) m[i] = first + i * step;
  return m;
}

// Integers as numbers.
template <typename V>
static inline V to_real(Mask<V> x) {
  if constexpr (kSingle<V>) return __builtin_convertvector(x, V);
  V y{};
#pragma GCC unroll 8
  for (int i = 0; i < kLanes<V>; ++i) y[i] = x[i];
  return y;
}

// x in the lanes that count, `neutral` in the others.
template <typename V>
static inline V only(V x, Whole, Element<V>) { return x; }
template <typename V>
static inline V only(V x, Part part, Element<V> neutral) {
  return count_up<Mask<V>>(0, 1) < (Element<Mask<V>>)part.count ? x : all<V>(neutral);
}

// All lanes as one value, halves with halves.
template <typename V, typename F>
static inline Element<V> fold(V x, F combine) {
  Element<V> lane[kLanes<V>];
  __builtin_memcpy(lane, &x, sizeof x);
#pragma GCC unroll 4
  for (int half = kLanes<V> / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i) lane[i] = combine(lane[i], lane[i + half]);
  }
  return lane[0];
}
template <typename V>
static inline Element<V> sum(V x) {
  return fold(x, [](auto a, auto b) { return a + b; });
}
template <typename V>
static inline Element<V> product(V x) {
  return fold(x, [](auto a, auto b) { return a * b; });
}
template <typename V>
static inline Element<V> largest(V x) {
  return fold(x, [](auto a, auto b) { return fn::max(a, b); });
}
template <typename V>
static inline Element<V> smallest(V x) {
  return fold(x, [](auto a, auto b) { return fn::min(a, b); });
}
template <typename M>
static inline bool any(M x) {
  return fold(x, [](auto a, auto b) { return a | b; }) != 0;
}
template <typename M>
static inline bool every(M x) {
  return fold(x, [](auto a, auto b) { return a & b; }) != 0;
}

}  // namespace vm
