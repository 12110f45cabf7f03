// A fictional device, its clock and its executables, and a fictional planner, for tests of core.
#ifndef HIERA_TESTS_UNIT_CORE_FICTIONAL_H_
#define HIERA_TESTS_UNIT_CORE_FICTIONAL_H_

#include <sched.h>
#include <sys/socket.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/core/engine.h"
#include "runtime/device/device.h"
#include "runtime/task/parse.h"

namespace hiera::fictional {

// Time passes only where an executable says so; each thread has its own.
inline thread_local double t_now_ns = 0;
inline thread_local bool t_lose_intervals = false;

// Stores `mark` in the last of two pointers.
class Marker final : public Executable {
 public:
  explicit Marker(double mark, double cost_ns = 100) : mark_(mark), cost_ns_(cost_ns) {}

  hiera_status Run(const Call& call) const noexcept override {
    t_now_ns += cost_ns_;
    runs.fetch_add(1, std::memory_order_relaxed);
    const hiera_status answer = status.load(std::memory_order_relaxed);
    if (answer == HIERA_OK) *static_cast<float*>(call.pointers[1]) = static_cast<float>(mark_);
    return answer;
  }

  mutable std::atomic<int> runs{0};
  std::atomic<hiera_status> status{HIERA_OK};

 private:
  double mark_;
  double cost_ns_;
};

class Timer final : public CallTimer {
 public:
  void Begin(void*) noexcept override { begin_ = t_now_ns; }
  void End(void*) noexcept override { elapsed_ = t_lose_intervals ? NAN : t_now_ns - begin_; }
  double ElapsedNs() noexcept override { return elapsed_; }

 private:
  double begin_ = 0, elapsed_ = -1;
};

class FictionalDevice final : public Device {
 public:
  FictionalDevice() { fingerprint_.fields = {{"device", "fictional"}}; }
  std::string_view name() const override { return "fictional"; }
  const Fingerprint& fingerprint() const override { return fingerprint_; }
  int parallelism() const override { return 1; }
  Result<std::unique_ptr<Executable>> Load(const Task&, const LaunchPlan&,
                                           const std::string&) override {
    return Unsupported("a fictional device loads nothing");
  }
  Result<std::unique_ptr<Executable>> Interpret(const Task&) override {
    return Unsupported("a fictional device interprets nothing");
  }
  std::unique_ptr<CallTimer> MakeTimer() override { return std::make_unique<Timer>(); }
  bool IsCapturing(void*) const noexcept override { return capturing; }
  Status Synchronise(void*) override { return {}; }

  bool capturing = false;

 private:
  Fingerprint fingerprint_;
};

inline Task TaskOf(const std::string& text) {
  Result<Task> task = ParseTask(text);
  if (!task.ok()) throw std::runtime_error(task.status().message());
  return *std::move(task);
}

// y = a multiple of x, so that every factor is another task.
inline Task Scaling(int factor, const std::string& contract = "") {
  return TaskOf("tensor x: f32[4]\ntensor y: f32[4]\n" + contract +
                "\ny[i] = " + std::to_string(factor) + " * x[i]");
}

inline Task InPlace() { return TaskOf("tensor b: f32[4]\ntensor x: f32[4]\nx[i] = x[i] + b[i]"); }

inline Variant VariantOf(const Hash128& key, const std::string& name) {
  Variant variant;
  variant.key = key;
  variant.space = Space::kKernel;
  variant.family = "fictional";
  variant.name = name;
  variant.plan.text = "object";
  variant.artifact = std::string(64, 'a');
  variant.baseline_name = "interpreter";
  variant.baseline_ns = 100;
  variant.time_ns = 50;
  variant.ratio = 2;
  variant.ratio_low = 1.9;
  return variant;
}

// What two pointers of a call point at; result() is the mark of what ran.
struct Buffers {
  alignas(64) float x[8] = {0};
  alignas(64) float y[8] = {0};
  void* pointers[2] = {x, y};
  float result() const { return y[0]; }
};

// The other end of an engine's connection. Refuses to be reached while `reachable` is false.
class Planner {
 public:
  std::function<Result<Channel>(const Hello&, int)> Connector() {
    return [this](const Hello& hello, int) -> Result<Channel> {
      ++attempts;
      if (!reachable) return Unavailable("fictional: nobody there");
      int fds[2];
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0) {
        return Unavailable("socketpair");
      }
      const std::lock_guard lock(mutex_);
      hello_ = hello;
      channel_ = Channel(fds[0], fds[0]);
      if (++connections == 1) first_client_fd = fds[1];
      return Channel(fds[1], fds[1]);
    };
  }

  // The next message of type T within ten seconds; others are skipped.
  template <typename T>
  std::optional<T> Next() {
    const int64_t deadline = MonotonicNs() + 10'000'000'000;
    while (MonotonicNs() < deadline) {
      const std::lock_guard lock(mutex_);
      if (!channel_.is_open()) continue;
      Result<std::optional<Message>> message = channel_.Receive(10);
      if (!message.ok()) {
        channel_.Close();
        continue;
      }
      if (message->has_value() && std::holds_alternative<T>(**message)) {
        return std::get<T>(**message);
      }
    }
    return std::nullopt;
  }
  bool Send(const Message& message) {
    const std::lock_guard lock(mutex_);
    return channel_.is_open() && channel_.Send(message, 1000).ok();
  }
  void Die() {
    const std::lock_guard lock(mutex_);
    channel_.Close();
  }

  std::atomic<bool> reachable{true};
  std::atomic<int> attempts{0};
  std::atomic<int> connections{0};
  std::atomic<int> first_client_fd{-1};

 private:
  std::mutex mutex_;
  Channel channel_;
  Hello hello_;
};

// Polls until `condition` holds; false after ten seconds.
inline bool Eventually(const std::function<bool()>& condition) {
  const int64_t deadline = MonotonicNs() + 10'000'000'000;
  while (!condition()) {
    if (MonotonicNs() > deadline) return false;
    sched_yield();
  }
  return true;
}

// Parts of an engine whose baselines mark 1 and whose variants mark what `marks` says by name;
// a name that is not there cannot be loaded.
struct World {
  std::map<std::string, double> marks;
  std::map<std::string, double> costs;  // 50 where not named
  std::map<std::string, Marker*> loaded;
  Planner planner;
  std::string index_path = "/nonexistent/index";

  EngineParts Parts(Mode mode = Mode::kOn) {
    EngineParts parts;
    parts.device = std::make_unique<FictionalDevice>();
    parts.mode = mode;
    parts.index_path = index_path;
    parts.connect = planner.Connector();
    parts.connect_running = [](const Hello&, int) -> Result<Channel> {
      return Unavailable("fictional: none runs");
    };
    parts.load = [this](const Task&,
                        const Variant& variant) -> Result<std::unique_ptr<Executable>> {
      const auto mark = marks.find(variant.name);
      if (mark == marks.end()) return DeviceError("fictional: cannot be loaded");
      const auto cost = costs.find(variant.name);
      auto made = std::make_unique<Marker>(mark->second, cost == costs.end() ? 50 : cost->second);
      loaded[variant.name] = made.get();
      return std::unique_ptr<Executable>(std::move(made));
    };
    parts.baseline = [](const Task&) -> Result<Baseline> {
      Baseline baseline;
      baseline.name = "interpreter";
      baseline.executable = std::make_unique<Marker>(1);
      return baseline;
    };
    return parts;
  }
};

}  // namespace hiera::fictional

#endif  // HIERA_TESTS_UNIT_CORE_FICTIONAL_H_
