// One sweep of a stencil on a GPU, bound by memory wherever the formula is short.
//
// A thread computes N neighbouring cells (16 bytes, where everything is aligned to that) in one
// plane after the other, and keeps what later planes need again in registers: a value crosses into
// a thread once for each column that it stands in, as one aligned vector. Planes ahead are asked
// for before this one is computed, so that enough bytes are under way to hide memory's latency.
//
// What a row reads beside the N cells comes from further aligned pieces, loaded by the thread
// itself. Such a load hits the first-level cache, for the neighbours have asked for the same lines,
// and takes four wavefronts a warp whether it moves one number a thread or four. At the rate of
// memory a multiprocessor of an H200 has some 60 cycles for the vector of a warp, and its cache a
// wavefront a cycle: a handful of pieces costs nothing, needs no barrier, and lets every thread
// end when it likes, which shuffles between the lanes would not.
//
// Extents and offsets of pieces are multiples of their widths, so a piece lies inside of a row or
// outside with all of its elements. Every address is resolved into its tensor by the rule: along
// the row and across rows once a thread, across planes once a plane. There is no other path for
// border cells, hence no warp that walks two.
//
// This file is a part of a candidate's source text: it includes nothing that is not its own.
#ifndef HIERA_STENCIL_CUDA_PACK
#include "policies/kernel/stencil/cuda_pack.cu"
#endif
#ifndef HIERA_STENCIL_CUDA_SWEEP
#define HIERA_STENCIL_CUDA_SWEEP

namespace hiera_stencil {

// What a read outside of a tensor means. Under kKeep the output cell is not written.
enum class Rule { kZero, kClamp, kWrap, kKeep };

// A row that the formula reads: `source` 0 is the state, others are read-only fields; `d0`, `d1`
// are the offsets in planes and rows; the reads along the row lie in [low, high].
struct RowRead {
  int source, d0, d1, low, high;
};
struct Grid {
  Rule rule;
  long extent[3];
};
// Elements [at, at + width) of a row, counted from the thread's first cell.
struct PieceRead {
  int source, at, width;
};
// The rows at one offset in rows, over all planes.
struct ColumnRead {
  int source, d1;
};
// A piece of a column in the planes [first, last] from the current one. base >= 0: those planes and
// `ahead` more lie in held values from there on, the lowest plane first; else it is loaded when it
// is needed.
struct Tap {
  int column, piece, first, last, ahead, base;
};

template <int V>
struct Number {
  static constexpr int value = V;
};
// f(Number<Begin>), ..., f(Number<End - 1>).
template <int Begin, int End, class F>
__forceinline__ void ForEach(const F& f) {
  if constexpr (Begin < End) {
    f(Number<Begin>{});
    ForEach<Begin + 1, End>(f);
  }
}

template <class I>
__forceinline__ constexpr I Least(I a, I b) {
  return a < b ? a : b;
}
template <class I>
__forceinline__ constexpr I Most(I a, I b) {
  return a > b ? a : b;
}
constexpr long DivideUp(long a, long b) { return (a + b - 1) / b; }

// Aligned vectors of memory that no thread of the launch writes.
__forceinline__ Pack<float, 1> Fetch(const float* p, Number<1>) { return {{__ldg(p)}}; }
__forceinline__ Pack<float, 2> Fetch(const float* p, Number<2>) {
  const float2 v = __ldg((const float2*)p);
  return {{v.x, v.y}};
}
__forceinline__ Pack<float, 4> Fetch(const float* p, Number<4>) {
  const float4 v = __ldg((const float4*)p);
  return {{v.x, v.y, v.z, v.w}};
}
__forceinline__ Pack<double, 1> Fetch(const double* p, Number<1>) { return {{__ldg(p)}}; }
__forceinline__ Pack<double, 2> Fetch(const double* p, Number<2>) {
  const double2 v = __ldg((const double2*)p);
  return {{v.x, v.y}};
}

// The same at this very point of the program, where a compiler might move it down to its use.
#if defined(__CUDACC_RTC__)
__forceinline__ Pack<float, 1> FetchNow(const float* p, Number<1>) {
  Pack<float, 1> v;
  asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(v.e[0]) : "l"(__cvta_generic_to_global(p)));
  return v;
}
__forceinline__ Pack<float, 2> FetchNow(const float* p, Number<2>) {
  Pack<float, 2> v;
  asm volatile("ld.global.nc.v2.f32 {%0, %1}, [%2];"
               : "=f"(v.e[0]), "=f"(v.e[1])
               : "l"(__cvta_generic_to_global(p)));
  return v;
}
__forceinline__ Pack<float, 4> FetchNow(const float* p, Number<4>) {
  Pack<float, 4> v;
  asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.e[0]), "=f"(v.e[1]), "=f"(v.e[2]), "=f"(v.e[3])
               : "l"(__cvta_generic_to_global(p)));
  return v;
}
__forceinline__ Pack<double, 1> FetchNow(const double* p, Number<1>) {
  Pack<double, 1> v;
  asm volatile("ld.global.nc.f64 %0, [%1];" : "=d"(v.e[0]) : "l"(__cvta_generic_to_global(p)));
  return v;
}
__forceinline__ Pack<double, 2> FetchNow(const double* p, Number<2>) {
  Pack<double, 2> v;
  asm volatile("ld.global.nc.v2.f64 {%0, %1}, [%2];"
               : "=d"(v.e[0]), "=d"(v.e[1])
               : "l"(__cvta_generic_to_global(p)));
  return v;
}
#else
template <class T, class Width>
__forceinline__ auto FetchNow(const T* p, Width width) {
  return Fetch(p, width);
}
#endif

// Streaming stores leave the second-level cache first: nothing of this launch reads them.
template <bool Streaming, class V>
__forceinline__ void Move(V* p, V v) {
  if constexpr (Streaming) {
    __stcs(p, v);
  } else {
    *p = v;
  }
}
template <bool Streaming, class T>
__forceinline__ void Put(T* p, const Pack<T, 1>& v) {
  Move<Streaming>(p, v.e[0]);
}
template <bool Streaming>
__forceinline__ void Put(float* p, const Pack<float, 2>& v) {
  Move<Streaming>((float2*)p, float2{v.e[0], v.e[1]});
}
template <bool Streaming>
__forceinline__ void Put(float* p, const Pack<float, 4>& v) {
  Move<Streaming>((float4*)p, float4{v.e[0], v.e[1], v.e[2], v.e[3]});
}
template <bool Streaming>
__forceinline__ void Put(double* p, const Pack<double, 2>& v) {
  Move<Streaming>((double2*)p, double2{v.e[0], v.e[1]});
}

// What a thread knows of its operands; gives the formula its reads.
template <class Cell, class Plan>
struct Operands {
  using T = typename Cell::Type;
  using Index = typename Plan::Index;
  static constexpr int N = Plan::kNeighbours;
  using Value = Pack<T, N>;

  const T* source[Cell::kSources];
  Index plane_stride[Cell::kSources];
  Index along[Plan::kPieces];  // where a piece begins in its row
  Index across[Plan::kColumns];
  bool before[Plan::kPieces], behind[Plan::kPieces];  // the row
  bool has_row[Plan::kColumns];
  T held[Plan::kHeld + 1];
  Index z, limit;  // the current plane, and the last one of this thread

  static constexpr Grid GridOf(int source) { return Plan::kGrid[source]; }
  static constexpr bool LeavesRow(PieceRead piece) {
    return piece.at < 0 ||
           Plan::kExtent[2] - N + piece.at + piece.width > GridOf(piece.source).extent[2];
  }
  static constexpr bool LeavesRows(ColumnRead column) {
    return column.d1 < 0 || Plan::kExtent[1] - 1 + column.d1 >= GridOf(column.source).extent[1];
  }
  static constexpr bool LeavesPlanes(Tap tap) {
    return tap.first < 0 ||
           Plan::kExtent[0] - 1 + tap.last >= GridOf(Plan::kColumn[tap.column].source).extent[0];
  }

  // The place of `width` elements from `at` on, where `at` is a multiple of their number.
  template <Rule R>
  static __forceinline__ Index Resolve(Index at, Index extent, Index width) {
    if constexpr (R == Rule::kWrap) {
      const Index rest = at % extent;
      return rest < 0 ? rest + extent : rest;
    } else {
      return Most<Index>(0, Least<Index>(at, extent - width));
    }
  }

  __forceinline__ void Place(const Index (*strides)[2], Index y, Index x) {
    ForEach<0, Plan::kPieces>([&](auto number) {
      constexpr int P = decltype(number)::value;
      constexpr PieceRead piece = Plan::kPiece[P];
      constexpr Grid grid = GridOf(piece.source);
      along[P] = x + piece.at;
      before[P] = behind[P] = false;
      if constexpr (LeavesRow(piece)) {
        before[P] = along[P] < 0;
        behind[P] = along[P] >= Index(grid.extent[2]);
        along[P] = Resolve<grid.rule>(along[P], grid.extent[2], piece.width);
      }
    });
    ForEach<0, Plan::kColumns>([&](auto number) {
      constexpr int C = decltype(number)::value;
      constexpr ColumnRead column = Plan::kColumn[C];
      constexpr Grid grid = GridOf(column.source);
      Index row = y + column.d1;
      has_row[C] = true;
      if constexpr (LeavesRows(column)) {
        has_row[C] = row >= 0 && row < Index(grid.extent[1]);
        row = Resolve<grid.rule>(row, grid.extent[1], 1);
      }
      across[C] = row * strides[column.source][1];
    });
  }

  template <Rule R, int First, int Last>
  static __forceinline__ Index ResolvePlane(Index at, Index extent, long e) {
    if constexpr (R == Rule::kWrap) {
      if (-First <= e && Plan::kExtent[0] - 1 + Last < 2 * e) {  // once round at most
        return at < 0 ? at + extent : at >= extent ? at - extent : at;
      }
    }
    return Resolve<R>(at, extent, 1);
  }

  template <int S, bool Now = false>
  __forceinline__ auto Load(Index plane) const {
    constexpr Tap tap = Plan::kTap[S];
    constexpr PieceRead piece = Plan::kPiece[tap.piece];
    constexpr ColumnRead column = Plan::kColumn[tap.column];
    constexpr Grid grid = GridOf(piece.source);
    constexpr bool leaves_row = LeavesRow(piece), leaves_planes = LeavesPlanes(tap);
    bool inside = true;
    if constexpr (leaves_row) inside = !before[tap.piece] && !behind[tap.piece];
    if constexpr (LeavesRows(column)) inside = inside && has_row[tap.column];
    if constexpr (leaves_planes) {
      inside = inside && plane >= 0 && plane < Index(grid.extent[0]);
      plane = ResolvePlane<grid.rule, tap.first, tap.last>(plane, grid.extent[0], grid.extent[0]);
    }
    const Index at = plane * plane_stride[piece.source] + across[tap.column] + along[tap.piece];
    const T* const from = source[piece.source] + at;
    Pack<T, piece.width> got;
    if constexpr (Now) {
      got = FetchNow(from, Number<piece.width>{});
    } else {
      got = Fetch(from, Number<piece.width>{});
    }
    if constexpr (grid.rule == Rule::kClamp && leaves_row && piece.width > 1) {
      const T first = got.e[0], last = got.e[piece.width - 1];
#pragma unroll
      for (int i = 0; i < piece.width; ++i) {
        got.e[i] = before[tap.piece] ? first : behind[tap.piece] ? last : got.e[i];
      }
    }
    if constexpr (grid.rule == Rule::kZero && (leaves_row || LeavesRows(column) || leaves_planes)) {
#pragma unroll
      for (int i = 0; i < piece.width; ++i) got.e[i] = inside ? got.e[i] : T(0);
    }
    return got;
  }

  // Puts a tap's plane `K` of those that it holds there.
  template <int S, int K>
  __forceinline__ void Hold() {
    constexpr Tap tap = Plan::kTap[S];
    constexpr int width = Plan::kPiece[tap.piece].width;
    Index plane = z + tap.first + K;
    // Not beyond what this thread needs: a plane that is asked for twice costs nothing.
    if constexpr (K > tap.last - tap.first) {
      plane = Least<Index>(plane, limit + tap.last);
    }
    const auto got = Load<S, true>(plane);
#pragma unroll
    for (int i = 0; i < width; ++i) held[tap.base + K * width + i] = got.e[i];
  }

  // Everything that plane z needs but its last ones.
  __forceinline__ void Begin() {
    ForEach<0, Plan::kTaps>([&](auto number) {
      constexpr int S = decltype(number)::value;
      constexpr Tap tap = Plan::kTap[S];
      if constexpr (tap.base >= 0) {
        ForEach<0, tap.last - tap.first + tap.ahead>(
            [&](auto plane) { this->template Hold<S, decltype(plane)::value>(); });
      }
    });
  }
  __forceinline__ void Complete() {
    ForEach<0, Plan::kTaps>([&](auto number) {
      constexpr int S = decltype(number)::value;
      constexpr Tap tap = Plan::kTap[S];
      if constexpr (tap.base >= 0) this->template Hold<S, tap.last - tap.first + tap.ahead>();
    });
  }
  __forceinline__ void Shift() {
    ForEach<0, Plan::kTaps>([&](auto number) {
      constexpr Tap tap = Plan::kTap[decltype(number)::value];
      if constexpr (tap.base >= 0) {
        constexpr int width = Plan::kPiece[tap.piece].width;
#pragma unroll
        for (int i = 0; i < (tap.last - tap.first + tap.ahead) * width; ++i) {
          held[tap.base + i] = held[tap.base + width + i];
        }
      }
    });
  }

  static constexpr int TapOf(int source, int d1, int element) {
    for (int s = 0; s < Plan::kTaps; ++s) {
      const ColumnRead column = Plan::kColumn[Plan::kTap[s].column];
      const PieceRead piece = Plan::kPiece[Plan::kTap[s].piece];
      if (column.source == source && column.d1 == d1 && piece.at <= element &&
          element < piece.at + piece.width) {
        return s;
      }
    }
    return -1;
  }

  template <int S>
  __forceinline__ auto Take(int d0) const {
    constexpr Tap tap = Plan::kTap[S];
    constexpr int width = Plan::kPiece[tap.piece].width;
    if constexpr (tap.base >= 0) {
      Pack<T, width> got;
#pragma unroll
      for (int i = 0; i < width; ++i) {
        got.e[i] = held[tap.base + (d0 - tap.first) * width + i];
      }
      return got;
    } else {
      return Load<S>(z + d0);
    }
  }

  // N elements in order lie in two pieces at most.
  template <int Source, int D0, int D1, int Distance>
  __forceinline__ Value ReadAt() const {
    constexpr int A = TapOf(Source, D1, Distance), B = TapOf(Source, D1, Distance + N - 1);
    static_assert(A >= 0 && B >= 0, "a read that no piece covers");
    constexpr int low = Plan::kPiece[Plan::kTap[A].piece].at;
    constexpr int high = Plan::kPiece[Plan::kTap[B].piece].at;
    constexpr int low_end = low + Plan::kPiece[Plan::kTap[A].piece].width;
    const auto a = Take<A>(D0);
    const auto b = Take<B>(D0);
    Value value;
    ForEach<0, N>([&](auto number) {
      constexpr int element = Distance + decltype(number)::value;
      if constexpr (element < low_end) {
        value.e[element - Distance] = a.e[element - low];
      } else {
        value.e[element - Distance] = b.e[element - high];
      }
    });
    return value;
  }
  template <int Row, int Distance>
  __forceinline__ Value Read() const {
    constexpr RowRead row = Cell::kRow[Row];
    return ReadAt<row.source, row.d0, row.d1, Distance>();
  }
};

// Puts the cells of plane z. In steps before the last a kept cell takes the state's value; in the
// last it keeps its own.
template <class Cell, class Plan, class O>
__forceinline__ void Write(typename Cell::Type* to, typename O::Value value, const O& operands,
                           typename Plan::Index y, typename Plan::Index x, bool last) {
  constexpr bool keeps_cells = Plan::kBegin[2] > 0 || Plan::kEnd[2] < Plan::kExtent[2];
  constexpr bool keeps = keeps_cells || Plan::kBegin[1] > 0 || Plan::kBegin[0] > 0 ||
                         Plan::kEnd[1] < Plan::kExtent[1] || Plan::kEnd[0] < Plan::kExtent[0];
  if constexpr (keeps && Plan::kSteps > 1) {
    if (!last) {
      const bool row = y >= Plan::kBegin[1] && y < Plan::kEnd[1] && operands.z >= Plan::kBegin[0] &&
                       operands.z < Plan::kEnd[0];
      const auto state = operands.template ReadAt<0, 0, 0, 0>();
#pragma unroll
      for (int i = 0; i < Plan::kNeighbours; ++i) {
        const bool written = row && x + i >= Plan::kBegin[2] && x + i < Plan::kEnd[2];
        value.e[i] = written ? value.e[i] : state.e[i];
      }
      Put<Plan::kStreaming>(to, value);
      return;
    }
  }
  if constexpr (keeps_cells) {
    if (x < Plan::kBegin[2] || x + Plan::kNeighbours > Plan::kEnd[2]) {
#pragma unroll
      for (int i = 0; i < Plan::kNeighbours; ++i) {
        if (x + i >= Plan::kBegin[2] && x + i < Plan::kEnd[2]) to[i] = value.e[i];
      }
      return;
    }
  }
  Put<Plan::kStreaming>(to, value);
}

// The body of a kernel. `strides` of planes and rows: of each source, then of the output. Blocks
// are numbered along the rows, then across them, then over the planes, so that those that run at
// a time share borders in the second-level cache. Where planes have one row, threads in y walk
// further planes.
template <class Cell, class Plan>
__forceinline__ void RunSweep(const typename Cell::Type* const* sources, typename Cell::Type* out,
                              const typename Cell::Type* scalars,
                              const typename Plan::Index (*strides)[2], bool last) {
  using Index = typename Plan::Index;
  constexpr unsigned kAlong = DivideUp(Plan::kExtent[2], Plan::kNeighbours * Plan::kThreads[0]);
  constexpr bool kFlat = Plan::kExtent[1] == 1;
  constexpr unsigned kAcross = kFlat ? 1 : DivideUp(Plan::kExtent[1], Plan::kThreads[1]);
  const unsigned block = blockIdx.x / kAlong;
  const Index x =
      (Index(blockIdx.x % kAlong) * Plan::kThreads[0] + Index(threadIdx.x)) * Plan::kNeighbours;
  const Index y = kFlat ? 0 : Index(block % kAcross) * Plan::kThreads[1] + Index(threadIdx.y);
  const Index walk =
      kFlat ? Index(block) * Plan::kThreads[1] + Index(threadIdx.y) : Index(block / kAcross);
  Index begin = walk * Plan::kMarch;
  Index end = Least<Index>(begin + Plan::kMarch, Plan::kExtent[0]);
  if (last) {
    begin = Most<Index>(begin, Plan::kBegin[0]);
    end = Least<Index>(end, Plan::kEnd[0]);
    if (y < Plan::kBegin[1] || y >= Plan::kEnd[1]) return;
  }
  if (x >= Plan::kExtent[2] || y >= Plan::kExtent[1] || begin >= end) return;

  Operands<Cell, Plan> operands;
  ForEach<0, Cell::kSources>([&](auto number) {
    constexpr int S = decltype(number)::value;
    operands.source[S] = sources[S];
    operands.plane_stride[S] = strides[S][0];
  });
  operands.Place(strides, y, x);
  operands.z = begin;
  operands.limit = end - 1;
  const Index plane = strides[Cell::kSources][0];
  out += begin * plane + y * strides[Cell::kSources][1] + x;
  operands.Begin();
  const auto sweep_plane = [&] {
    operands.Complete();
    Write<Cell, Plan>(out, Cell::At(operands, scalars), operands, y, x, last);
    operands.Shift();
    ++operands.z;
    out += plane;
  };
  // Groups of planes without an end amid them: a compiler moves loads behind whatever may end the
  // thread, down to their use. Within a group no held value moves from register to register, which
  // would wait for it.
  while (operands.z + Plan::kUnroll <= end) {
#pragma unroll
    for (int i = 0; i < Plan::kUnroll; ++i) sweep_plane();
  }
  if constexpr (Plan::kUnroll > 1) {
#pragma unroll 1
    while (operands.z < end) sweep_plane();
  }
}

}  // namespace hiera_stencil

#endif  // HIERA_STENCIL_CUDA_SWEEP
