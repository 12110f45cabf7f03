// All of extern "C": arguments are checked and copied, and everything thrown becomes a status here.
// The conventions are those of include/hiera/hiera.h.
#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "hiera/hiera.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/core/engine.h"
#include "runtime/core/engine_parts.h"
#include "runtime/core/explain.h"
#include "runtime/core/last_error.h"
#include "runtime/core/operator.h"
#include "runtime/core/struct_size.h"
#include "runtime/task/constructors.h"

// The handle counts as one reference and every operator as another, so that operators which outlive
// their engine's handle go on answering.
struct hiera_engine {
  std::unique_ptr<hiera::Engine> engine;
  std::atomic<int64_t> references{1};
};

struct hiera_op {
  hiera::Operator op;
  hiera_engine* owner;
};

namespace hiera {
namespace {

constexpr int kExplainPlannerMs = 900;

template <typename F>
hiera_status Guard(F&& function) noexcept {
  try {
    const Status status = function();
    if (status.ok()) return HIERA_OK;
    SetLastError(status.message());
    return static_cast<hiera_status>(status.code());
  } catch (const std::bad_alloc&) {
    SetLastError("out of memory");
    return HIERA_OUT_OF_MEMORY;
  } catch (const std::exception& e) {
    SetLastError(e.what());
    return HIERA_INTERNAL;
  } catch (...) {
    SetLastError("an unknown exception");
    return HIERA_INTERNAL;
  }
}

Status NotNull(const void* pointer, const char* name) {
  return pointer != nullptr ? Status() : InvalidArgument(std::string(name) + " is NULL");
}

void Release(hiera_engine* engine) noexcept {
  if (engine->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete engine;
}

// A descriptor with a contract and a baseline: its copy, the contract's copy, then the operator.
template <typename Descriptor>
Status CreateOp(hiera_engine* engine, const Descriptor* given, const char* name,
                Result<Task> (*make)(const Descriptor&), hiera_op** op_out) {
  HIERA_RETURN_IF_ERROR(NotNull(engine, "engine"));
  HIERA_RETURN_IF_ERROR(NotNull(op_out, "op_out"));
  Descriptor descriptor;
  HIERA_RETURN_IF_ERROR(CopyIn(given, name, &descriptor));
  hiera_contract contract;
  if (descriptor.contract != nullptr) {
    HIERA_RETURN_IF_ERROR(CopyIn(descriptor.contract, "hiera_contract", &contract));
    descriptor.contract = &contract;
  }
  Result<Task> task = make(descriptor);
  if (!task.ok()) return task.status();
  Result<Operator> op =
      engine->engine->CreateOp(*std::move(task), descriptor.baseline, descriptor.baseline_user);
  if (!op.ok()) return op.status();
  *op_out = new hiera_op{*std::move(op), engine};
  engine->references.fetch_add(1, std::memory_order_relaxed);
  return {};
}

// Why a run did not succeed: its arguments, or what ran. Kept out of the call path, which would
// otherwise save registers and reserve memory for it at every call.
[[gnu::noinline, gnu::cold]] hiera_status RunFailed(const Operator& op, void* const* pointers,
                                                    const double* scalars,
                                                    hiera_status status) noexcept {
  static_cast<void>(Guard([&]() -> Status {
    HIERA_RETURN_IF_ERROR(op.Check(pointers, scalars));
    return Internal(op.slot().baseline().name + " answered with status " + std::to_string(status) +
                    " (" + hiera_status_name(status) + ")");
  }));
  return status;
}

}  // namespace
}  // namespace hiera

using hiera::CopyIn;
using hiera::CopyOut;
using hiera::Guard;
using hiera::NotNull;
using hiera::Status;

extern "C" {

uint32_t hiera_version(void) { return HIERA_VERSION_MAJOR << 16 | HIERA_VERSION_MINOR; }

const char* hiera_status_name(hiera_status status) {
  switch (status) {
    case HIERA_OK:
      return "ok";
    case HIERA_INVALID_ARGUMENT:
      return "invalid argument";
    case HIERA_UNSUPPORTED:
      return "unsupported";
    case HIERA_OUT_OF_MEMORY:
      return "out of memory";
    case HIERA_TIMEOUT:
      return "timeout";
    case HIERA_DEVICE_ERROR:
      return "device error";
    case HIERA_INTERNAL:
      return "internal error";
    case HIERA_UNAVAILABLE:
      return "unavailable";
    default:
      return "unknown status";
  }
}

const char* hiera_last_error(void) { return hiera::LastError(); }

void hiera_set_log(hiera_log_fn log, void* user) {
  static_cast<void>(Guard([&] {
    hiera::SetLogSink(log, user);
    return Status();
  }));
}

hiera_status hiera_engine_create(const hiera_config* config, hiera_engine** engine_out) {
  return Guard([&]() -> Status {
    HIERA_RETURN_IF_ERROR(NotNull(engine_out, "engine_out"));
    hiera_config copy = HIERA_CONFIG_INIT;
    if (config != nullptr) HIERA_RETURN_IF_ERROR(CopyIn(config, "hiera_config", &copy));
    hiera::Result<hiera::EngineParts> parts = hiera::RealParts(copy);
    if (!parts.ok()) return parts.status();
    hiera::Result<std::unique_ptr<hiera::Engine>> engine = hiera::Engine::Create(*std::move(parts));
    if (!engine.ok()) return engine.status();
    *engine_out = new hiera_engine{*std::move(engine)};
    return {};
  });
}

void hiera_engine_destroy(hiera_engine* engine) {
  if (engine == nullptr) return;
  static_cast<void>(Guard([&] {
    engine->engine->StopPlanning();
    const int64_t left = engine->references.load(std::memory_order_acquire) - 1;
    if (left > 0) {
      hiera::Log(hiera::LogLevel::kError,
                 "hiera_engine_destroy: " + std::to_string(left) +
                     " operators are left; destroy them first. The engine is kept until the last "
                     "of them goes");
    }
    return Status();
  }));
  hiera::Release(engine);
}

hiera_status hiera_engine_stats(const hiera_engine* engine, hiera_stats* stats_out) {
  return Guard([&]() -> Status {
    HIERA_RETURN_IF_ERROR(NotNull(engine, "engine"));
    const hiera::Counters& counters = engine->engine->counters();
    hiera_stats stats = HIERA_STATS_INIT;
    stats.planner_connected = engine->engine->planner_connected() ? 1 : 0;
    stats.swaps = counters.swaps.load(std::memory_order_relaxed);
    stats.index_hits = counters.index_hits.load(std::memory_order_relaxed);
    stats.requests_sent = counters.requests_sent.load(std::memory_order_relaxed);
    stats.requests_dropped = counters.requests_dropped.load(std::memory_order_relaxed);
    stats.load_failures = counters.load_failures.load(std::memory_order_relaxed);
    stats.rollbacks = counters.rollbacks.load(std::memory_order_relaxed);
    stats.unfit_runs = counters.unfit_runs.load(std::memory_order_relaxed);
    return CopyOut(stats, "hiera_stats", stats_out);
  });
}

hiera_status hiera_op_create(hiera_engine* engine, const hiera_formula* formula,
                             hiera_op** op_out) {
  return Guard([&] {
    return hiera::CreateOp(engine, formula, "hiera_formula", hiera::MakeFormula, op_out);
  });
}

hiera_status hiera_op_create_gemm(hiera_engine* engine, const hiera_gemm* gemm, hiera_op** op_out) {
  return Guard(
      [&] { return hiera::CreateOp(engine, gemm, "hiera_gemm", hiera::MakeGemm, op_out); });
}

hiera_status hiera_op_create_conv(hiera_engine* engine, const hiera_conv* conv, hiera_op** op_out) {
  return Guard(
      [&] { return hiera::CreateOp(engine, conv, "hiera_conv", hiera::MakeConv, op_out); });
}

hiera_status hiera_op_create_stencil(hiera_engine* engine, const hiera_stencil* stencil,
                                     hiera_op** op_out) {
  return Guard([&] {
    return hiera::CreateOp(engine, stencil, "hiera_stencil", hiera::MakeStencil, op_out);
  });
}

void hiera_op_destroy(hiera_op* op) {
  if (op == nullptr) return;
  hiera_engine* owner = op->owner;
  delete op;
  hiera::Release(owner);
}

hiera_status hiera_op_run(hiera_op* op, void* const* pointers, const double* scalars,
                          void* stream) {
  if (op == nullptr) [[unlikely]] {
    hiera::SetLastError("op is NULL");
    return HIERA_INVALID_ARGUMENT;
  }
  const hiera_status status = op->op.Run(pointers, scalars, stream);
  if (status != HIERA_OK) [[unlikely]] {
    return hiera::RunFailed(op->op, pointers, scalars, status);
  }
  return HIERA_OK;
}

hiera_status hiera_op_reference(const hiera_op* op, void* const* pointers, const double* scalars) {
  return Guard([&]() -> Status {
    HIERA_RETURN_IF_ERROR(NotNull(op, "op"));
    return op->op.Reference(pointers, scalars);
  });
}

hiera_status hiera_op_settle(hiera_op* op, uint64_t timeout_ns) {
  return Guard([&]() -> Status {
    HIERA_RETURN_IF_ERROR(NotNull(op, "op"));
    return op->owner->engine->Settle(op->op.slot(), timeout_ns);
  });
}

hiera_status hiera_op_get_info(const hiera_op* op, hiera_op_info* info_out) {
  return Guard([&]() -> Status {
    HIERA_RETURN_IF_ERROR(NotNull(op, "op"));
    const hiera::Slot& slot = op->op.slot();
    const hiera::Variant* variant = slot.Current()->variant;
    hiera_op_info info = HIERA_OP_INFO_INIT;
    info.space =
        variant != nullptr ? static_cast<uint32_t>(variant->space) : uint32_t{HIERA_SPACE_BASELINE};
    info.baseline = slot.baseline().kind;
    info.settled = slot.planning() == hiera::Planning::kSettled ? 1 : 0;
    info.generation = slot.generation();
    info.key[0] = slot.key().high;
    info.key[1] = slot.key().low;
    info.baseline_ns = slot.baseline_ns();
    info.speedup = slot.speedup();
    info.flops = slot.cost().flops;
    info.bytes = slot.cost().bytes;
    return CopyOut(info, "hiera_op_info", info_out);
  });
}

hiera_status hiera_op_explain(hiera_op* op, char* text_out, size_t capacity, size_t* length_out) {
  return Guard([&]() -> Status {
    HIERA_RETURN_IF_ERROR(NotNull(op, "op"));
    if (capacity > 0) HIERA_RETURN_IF_ERROR(NotNull(text_out, "text_out"));
    const std::string text =
        hiera::Explain(*op->owner->engine, op->op.slot(), hiera::kExplainPlannerMs);
    if (capacity > 0) {
      const size_t size = std::min(text.size(), capacity - 1);
      std::memcpy(text_out, text.data(), size);
      text_out[size] = '\0';
    }
    if (length_out != nullptr) *length_out = text.size();
    return {};
  });
}

}  // extern "C"
