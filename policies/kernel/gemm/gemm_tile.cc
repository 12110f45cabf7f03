// Register tiles: a small block of C that stays in registers while it sums over k. Comes after
// gemm_vector.cc; gemm_blocks.cc walks over a whole problem with them and says what a Plan is.
//
// A tile computes the R x N sums of A(i, k) * B(k, j) over kc steps and hands each finished piece
// to put(row, column, vector) after calling take(row, column, vector) for all of them: take mixes
// in what C holds, put stores. So nothing of C is written before all of it is read.
namespace hiera_gemm {

// Vectors lie along the columns: B and C are read and written whole vectors at a time, A one
// element at a time. Where N is not a multiple of the vector, the last vector overlaps the one
// before, and both compute the same values for the columns that they share; or it is masked, where
// the machine has masks and the Plan asks for them.
template <class P, int R, long N>
struct OuterTile {
  using T = typename P::T;
  static constexpr int W = Masks<P>() ? P::kWidth : FitWidth(P::kWidth, N);
  static constexpr int kVectors = CeilDiv(N, W);
  using V = typename VectorOf<T, W>::Type;

  static constexpr long At(int v) { return Masks<P>() ? v * W : Min(v * W, N - W); }
  static constexpr long Count(int v) { return Min(W, N - At(v)); }

  // Element A(i, k) is a[i * Ars + k * Acs]; B(k, j) is b[k * Brs + j].
  template <long Ars, long Acs, long Brs, class Take, class Put>
  static HIERA_INLINE void Run(const T* a, const T* b, long kc, Take take, Put put) {
    V sum[R][kVectors];
    HIERA_UNROLL for (int r = 0; r < R; ++r) {
      HIERA_UNROLL for (int v = 0; v < kVectors; ++v) sum[r][v] = V{};
    }
    const auto step = [&sum](const T* at_a, const T* at_b) __attribute__((always_inline)) {
      V row[kVectors];
      HIERA_UNROLL for (int v = 0; v < kVectors; ++v) {
        row[v] = Load<V>(at_b + At(v), Count(v));
        if constexpr (P::kHold) Hold(row[v]);
      }
      HIERA_UNROLL for (int r = 0; r < R; ++r) {
        const T x = at_a[r * Ars];
        HIERA_UNROLL for (int v = 0; v < kVectors; ++v) sum[r][v] += x * row[v];
      }
    };
    for (; kc >= P::kUnroll; kc -= P::kUnroll) {
      HIERA_UNROLL for (int u = 0; u < P::kUnroll; ++u) step(a + u * Acs, b + u * Brs);
      a += P::kUnroll * Acs;
      b += P::kUnroll * Brs;
    }
    for (; kc > 0; --kc) {
      step(a, b);
      a += Acs;
      b += Brs;
    }
    HIERA_UNROLL for (int r = 0; r < R; ++r) {
      HIERA_UNROLL for (int v = 0; v < kVectors; ++v) take(r, At(v), Count(v), sum[r][v]);
    }
    HIERA_UNROLL for (int r = 0; r < R; ++r) {
      HIERA_UNROLL for (int v = 0; v < kVectors; ++v) put(r, At(v), Count(v), sum[r][v]);
    }
  }
};

// Vectors lie along k: rows of A and columns of B are contiguous, and each element of C is a dot
// product whose lanes are added up at the end.
template <class P, int R, long N>
struct InnerTile {
  using T = typename P::T;

  template <class V, long Ars, long Bcs>
  static HIERA_INLINE void Step(V (&sum)[R][N], const T* a, const T* b) {
    V column[N];
    HIERA_UNROLL for (int j = 0; j < N; ++j) {
      column[j] = Load<V>(b + j * Bcs);
      if constexpr (P::kHold) Hold(column[j]);
    }
    HIERA_UNROLL for (int r = 0; r < R; ++r) {
      const V row = Load<V>(a + r * Ars);
      HIERA_UNROLL for (int j = 0; j < N; ++j) sum[r][j] += row * column[j];
    }
  }

  // Folds W lanes to one. On the way down it takes in the `rest` < W steps that did not fill a
  // vector, half a vector, a quarter.. at a time.
  template <int W, long Ars, long Bcs, class V>
  static HIERA_INLINE void Fold(V (&sum)[R][N], const T* a, const T* b, long rest, T (&out)[R][N]) {
    if constexpr (W == 1) {
      HIERA_UNROLL for (int r = 0; r < R; ++r) {
        HIERA_UNROLL for (int j = 0; j < N; ++j) out[r][j] = sum[r][j];
      }
    } else {
      using Half = typename VectorOf<T, W / 2>::Type;
      struct Halves {
        Half low, high;
      };
      Half half[R][N];
      HIERA_UNROLL for (int r = 0; r < R; ++r) {
        HIERA_UNROLL for (int j = 0; j < N; ++j) {
          const Halves halves = Bits<Halves>(sum[r][j]);
          half[r][j] = halves.low + halves.high;
        }
      }
      const long taken = rest >= W / 2 ? W / 2 : 0;
      if (taken != 0) Step<Half, Ars, Bcs>(half, a, b);
      Fold<W / 2, Ars, Bcs>(half, a + taken, b + taken, rest - taken, out);
    }
  }

  // Element A(i, k) is a[i * Ars + k]; B(k, j) is b[k + j * Bcs].
  template <int W, long Ars, long Bcs, class Take, class Put>
  static HIERA_INLINE void Run(const T* a, const T* b, long kc, Take take, Put put) {
    using V = typename VectorOf<T, W>::Type;
    V sum[R][N];
    HIERA_UNROLL for (int r = 0; r < R; ++r) {
      HIERA_UNROLL for (int j = 0; j < N; ++j) sum[r][j] = V{};
    }
    long k = 0;
    for (; k + W <= kc; k += W) Step<V, Ars, Bcs>(sum, a + k, b + k);
    T out[R][N];
    Fold<W, Ars, Bcs>(sum, a + k, b + k, kc - k, out);
    HIERA_UNROLL for (int r = 0; r < R; ++r) {
      HIERA_UNROLL for (int j = 0; j < N; ++j) take(r, j, 1, out[r][j]);
    }
    HIERA_UNROLL for (int r = 0; r < R; ++r) {
      HIERA_UNROLL for (int j = 0; j < N; ++j) put(r, j, 1, out[r][j]);
    }
  }
};

}  // namespace hiera_gemm
