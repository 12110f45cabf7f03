// The interpreter against plain loops of the same formula, compiled here with -O3 for this machine,
// without errno and traps in the compiler's way, and cut over the same threads: how much slower an
// answer is while nothing is compiled. Run in turns, the best of each counts: other work on the
// machine only ever adds. With one thread the time is that thread's own. Prints one line a formula;
// the last figure is the ratio.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/device/device.h"
#include "runtime/device/host/thread_pool.h"
#include "runtime/device/host/usable_cores.h"
#include "runtime/task/parse.h"
#include "runtime/task/reference.h"
#include "tests/bench/interpreter_row.h"

namespace {

using namespace hiera;

const float* In(void* const* p, int i) { return static_cast<const float*>(p[i]); }
float* Out(void* const* p, int i) { return static_cast<float*>(p[i]); }

const InterpreterRow kRows[] = {
    {"chain 4096x512", R"(tensor x: f32[4096,512]; tensor b: f32[512]; tensor y: f32[4096,512]
y[i,j] = relu(2*x[i,j] + b[j])*0.5 - x[i,j])",
     4096,
     [](void* const* p, long begin, long end) {
       const float *x = In(p, 0), *b = In(p, 1);
       float* y = Out(p, 2);
       for (long i = begin; i < end; ++i) {
         for (long j = 0; j < 512; ++j) {
           const float v = x[i * 512 + j], t = 2 * v + b[j];
           y[i * 512 + j] = (t < 0 ? 0 : t) * 0.5f - v;
         }
       }
     }},
    {"chain, in cache 64x256", R"(tensor x: f32[64,256]; tensor b: f32[256]; tensor y: f32[64,256]
y[i,j] = relu(2*x[i,j] + b[j])*0.5 - x[i,j])",
     64,
     [](void* const* p, long begin, long end) {
       const float *x = In(p, 0), *b = In(p, 1);
       float* y = Out(p, 2);
       for (long i = begin; i < end; ++i) {
         for (long j = 0; j < 256; ++j) {
           const float v = x[i * 256 + j], t = 2 * v + b[j];
           y[i * 256 + j] = (t < 0 ? 0 : t) * 0.5f - v;
         }
       }
     }},
    {"gelu 1024x1024", R"(tensor x: f32[1024,1024]; tensor y: f32[1024,1024]
y[i,j] = gelu(x[i,j]))",
     1024,
     [](void* const* p, long begin, long end) {
       const float* x = In(p, 0);
       float* y = Out(p, 1);
       for (long i = begin * 1024; i < end * 1024; ++i) {
         y[i] = x[i] * 0.5f * (1 + std::erf(x[i] * 0.70710678f));
       }
     }},
    {"star2d1r 2048x2048", R"(tensor u: f32[2048,2048] outside keep; tensor v: f32[2048,2048]
v[i,j] = 0.5*u[i,j] + 0.125*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1]))",
     2046,
     [](void* const* p, long begin, long end) {
       const float* u = In(p, 0);
       float* v = Out(p, 1);
       for (long i = begin + 1; i < end + 1; ++i) {
         for (long j = 1; j < 2047; ++j) {
           const long at = i * 2048 + j;
           v[at] = 0.5f * u[at] + 0.125f * (u[at - 2048] + u[at + 2048] + u[at - 1] + u[at + 1]);
         }
       }
     }},
    {"star2d1r 256x256", R"(tensor u: f32[256,256] outside keep; tensor v: f32[256,256]
v[i,j] = 0.5*u[i,j] + 0.125*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1]))",
     254,
     [](void* const* p, long begin, long end) {
       const float* u = In(p, 0);
       float* v = Out(p, 1);
       for (long i = begin + 1; i < end + 1; ++i) {
         for (long j = 1; j < 255; ++j) {
           const long at = i * 256 + j;
           v[at] = 0.5f * u[at] + 0.125f * (u[at - 256] + u[at + 256] + u[at - 1] + u[at + 1]);
         }
       }
     }},
    {"star3d1r 160x160x256", R"(tensor u: f32[160,160,256] outside keep; tensor v: f32[160,160,256]
v[i,j,k] = 0.4*u[i,j,k] + 0.1*(u[i-1,j,k] + u[i+1,j,k] + u[i,j-1,k]
  + u[i,j+1,k] + u[i,j,k-1] + u[i,j,k+1]))",
     158,
     [](void* const* p, long begin, long end) {
       const float* u = In(p, 0);
       float* v = Out(p, 1);
       for (long i = begin + 1; i < end + 1; ++i) {
         for (long j = 1; j < 159; ++j) {
           for (long k = 1; k < 255; ++k) {
             const long at = (i * 160 + j) * 256 + k;
             v[at] = 0.4f * u[at] + 0.1f * (u[at - 40960] + u[at + 40960] + u[at - 256] +
                                            u[at + 256] + u[at - 1] + u[at + 1]);
           }
         }
       }
     }},
    {"box2d1r 1024x1024",
     R"(tensor u: f32[1024,1024] outside keep; tensor w: f32[3,3]; tensor v: f32[1024,1024]
v[i,j] = sum(r,s: u[i+r-1,j+s-1]*w[r,s]))",
     1022,
     [](void* const* p, long begin, long end) {
       const float *u = In(p, 0), *w = In(p, 1);
       float* v = Out(p, 2);
       for (long i = begin + 1; i < end + 1; ++i) {
         for (long j = 1; j < 1023; ++j) {
           float sum = 0;
           for (long r = 0; r < 3; ++r) {
             for (long s = 0; s < 3; ++s) {
               sum += u[(i + r - 1) * 1024 + j + s - 1] * w[r * 3 + s];
             }
           }
           v[i * 1024 + j] = sum;
         }
       }
     }},
    {"max pool 3x3 64x112x112",
     R"(tensor x: f32[64,224,224] outside clamp; tensor y: f32[64,112,112]
y[c,i,j] = max(r<3,s<3: x[c,2*i+r,2*j+s]))",
     64,
     [](void* const* p, long begin, long end) {
       const float* x = In(p, 0);
       float* y = Out(p, 1);
       for (long c = begin; c < end; ++c) {
         for (long i = 0; i < 112; ++i) {
           for (long j = 0; j < 112; ++j) {
             float best = -INFINITY;
             for (long r = 0; r < 3; ++r) {
               for (long s = 0; s < 3; ++s) {
                 const long a = std::min(2 * i + r, 223L), b = std::min(2 * j + s, 223L);
                 best = std::max(best, x[(c * 224 + a) * 224 + b]);
               }
             }
             y[(c * 112 + i) * 112 + j] = best;
           }
         }
       }
     }},
    {"softmax 1024x1024", R"(tensor x: f32[1024,1024]; tensor y: f32[1024,1024]
y[i,j] = exp(x[i,j] - max(k: x[i,k])) / sum(k: exp(x[i,k] - max(l: x[i,l]))))",
     1024,
     [](void* const* p, long begin, long end) {
       for (long i = begin; i < end; ++i) {
         const float* x = In(p, 0) + i * 1024;
         float* y = Out(p, 1) + i * 1024;
         float m = x[0], sum = 0;
         for (long j = 0; j < 1024; ++j) m = std::max(m, x[j]);
         for (long j = 0; j < 1024; ++j) sum += y[j] = std::exp(x[j] - m);
         for (long j = 0; j < 1024; ++j) y[j] /= sum;
       }
     }},
    {"layer norm 1024x1024", R"(tensor x: f32[1024,1024]; tensor y: f32[1024,1024]
m[i] = mean(j: x[i,j]); v[i] = mean(j: (x[i,j] - m[i])^2)
y[i,j] = (x[i,j] - m[i]) * rsqrt(v[i] + 0.00001))",
     1024,
     [](void* const* p, long begin, long end) {
       for (long i = begin; i < end; ++i) {
         const float* x = In(p, 0) + i * 1024;
         float* y = Out(p, 1) + i * 1024;
         float m = 0, v = 0;
         for (long j = 0; j < 1024; ++j) m += x[j];
         m /= 1024;
         for (long j = 0; j < 1024; ++j) v += (x[j] - m) * (x[j] - m);
         const float scale = 1 / std::sqrt(v / 1024 + 1e-5f);
         for (long j = 0; j < 1024; ++j) y[j] = (x[j] - m) * scale;
       }
     }},
    {"column sums 2048x1024", R"(tensor x: f32[2048,1024]; tensor y: f32[1024]
y[j] = sum(i: x[i,j]))",
     1024,
     [](void* const* p, long begin, long end) {
       const float* x = In(p, 0);
       float* y = Out(p, 1);
       for (long j = begin; j < end; ++j) y[j] = 0;
       for (long i = 0; i < 2048; ++i) {
         for (long j = begin; j < end; ++j) y[j] += x[i * 1024 + j];
       }
     }},
    {"gemm 256", R"(tensor A: f32[256,256]; tensor B: f32[256,256]; tensor C: f32[256,256]
C[i,j] = sum(k: A[i,k]*B[k,j]))",
     256,
     [](void* const* p, long begin, long end) {
       const float *a = In(p, 0), *b = In(p, 1);
       float* c = Out(p, 2);
       for (long i = begin; i < end; ++i) {
         for (long j = 0; j < 256; ++j) c[i * 256 + j] = 0;
         for (long k = 0; k < 256; ++k) {
           const float s = a[i * 256 + k];
           for (long j = 0; j < 256; ++j) c[i * 256 + j] += s * b[k * 256 + j];
         }
       }
     }},
    {"gemm 256, B transposed",
     R"(tensor A: f32[256,256]; tensor B: f32[256,256]; tensor C: f32[256,256]
C[i,j] = sum(k: A[i,k]*B[j,k]))",
     256,
     [](void* const* p, long begin, long end) {
       const float *a = In(p, 0), *b = In(p, 1);
       float* c = Out(p, 2);
       for (long i = begin; i < end; ++i) {
         for (long j = 0; j < 256; ++j) {
           float sum = 0;
           for (long k = 0; k < 256; ++k) sum += a[i * 256 + k] * b[j * 256 + k];
           c[i * 256 + j] = sum;
         }
       }
     }},
    {"matrix-vector 1024", R"(tensor A: f32[1024,1024]; tensor x: f32[1024]; tensor y: f32[1024]
y[i] = sum(k: A[i,k]*x[k]))",
     1024,
     [](void* const* p, long begin, long end) {
       const float *a = In(p, 0), *x = In(p, 1);
       float* y = Out(p, 2);
       for (long i = begin; i < end; ++i) {
         float sum = 0;
         for (long k = 0; k < 1024; ++k) sum += a[i * 1024 + k] * x[k];
         y[i] = sum;
       }
     }},
    {"conv 64x3x3 of 64x56x56",
     R"(tensor X: f32[64,56,56] outside zero; tensor W: f32[64,64,3,3]; tensor Y: f32[64,56,56]
Y[f,y,x] = sum(c,r,s: X[c,y+r-1,x+s-1]*W[f,c,r,s]))",
     64,
     [](void* const* p, long begin, long end) {
       const float *in = In(p, 0), *w = In(p, 1);
       float* out = Out(p, 2);
       for (long f = begin; f < end; ++f) {
         for (long i = 0; i < 56 * 56; ++i) out[f * 3136 + i] = 0;
         for (long c = 0; c < 64; ++c) {
           for (long r = 0; r < 3; ++r) {
             for (long s = 0; s < 3; ++s) {
               const float weight = w[((f * 64 + c) * 3 + r) * 3 + s];
               for (long y = std::max(0L, 1 - r); y < std::min(56L, 57 - r); ++y) {
                 float* o = out + f * 3136 + y * 56;
                 const float* i = in + c * 3136 + (y + r - 1) * 56 + s - 1;
                 for (long x = std::max(0L, 1 - s); x < std::min(56L, 57 - s); ++x) {
                   o[x] += weight * i[x];
                 }
               }
             }
           }
         }
       }
     }},
    {"cumulative sum 1024x1024", R"(tensor x: f32[1024,1024]; tensor y: f32[1024,1024]
y[i,j] = cumsum(j: x[i,j]))",
     1024,
     [](void* const* p, long begin, long end) {
       for (long i = begin; i < end; ++i) {
         float sum = 0;
         for (long j = 0; j < 1024; ++j) Out(p, 1)[i * 1024 + j] = sum += In(p, 0)[i * 1024 + j];
       }
     }},
    {"gather 4096x256",
     R"(tensor W: f32[1000,256] outside clamp; tensor n: i32[4096]; tensor y: f32[4096,256]
y[i,j] = W[n[i],j])",
     4096,
     [](void* const* p, long begin, long end) {
       const int32_t* n = static_cast<const int32_t*>(p[1]);
       for (long i = begin; i < end; ++i) {
         const long row = std::clamp(n[i], 0, 999);
         for (long j = 0; j < 256; ++j) Out(p, 2)[i * 256 + j] = In(p, 0)[row * 256 + j];
       }
     }},
};

double Best(const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }

struct LoopCall {
  void (*loops)(void* const* p, long begin, long end);
  void* const* pointers;
};

// Returns interpreter / loops, or a negative number where the formula does not run.
double Compare(const InterpreterRow& row, Device& device, const ThreadPool& pool,
               double target_ns) {
  const auto task = ParseTask(row.text);
  if (!task.ok()) {
    std::fprintf(stderr, "%s: %s\n", row.name.c_str(), task.status().message().c_str());
    return -1;
  }
  const int64_t compile_begin = MonotonicNs();
  const auto op = device.Interpret(*task);
  const double compile_us = static_cast<double>(MonotonicNs() - compile_begin) / 1e3;
  if (!op.ok()) return -1;
  std::mt19937 random(1);
  std::vector<std::vector<char>> buffers;
  std::vector<void*> pointers;
  for (const TensorSpec& tensor : task->tensors) {
    std::vector<char> data(static_cast<size_t>(tensor.span_bytes()));
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < tensor.span_bytes() / SizeOf(tensor.dtype); ++i) {
      const long double value =
          tensor.dtype == DType::kI32 ? static_cast<long double>(random() % 1000) : normal(random);
      StoreRounded(value, tensor.dtype, data.data() + i * SizeOf(tensor.dtype));
    }
    buffers.push_back(std::move(data));
  }
  for (auto& buffer : buffers) pointers.push_back(buffer.data());
  LoopCall loops{row.loops, pointers.data()};
  const auto run_loops = [&] {
    pool.Run(
        row.outer,
        [](void* c, long begin, long end, int) {
          static_cast<LoopCall*>(c)->loops(static_cast<LoopCall*>(c)->pointers, begin, end);
        },
        &loops);
  };
  const auto run_op = [&] { (void)(*op)->Run({pointers.data(), nullptr, nullptr}); };
  const auto now = [&] {
    if (pool.threads() > 1) return MonotonicNs();
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  };
  const auto time = [&](const auto& run) {
    const int64_t begin = now();
    run();
    return static_cast<double>(now() - begin);
  };
  std::vector<double> ours, theirs;
  double spent = 0;
  while (spent < target_ns || ours.size() < 5) {
    theirs.push_back(time(run_loops));
    ours.push_back(time(run_op));
    spent += theirs.back() + ours.back();
  }
  const double ratio = Best(ours) / Best(theirs);
  std::printf("%-30s loops %10.1f us  interpreter %10.1f us  made in %6.0f us  ratio %6.2f\n",
              row.name.c_str(), Best(theirs) / 1e3, Best(ours) / 1e3, compile_us, ratio);
  return ratio;
}

}  // namespace

// bench_interpreter [THREADS [MILLISECONDS [NAME]]]
int main(int argc, char** argv) {
  const int threads = argc > 1 && std::atoi(argv[1]) > 0 ? std::atoi(argv[1]) : UsableCores();
  const double target_ns = argc > 2 ? std::atof(argv[2]) * 1e6 : 3e8;
  const auto device = MakeHostDevice(threads);
  const ThreadPool pool(threads);
  double log_sum = 0, worst = 0;
  int count = 0;
  std::vector<InterpreterRow> rows(std::begin(kRows), std::end(kRows));
  for (InterpreterRow& row : StencilRows()) rows.push_back(std::move(row));
  for (const InterpreterRow& row : rows) {
    if (argc > 3 && row.name.find(argv[3]) == std::string::npos) continue;
    const double ratio = Compare(row, *device, pool, target_ns);
    if (ratio < 0) return 1;
    log_sum += std::log(ratio);
    worst = std::max(worst, ratio);
    ++count;
  }
  if (count == 0) return 1;
  std::printf("interpreter / plain loops, %d threads: geomean %.2f, worst %.2f\n", threads,
              std::exp(log_sum / count), worst);
  return 0;
}
