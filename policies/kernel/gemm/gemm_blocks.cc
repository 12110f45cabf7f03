// GEMM over a whole problem: C = epilogue(alpha * A * B + beta * C + bias), batched, with any
// strides of A and B; C has a unit stride along its columns. Compiled behind the text of the host
// ABI, gemm_vector.cc and gemm_tile.cc; a candidate is these and one instantiation:
//
//   struct Plan { ... };
//   extern "C" void hiera_variant(const hiera_host_call* c) { hiera_gemm::Gemm<Plan>::Run(c); }
//
// Plan's members (sizes and strides in elements):
//   T                          element type; sums are kept in T
//   kM kN kK kBatch            rows and columns of C, length of the sum, number of matrices
//   kArs kAcs                  row and column stride of A[m,k]; kBrs kBcs of B[k,n]; kCrs of C[m,n]
//   BatchA(i) BatchB BatchC    where matrix i begins; BatchBias alike
//   kInner                     InnerTile (vectors along k) instead of OuterTile
//   kRows kVecs kWidth         register tile: at most kRows rows by kVecs vectors of kWidth
//   elements
//                              (by kVecs columns where kInner)
//   kUnroll kHold              OuterTile: steps per loop iteration; whether to hold B in registers
//   kMc kNc kKc                cache block: rows, columns, length of the sum
//   kMasked                    OuterTile: end rows with a masked vector, where there are masks
//   kPackA kPackB              copy the operand's block into the workspace, in the order of its use
//   kRowsFirst                 inside a block, walk down the rows first (else along the columns)
//   kSplit                     pieces of the sum that are computed apart, then added in order
//   kLanes                     shares of the work that may run at once
//   kAlpha kBeta               class of the factor: 0, 1, or 2 for Alpha(scalars), Beta(scalars)
//   kBias kBiasRs kBiasCs      whether there is a bias, and its strides (0 repeats it)
//   kAt kBt kCt kBiasT         index of each tensor in the call
//   Epilogue<V>(V)             what is applied to each finished vector
//
// Every result depends on the Plan alone, never on how many threads there are.
namespace hiera_gemm {

template <class P>
struct Gemm {
  using T = typename P::T;

  // Tiles of nearly equal size: kTall of the row tiles have kHeight rows, the others one fewer. The
  // column tiles are alike in units of a vector, and the last of them may end within a vector.
  static constexpr long kRowTiles = CeilDiv(P::kM, P::kRows);
  static constexpr long kHeight = CeilDiv(P::kM, kRowTiles);
  static constexpr long kTall = P::kM - kRowTiles * (kHeight - 1);
  static constexpr int kW = P::kInner ? 1 : Masks<P>() ? P::kWidth : FitWidth(P::kWidth, P::kN);
  static constexpr long kVectors = CeilDiv(P::kN, kW);
  static constexpr long kColTiles = CeilDiv(kVectors, P::kVecs);
  static constexpr long kSpan = CeilDiv(kVectors, kColTiles);
  static constexpr long kWide = kVectors - kColTiles * (kSpan - 1);

  static constexpr long RowAt(long t) { return t * (kHeight - 1) + Min(t, kTall); }
  static constexpr long ColAt(long t) { return Min((t * (kSpan - 1) + Min(t, kWide)) * kW, P::kN); }
  static constexpr long kLastN = P::kN - ColAt(kColTiles - 1);

  // Cache blocks, in tiles.
  static constexpr long kBlockRows = Min(CeilDiv(P::kMc, kHeight), kRowTiles);
  static constexpr long kBlockCols = Min(CeilDiv(P::kNc, kSpan* kW), kColTiles);
  static constexpr long kRowBlocks = CeilDiv(kRowTiles, kBlockRows);
  static constexpr long kColBlocks = CeilDiv(kColTiles, kBlockCols);
  static constexpr long kPiece = CeilDiv(P::kK, P::kSplit);
  static constexpr long kKc = Min(P::kKc, kPiece);
  static constexpr bool kWhole = P::kSplit == 1 && kKc == P::kK;  // the sum is one block

  // A unit is one cache block of one matrix, over one piece of its sum.
  static constexpr long kUnits = P::kBatch * kColBlocks * kRowBlocks * P::kSplit;
  static constexpr long kLanes = Min(P::kLanes, kUnits);

  // Workspace: a share for each lane (packed B, then packed A), then the pieces of split sums.
  static constexpr long Padded(long elements) {
    return CeilDiv(elements * sizeof(T), 64) * 64 / sizeof(T);
  }
  static constexpr long kPackedB = P::kPackB ? Padded(kKc * kBlockCols * kSpan * kW) : 0;
  static constexpr long kPackedA = P::kPackA ? Padded(kKc * kBlockRows * kHeight) : 0;
  static constexpr long kShare = kPackedA + kPackedB;
  static constexpr long kPart = P::kSplit > 1 ? Padded(P::kM* P::kN) : 0;
  static constexpr long kWorkspaceBytes =
      (kShare * kLanes + kPart * P::kSplit * P::kBatch) * sizeof(T);

  static constexpr long kCrs = P::kSplit > 1 ? P::kN : P::kCrs;  // tiles of a split sum write parts

  struct Job {
    const T* a;
    const T* b;
    T* c;
    const T* bias;
    T alpha;
    T beta;
    T* workspace;
  };

  // One block of the sum, as the tiles of one unit see it.
  struct Block {
    const T* a;     // A at (first row of the unit, first k of the block), or its packed panels
    const T* b;     // B at (first k of the block, first column of the unit), or its packed panels
    T* c;           // C of this matrix, or the part of a split sum
    const T* bias;  // bias of this matrix
    long row;       // first row and column of the unit
    long col;
    long kc;
    bool first;  // the first and the last block of the sum
    bool last;
  };

  template <class V>
  static HIERA_INLINE V Conclude(V x, const T* bias, long i, long j, long count) {
    if constexpr (P::kBias) {
      const T* at = bias + i * P::kBiasRs + j * P::kBiasCs;
      if constexpr (P::kBiasCs == 1 || sizeof(V) == sizeof(T)) {
        x += Load<V>(at, count);
      } else if constexpr (P::kBiasCs == 0) {
        x += *at;
      } else {
        T lanes[sizeof(V) / sizeof(T)] = {};
        for (long w = 0; w < count; ++w) lanes[w] = at[w * P::kBiasCs];
        x += Load<V>(lanes);
      }
    }
    return P::template Epilogue<V>(x);
  }

  // Scales a sum and adds what C held before the first block, or the sums of the blocks before.
  template <class V>
  static HIERA_INLINE V Blend(const Job& job, V x, const T* c, long count, bool first) {
    if constexpr (P::kAlpha == 2) x *= job.alpha;
    if (!first) {
      x += Load<V>(c, count);
    } else if constexpr (P::kBeta == 1) {
      x += Load<V>(c, count);
    } else if constexpr (P::kBeta == 2) {
      x += job.beta * Load<V>(c, count);
    }
    return x;
  }

  template <int R, long N>
  static inline void Tile(const Job& job, const Block& block, const T* a, const T* b, long i,
                          long j, long kc) {
    const bool first = kWhole || block.first;
    const bool last = kWhole || block.last;
    T* c = block.c + i * kCrs + j;
    const auto take = [&](int r, long at, long count, auto& x) __attribute__((always_inline)) {
      using V = typename Plain<decltype(x)>::Type;
      if constexpr (P::kSplit > 1) {
        if (!first) x += Load<V>(c + r * kCrs + at, count);
      } else {
        x = Blend(job, x, c + r * kCrs + at, count, first);
        if (last) x = Conclude(x, block.bias, i + r, j + at, count);
      }
    };
    const auto put = [&](int r, long at, long count, auto x) __attribute__((always_inline)) {
      Store(c + r * kCrs + at, x, count);
    };
    if constexpr (P::kInner) {
      InnerTile<P, R, N>::template Run<FitWidth(P::kWidth, kKc), P::kPackA ? kKc : P::kArs,
                                       P::kPackB ? kKc : P::kBcs>(a, b, kc, take, put);
    } else {
      OuterTile<P, R, N>::template Run<P::kPackA ? 1 : P::kArs, P::kPackA ? R : P::kAcs,
                                       P::kPackB ? N : P::kBrs>(a, b, kc, take, put);
    }
  }

  template <int R>
  static HIERA_INLINE void AnyColumns(const Job& job, const Block& block, const T* a, const T* b,
                                      long i, long jt, long kc) {
    const long j = ColAt(jt);
    constexpr bool kOddLast = kLastN != kSpan * kW && (kLastN != (kSpan - 1) * kW || kSpan == 1);
    if (kOddLast && jt == kColTiles - 1) {
      Tile<R, kLastN>(job, block, a, b, i, j, kc);
    } else if (kWide == kColTiles || jt < kWide) {
      if constexpr (kSpan * kW <= P::kN) Tile<R, kSpan * kW>(job, block, a, b, i, j, kc);
    } else {
      if constexpr (kSpan > 1) Tile<R, (kSpan - 1) * kW>(job, block, a, b, i, j, kc);
    }
  }

  static HIERA_INLINE void AnyTile(const Job& job, const Block& block, long it, long jt) {
    const long i = RowAt(it);
    const long kc = kWhole ? kKc : block.kc;
    const T* a = block.a + (i - block.row) * (P::kPackA ? Depth(kc) : P::kArs);
    const T* b = block.b + (ColAt(jt) - block.col) * (P::kPackB ? Depth(kc) : P::kBcs);
    if (kTall == kRowTiles || it < kTall) {
      AnyColumns<kHeight>(job, block, a, b, i, jt, kc);
    } else if constexpr (kHeight > 1) {
      AnyColumns<kHeight - 1>(job, block, a, b, i, jt, kc);
    }
  }

  // Elements that a packed panel has for each row of A, or column of B. Where kInner these lie
  // together, at a distance that must be a constant.
  static constexpr long Depth(long kc) { return P::kInner ? kKc : kc; }

  // One panel: to[k * count + x] = from[x * Xs + k * Ks] for x < count and k < kc; where kInner,
  // to[x * kKc + k].
  template <long Xs, long Ks>
  static HIERA_INLINE void PackPanel(T* to, const T* from, long count, long kc) {
    const long to_x = P::kInner ? kKc : 1;
    const long to_k = P::kInner ? 1 : count;
    if constexpr (Xs == 1) {
      for (long k = 0; k < kc; ++k) {
        for (long x = 0; x < count; ++x) to[x * to_x + k * to_k] = from[x + k * Ks];
      }
    } else {
      for (long x = 0; x < count; ++x) {
        for (long k = 0; k < kc; ++k) to[x * to_x + k * to_k] = from[x * Xs + k * Ks];
      }
    }
  }

  static void PackA(T* to, const T* a, long it0, long it1, long kc) {
    for (long it = it0; it < it1; ++it) {
      const long height = RowAt(it + 1) - RowAt(it);
      PackPanel<P::kArs, P::kAcs>(to, a + (RowAt(it) - RowAt(it0)) * P::kArs, height, kc);
      to += height * Depth(kc);
    }
  }

  static void PackB(T* to, const T* b, long jt0, long jt1, long kc) {
    for (long jt = jt0; jt < jt1; ++jt) {
      const long width = ColAt(jt + 1) - ColAt(jt);
      PackPanel<P::kBcs, P::kBrs>(to, b + (ColAt(jt) - ColAt(jt0)) * P::kBcs, width, kc);
      to += width * Depth(kc);
    }
  }

  static HIERA_INLINE void Unit(const Job& job, long unit, T* share) {
    const long piece = unit % P::kSplit;
    const long rb = unit / P::kSplit % kRowBlocks;
    const long cb = unit / (P::kSplit * kRowBlocks) % kColBlocks;
    const long batch = unit / (P::kSplit * kRowBlocks * kColBlocks);
    const long it0 = rb * kBlockRows, it1 = Min(it0 + kBlockRows, kRowTiles);
    const long jt0 = cb * kBlockCols, jt1 = Min(jt0 + kBlockCols, kColTiles);
    Block block;
    block.row = RowAt(it0);
    block.col = ColAt(jt0);
    block.bias = P::kBias ? job.bias + P::BatchBias(batch) : nullptr;
    block.c = P::kSplit > 1 ? job.workspace + kShare * kLanes + (batch * P::kSplit + piece) * kPart
                            : job.c + P::BatchC(batch);
    const T* a = job.a + P::BatchA(batch) + block.row * P::kArs;
    const T* b = job.b + P::BatchB(batch) + block.col * P::kBcs;
    const long k0 = Min(piece * kPiece, P::kK), k1 = Min(k0 + kPiece, P::kK);
    for (long k = k0; k < k1 || k == k0; k += kKc) {
      block.kc = Min(kKc, k1 - k);
      block.first = k == k0;
      block.last = k + kKc >= k1;
      block.a = P::kPackA ? share + kPackedB : a + k * P::kAcs;
      block.b = P::kPackB ? share : b + k * P::kBrs;
      if constexpr (P::kPackA) PackA(share + kPackedB, a + k * P::kAcs, it0, it1, block.kc);
      if constexpr (P::kPackB) PackB(share, b + k * P::kBrs, jt0, jt1, block.kc);
      if constexpr (P::kRowsFirst) {
        for (long jt = jt0; jt < jt1; ++jt) {
          for (long it = it0; it < it1; ++it) AnyTile(job, block, it, jt);
        }
      } else {
        for (long it = it0; it < it1; ++it) {
          for (long jt = jt0; jt < jt1; ++jt) AnyTile(job, block, it, jt);
        }
      }
    }
  }

  // Adds the pieces of one row (counted through all matrices) in order and finishes it.
  static void AddPieces(const Job& job, long at) {
    const long batch = at / P::kM, row = at % P::kM;
    const T* part = job.workspace + kShare * kLanes + batch * P::kSplit * kPart + row * P::kN;
    T* c = job.c + P::BatchC(batch) + row * P::kCrs;
    const T* bias = P::kBias ? job.bias + P::BatchBias(batch) : nullptr;
    const auto finish = [&](auto zero, long j) __attribute__((always_inline)) {
      using V = decltype(zero);
      constexpr long kCount = sizeof(V) / sizeof(T);
      V x = Load<V>(part + j);
      for (long s = 1; s < P::kSplit; ++s) x += Load<V>(part + s * kPart + j);
      Store(c + j, Conclude(Blend(job, x, c + j, kCount, true), bias, row, j, kCount));
    };
    constexpr int W = FitWidth(P::kWidth, P::kN);
    long j = 0;
    for (; j + W <= P::kN; j += W) finish(typename VectorOf<T, W>::Type{}, j);
    for (; j < P::kN; ++j) finish(T{}, j);
  }

  static void Lanes(void* context, long begin, long end, int) {
    const Job& job = *static_cast<const Job*>(context);
    for (long lane = begin; lane < end; ++lane) {
      T* share = job.workspace + lane * kShare;
      const long last = (lane + 1) * kUnits / kLanes;
      for (long unit = lane * kUnits / kLanes; unit < last; ++unit) Unit(job, unit, share);
    }
  }

  static void Rows(void* context, long begin, long end, int) {
    for (long at = begin; at < end; ++at) AddPieces(*static_cast<const Job*>(context), at);
  }

  static HIERA_INLINE void Run(const hiera_host_call* call) {
    Job job;
    job.a = static_cast<const T*>(call->tensors[P::kAt]);
    job.b = static_cast<const T*>(call->tensors[P::kBt]);
    job.c = static_cast<T*>(call->tensors[P::kCt]);
    job.bias = P::kBias ? static_cast<const T*>(call->tensors[P::kBiasT]) : nullptr;
    job.alpha = P::Alpha(call->scalars);
    job.beta = P::Beta(call->scalars);
    job.workspace = static_cast<T*>(call->workspace);
    if constexpr (kUnits == 1) {
      Unit(job, 0, job.workspace);
    } else if constexpr (kLanes == 1) {
      Lanes(&job, 0, 1, 0);
    } else {
      call->parallel->run(call->parallel, kLanes, Lanes, &job);
    }
    if constexpr (P::kSplit > 1) {
      if constexpr (kLanes == 1) {
        Rows(&job, 0, P::kBatch * P::kM, 0);
      } else {
        call->parallel->run(call->parallel, P::kBatch * P::kM, Rows, &job);
      }
    }
  }
};

}  // namespace hiera_gemm
