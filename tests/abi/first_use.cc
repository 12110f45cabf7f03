// The C++ face, compiled as C++11: builders, ownership, exceptions. Exits with 0, or says what was
// wrong.
#include <hiera/hiera.hpp>

#include <cstdio>
#include <type_traits>

namespace {

int g_failures = 0;

void Expect(bool condition, const char* what) {
  if (condition) return;
  std::printf("not so: %s\n", what);
  ++g_failures;
}
#define EXPECT(condition) Expect(condition, #condition)

static_assert(!std::is_copy_constructible<hiera::Op>::value, "an operator has one owner");
static_assert(!std::is_copy_constructible<hiera::Engine>::value, "an engine has one owner");

void RunsAFormula(hiera::Engine& engine) {
  hiera::Op op = engine.Create(hiera::Formula("y[i] = a*x[i+1]")
                                   .tensor(hiera::Tensor("x").f32({4}).outside(HIERA_OUTSIDE_ZERO))
                                   .tensor(hiera::Tensor("y").f32({4}).strides({2}))
                                   .scalar("a"));
  float x[4] = {1, 2, 3, 4}, y[8] = {0}, z[8] = {0};
  op.Run({x, y}, {10.0});
  EXPECT(y[0] == 20 && y[2] == 30 && y[4] == 40 && y[6] == 0 && y[1] == 0);
  op.Reference({x, z}, {10.0});
  EXPECT(z[4] == 40);
  EXPECT(op.info().generation == 0);
  EXPECT(!op.Settle(std::chrono::milliseconds(1)));
  EXPECT(op.Explain().find("key: ") == 0);
  hiera::Op moved = std::move(op);
  EXPECT(op.get() == nullptr);
  moved.Run({x, y}, {1.0});
  EXPECT(y[0] == 2);
}

void RunsADescriptor(hiera::Engine& engine) {
  hiera_gemm gemm = HIERA_GEMM_INIT;
  gemm.dtype = HIERA_F64;
  gemm.m = gemm.n = gemm.k = 2;
  gemm.alpha_class = HIERA_SCALAR_ONE;
  gemm.beta_class = HIERA_SCALAR_ZERO;
  hiera::Op op = engine.Create(gemm);
  double a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, c[4] = {0};
  op.Run({a, b, c}, {1.0, 0.0});
  EXPECT(c[0] == 19 && c[1] == 22 && c[2] == 43 && c[3] == 50);
}

void Throws(hiera::Engine& engine) {
  bool thrown = false;
  try {
    engine.Create(hiera::Formula("y[i] = x[i"));
  } catch (const hiera::Error& error) {
    thrown = true;
    EXPECT(error.status() == HIERA_INVALID_ARGUMENT);
    EXPECT(std::string(error.what()).find("line 1, column") != std::string::npos);
  }
  EXPECT(thrown);
  thrown = false;
  try {
    hiera::Tensor("x").f32({1, 1, 1, 1, 1, 1, 1, 1, 1});
  } catch (const hiera::Error&) {
    thrown = true;
  }
  EXPECT(thrown);
}

}  // namespace

int main() {
  hiera_config config = HIERA_CONFIG_INIT;
  config.mode = HIERA_MODE_OFF;
  hiera::Engine engine(config);
  RunsAFormula(engine);
  RunsADescriptor(engine);
  Throws(engine);
  EXPECT(engine.stats().swaps == 0);
  if (g_failures == 0) std::printf("ok\n");
  return g_failures == 0 ? 0 : 1;
}
