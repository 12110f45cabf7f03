#include "runtime/tools/tune.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "runtime/base/clock.h"
#include "runtime/task/tensor.h"
#include "runtime/tools/ask.h"
#include "runtime/tools/shape_file.h"

namespace hiera {
namespace {

constexpr int64_t kPollNs = 250'000'000;
constexpr int64_t kPatienceNs = int64_t{15} * 60 * 1'000'000'000;  // for one shape
constexpr int kBarColumns = 30;

struct Tally {
  int shapes = 0;
  int faster = 0;
  double log_sum = 0;
};

// One line on standard error, drawn again and again; nothing where that is no terminal.
class ProgressBar {
 public:
  explicit ProgressBar(size_t total) : total_(total), shown_(isatty(STDERR_FILENO) != 0) {}
  ~ProgressBar() { Clear(); }

  void Draw(size_t done, const std::string& text) {
    if (!shown_) return;
    const size_t filled = total_ == 0 ? 0 : done * kBarColumns / total_;
    std::fprintf(stderr, "\r\033[K[%s%s] %zu/%zu %s", std::string(filled, '#').c_str(),
                 std::string(kBarColumns - filled, '.').c_str(), done, total_,
                 text.substr(0, 60).c_str());
  }
  void Clear() {
    if (shown_) std::fprintf(stderr, "\r\033[K");
  }

 private:
  size_t total_;
  bool shown_;
};

Status LastError(hiera_status status) {
  return Status(static_cast<Code>(status), hiera_last_error());
}

Result<hiera_engine*> MakeEngine(const TuneOptions& options, uint32_t mode) {
  hiera_config config = HIERA_CONFIG_INIT;
  config.mode = mode;
  config.device = options.device.c_str();
  config.store_dir = options.store.empty() ? nullptr : options.store.c_str();
  config.threads = options.threads;
  config.plan_seconds = options.seconds;
  hiera_engine* engine = nullptr;
  const hiera_status status = hiera_engine_create(&config, &engine);
  if (status != HIERA_OK) return LastError(status);
  return engine;
}

hiera_status Create(hiera_engine* engine, const ShapeEntry& entry, hiera_op** op) {
  if (const auto* gemm = std::get_if<hiera_gemm>(&entry.what)) {
    return hiera_op_create_gemm(engine, gemm, op);
  }
  if (const auto* conv = std::get_if<hiera_conv>(&entry.what)) {
    return hiera_op_create_conv(engine, conv, op);
  }
  hiera_formula formula = HIERA_FORMULA_INIT;
  formula.text = std::get<std::string>(entry.what).c_str();
  return hiera_op_create(engine, &formula, op);
}

std::string KeyOf(const hiera_op_info& info) {
  return fmt::format("{:016x}{:016x}", info.key[0], info.key[1]);
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return InvalidArgument(path + " can't be read; name a file of shapes or formulas");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Waits for one shape, drawing meanwhile.
Status Await(hiera_op* op, ProgressBar& bar, size_t done, const std::string& label) {
  const int64_t deadline = MonotonicNs() + kPatienceNs;
  for (;;) {
    bar.Draw(done, label);
    const hiera_status status = hiera_op_settle(op, kPollNs);
    if (status == HIERA_OK) return {};
    if (status != HIERA_TIMEOUT || MonotonicNs() > deadline) return LastError(status);
  }
}

Status TuneOne(hiera_engine* engine, const ShapeEntry& entry, ProgressBar& bar, size_t done,
               std::map<std::string, Tally>& tallies) {
  hiera_op* op = nullptr;
  if (const hiera_status status = Create(engine, entry, &op); status != HIERA_OK) {
    const Status error = LastError(status);
    return Status(error.code(), fmt::format("line {}: {}", entry.line, error.message()));
  }
  Status status = Await(op, bar, done, entry.label);
  hiera_op_info info = HIERA_OP_INFO_INIT;
  if (status.ok() && hiera_op_get_info(op, &info) == HIERA_OK) {
    bar.Clear();
    fmt::print("{:<44} {}\n", entry.label,
               info.generation > 0 ? fmt::format("{:.2f} x", info.speedup)
                                   : std::string("the baseline stays"));
    std::fflush(stdout);
    Tally& tally = tallies[entry.family];
    ++tally.shapes;
    tally.faster += info.generation > 0 && info.speedup > 1;
    tally.log_sum += std::log(info.generation > 0 ? std::max(info.speedup, 1.0) : 1.0);
  }
  hiera_op_destroy(op);
  return status;
}

// What an engine that plans nothing knows of a shape: its key and its work.
hiera_op_info Look(hiera_engine* idle_engine, const ShapeEntry& entry) {
  hiera_op* op = nullptr;
  hiera_op_info info = HIERA_OP_INFO_INIT;
  if (Create(idle_engine, entry, &op) != HIERA_OK || hiera_op_get_info(op, &info) != HIERA_OK) {
    info = HIERA_OP_INFO_INIT;  // what is wrong is told, with its line, when its turn comes
  }
  hiera_op_destroy(op);
  return info;
}

// Drops the shapes that are not to be planned and, where asked for, makes the planner forget that
// it has settled the others; what it found for them stays until it is beaten.
Status Prepare(const TuneOptions& options, std::vector<ShapeEntry>* entries) {
  const Result<hiera_engine*> idle_engine = MakeEngine(options, HIERA_MODE_OFF);
  if (!idle_engine.ok()) return idle_engine.status();
  Status status;
  std::vector<ShapeEntry> wanted;
  for (ShapeEntry& entry : *entries) {
    const hiera_op_info info = Look(*idle_engine, entry);
    if (options.max_gflop > 0 && info.flops > options.max_gflop * 1e9) {
      fmt::print("{:<44} left out: {:.2f} GFLOP a run\n", entry.label, info.flops * 1e-9);
      continue;
    }
    if (options.again && status.ok()) {
      status = Ask(options.store, "replan", KeyOf(info), Start::kYes).status();
    }
    wanted.push_back(std::move(entry));
  }
  hiera_engine_destroy(*idle_engine);
  *entries = std::move(wanted);
  return status;
}

}  // namespace

Status Tune(const TuneOptions& options) {
  const Result<DType> dtype = DTypeFromName(options.dtype);
  if (!dtype.ok()) return InvalidArgument("--dtype: " + dtype.status().message());
  const Result<std::string> text = ReadFile(options.file);
  if (!text.ok()) return text.status();
  Result<std::vector<ShapeEntry>> entries =
      ParseShapes(*text, {static_cast<uint32_t>(*dtype), options.column_major});
  if (!entries.ok()) return InvalidArgument(options.file + ": " + entries.status().message());

  HIERA_RETURN_IF_ERROR(Prepare(options, &*entries));
  const Result<hiera_engine*> engine = MakeEngine(options, HIERA_MODE_ON);
  if (!engine.ok()) return engine.status();
  std::map<std::string, Tally> tallies;
  Status status;
  {
    ProgressBar bar(entries->size());
    for (size_t i = 0; i < entries->size() && status.ok(); ++i) {
      status = TuneOne(*engine, (*entries)[i], bar, i, tallies);
    }
  }
  hiera_engine_destroy(*engine);
  for (const auto& [family, tally] : tallies) {
    fmt::print("tune: {} of {} {} shapes faster (geomean {:.2f} x)\n", tally.faster, tally.shapes,
               family, std::exp(tally.log_sum / std::max(tally.shapes, 1)));
  }
  return status;
}

}  // namespace hiera
