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

// The widest vector, of `width` elements or a half, a quarter.. of it, that fits `columns`.
constexpr int FitWidth(int width, long columns) {
  while (width > columns) width /= 2;
  return width;
}

}  // namespace hiera_gemm
