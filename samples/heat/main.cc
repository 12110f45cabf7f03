// Heat flows through a picture, faster and faster: the solver's own loop is HIERA's baseline, and
// what is planned for exactly this grid on this machine takes its place while the program runs.
#include <hiera/hiera.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "picture.h"
#include "solver.h"

namespace {

constexpr float kKappa = 0.2f;
constexpr int kStepsPerCall = 8;
constexpr double kReportSeconds = 0.5;
constexpr double kSteadySeconds = 2;  // how long the baseline and the winner are timed

struct Options {
  std::string in;
  std::string out;
  int size = 2048;      // grid points along each side
  double seconds = 45;  // at most so long until the planner has settled
};

double Seconds() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--in") options.in = argv[i + 1];
    if (name == "--out") options.out = argv[i + 1];
    if (name == "--size") options.size = std::atoi(argv[i + 1]);
    if (name == "--seconds") options.seconds = std::atof(argv[i + 1]);
  }
  if (options.in.empty() || options.out.empty() || options.size < 3 || argc % 2 == 0) {
    std::fprintf(stderr, "heat --in PICTURE.png --out RESULT.png [--size N] [--seconds S]\n");
    std::exit(2);
  }
  return options;
}

hiera_status RunSolver(void* user, void* const* pointers, const double*, void*) {
  static_cast<Solver*>(user)->Advance(static_cast<const float*>(pointers[0]),
                                      static_cast<float*>(pointers[1]));
  return HIERA_OK;
}

// The same update as the solver's, as a formula: what HIERA plans from.
hiera_op* DeclareHeat(hiera_engine* engine, int size, Solver* solver) {
  const hiera_tensor tensors[] = {
      {"u", HIERA_F32, 2, {size, size}, {0}, HIERA_OUTSIDE_CLAMP, 0},
      {"v", HIERA_F32, 2, {size, size}, {0}, HIERA_OUTSIDE_REFUSE, 0},
  };
  hiera_formula formula = HIERA_FORMULA_INIT;
  const std::string text = "steps " + std::to_string(kStepsPerCall) + " (u = v)\n" +
                           "v[y,x] = u[y,x] + " + std::to_string(kKappa) +
                           " * (u[y-1,x] + u[y+1,x] + u[y,x-1] + u[y,x+1] - 4*u[y,x])";
  formula.text = text.c_str();
  formula.tensors = tensors;
  formula.tensor_count = 2;
  formula.baseline = RunSolver;
  formula.baseline_user = solver;
  hiera_op* op = nullptr;
  if (hiera_op_create(engine, &formula, &op) != HIERA_OK) {
    throw std::runtime_error(hiera_last_error());
  }
  return op;
}

const char* SpaceName(uint32_t space) {
  switch (space) {
    case HIERA_SPACE_BASELINE:
      return "baseline";
    case HIERA_SPACE_FRAMEWORK:
      return "framework";
    case HIERA_SPACE_LIBRARY:
      return "library";
    default:
      return "kernel";
  }
}

struct Progress {
  long calls = 0;
  long first_swapped_call = 0;  // 0: none yet
  double steady_rate = 0;
  hiera_op_info info = HIERA_OP_INFO_INIT;
};

class Simulation {
 public:
  Simulation(hiera_op* op, std::vector<float> field)
      : op_(op), u_(std::move(field)), v_(u_.size()) {}

  // Runs until the planner has settled (or the time is over), then a little longer.
  Progress Run(double patience_seconds) {
    Progress progress;
    const double start = Seconds();
    double window = start, steady_since = 0;
    long window_calls = 0, steady_calls = 0;
    uint64_t generation = 0;
    for (;;) {
      Call();
      ++progress.calls;
      ++window_calls;
      hiera_op_get_info(op_, &progress.info);
      const double now = Seconds();
      if (progress.info.generation != generation) {
        generation = progress.info.generation;
        if (progress.first_swapped_call == 0) progress.first_swapped_call = progress.calls;
        std::printf("  %6.2f s  swap %llu at call %ld: now from the %s space\n", now - start,
                    static_cast<unsigned long long>(generation), progress.calls,
                    SpaceName(progress.info.space));
        window = now;
        window_calls = 0;
      }
      if (now - window >= kReportSeconds) {
        const double rate = window_calls * kStepsPerCall / (now - window);
        std::printf("  %6.2f s  %9.1f steps/s  %s\n", now - start, rate,
                    SpaceName(progress.info.space));
        window = now;
        window_calls = 0;
      }
      const bool ended = progress.info.settled != 0 || now - start > patience_seconds;
      if (ended && steady_since == 0) {
        steady_since = now;
      } else if (steady_since != 0) {
        ++steady_calls;
        if (now - steady_since >= kSteadySeconds) {
          progress.steady_rate = steady_calls * kStepsPerCall / (now - steady_since);
          break;
        }
      }
    }
    return progress;
  }

  // One more call, beside the reference. Returns the largest difference.
  double CheckOneCall() {
    std::vector<float> expected(u_.size());
    void* const pointers[] = {u_.data(), expected.data()};
    if (hiera_op_reference(op_, pointers, nullptr) != HIERA_OK) {
      throw std::runtime_error(hiera_last_error());
    }
    Call();  // u_ is now what was computed
    double worst = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      const double difference = std::fabs(static_cast<double>(u_[i]) - expected[i]);
      if (!(difference <= worst)) worst = difference;
    }
    return worst;
  }

  const std::vector<float>& field() const { return u_; }

 private:
  void Call() {
    void* const pointers[] = {u_.data(), v_.data()};
    if (hiera_op_run(op_, pointers, nullptr, nullptr) != HIERA_OK) {
      throw std::runtime_error(hiera_last_error());
    }
    std::swap(u_, v_);
  }

  hiera_op* op_;
  std::vector<float> u_, v_;
};

// Steps per second of the solver alone, before anything else runs on this machine.
double SolverRate(Solver& solver, const std::vector<float>& field) {
  std::vector<float> result(field.size());
  solver.Advance(field.data(), result.data());
  const double start = Seconds();
  int calls = 0;
  for (; Seconds() - start < kSteadySeconds; ++calls) solver.Advance(field.data(), result.data());
  return calls * kStepsPerCall / (Seconds() - start);
}

int Solve(const Options& options) {
  const Picture picture = Resize(ReadPicture(options.in), options.size, options.size);
  Solver solver(options.size, options.size, kStepsPerCall, kKappa);
  const double baseline_rate = SolverRate(solver, picture.values);
  hiera::Engine engine;
  hiera_op* op = DeclareHeat(engine.get(), options.size, &solver);
  std::printf("heat: %d x %d grid, %d steps a call\n", options.size, options.size, kStepsPerCall);

  Simulation simulation(op, picture.values);
  const Progress progress = simulation.Run(options.seconds);
  const double error = simulation.CheckOneCall();
  WritePicture(options.out, {options.size, options.size, simulation.field()});
  hiera_op_destroy(op);

  // Values lie in [0, 1]; eight steps of five-term sums leave an error of a few units in the last
  // place of f32.
  constexpr double kTolerance = 1e-5;
  const bool right = error <= kTolerance;
  std::printf("heat: field within %.2g of the reference: %s\n", error, right ? "ok" : "WRONG");
  std::printf("heat: baseline %.1f steps/s, swapped %.1f steps/s (%.2f x), swapped at call %ld\n",
              baseline_rate, progress.steady_rate, progress.steady_rate / baseline_rate,
              progress.first_swapped_call);
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = Parse(argc, argv);
  try {
    return Solve(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heat: %s\n", error.what());
    return 1;
  }
}
