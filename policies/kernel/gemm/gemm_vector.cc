// What the GEMM templates share: vectors, loads and small arithmetic. Comes first of them.
#define HIERA_INLINE inline __attribute__((always_inline))
#define HIERA_UNROLL _Pragma("GCC unroll 64")

namespace hiera_gemm {

template <class T, int W>
struct VectorOf {
  typedef T Type __attribute__((vector_size(sizeof(T) * W)));
};
template <class T>
struct VectorOf<T, 1> {
  typedef T Type;
};

// The type without reference and const.
template <class T>
struct Plain {
  typedef T Type;
};
template <class T>
struct Plain<const T> : Plain<T> {};
template <class T>
struct Plain<T&> : Plain<T> {};
template <class T>
struct Plain<T&&> : Plain<T> {};

// A vector (or scalar) at any address; memory need only be aligned to its elements.
template <class V, class T>
HIERA_INLINE V Load(const T* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof(V));
  return v;
}

template <class V, class T>
HIERA_INLINE void Store(T* p, V v) {
  __builtin_memcpy(p, &v, sizeof(V));
}

// The first `count` elements at p, zeros behind them; Store writes no more than those. Only vectors
// of 64 bytes have masks; elsewhere count is the whole vector.
template <class V, class T>
HIERA_INLINE V Load(const T* p, [[maybe_unused]] long count) {
#ifdef __AVX512F__
  if constexpr (sizeof(V) == 64) {
    const unsigned mask = (1u << count) - 1;
    if (count < long(sizeof(V) / sizeof(T))) {
      if constexpr (sizeof(T) == 4) return __builtin_ia32_loadups512_mask(p, V{}, mask);
      if constexpr (sizeof(T) == 8) return __builtin_ia32_loadupd512_mask(p, V{}, mask);
    }
  }
#endif
  return Load<V>(p);
}

template <class V, class T>
HIERA_INLINE void Store(T* p, V v, [[maybe_unused]] long count) {
#ifdef __AVX512F__
  if constexpr (sizeof(V) == 64) {
    const unsigned mask = (1u << count) - 1;
    if (count < long(sizeof(V) / sizeof(T))) {
      if constexpr (sizeof(T) == 4) __builtin_ia32_storeups512_mask(p, v, mask);
      if constexpr (sizeof(T) == 8) __builtin_ia32_storeupd512_mask(p, v, mask);
      return;
    }
  }
#endif
  Store(p, v);
}

// Makes the compiler keep a vector in a register instead of loading it again for each use. Vectors
// below 16 bytes have no register class that every compiler agrees on, and are left alone.
template <class V>
HIERA_INLINE void Hold([[maybe_unused]] V& v) {
  if constexpr (sizeof(V) >= 16) asm("" : "+v"(v));
}

template <class To, class From>
HIERA_INLINE To Bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}

constexpr long Min(long a, long b) { return a < b ? a : b; }
constexpr long CeilDiv(long a, long b) { return (a + b - 1) / b; }

// Whether a Plan of masked tiles has masks to use.
template <class P>
constexpr bool Masks() {
#ifdef __AVX512F__
  return P::kMasked && P::kWidth * sizeof(typename P::T) == 64;
#else
  return false;
#endif
}

// The widest vector, of `width` elements or a half, a quarter.. of it, that fits `columns`.
constexpr int FitWidth(int width, long columns) {
  while (width > columns) width /= 2;
  return width;
}

}  // namespace hiera_gemm
