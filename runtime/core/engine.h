// Engine: operators on one device. It owns the device, the slots, the published index as this
// process sees it, and the client thread that talks to the planner.
//
// Thread safety: every public function from any thread unless its comment says otherwise. mutex_
// guards the slow paths (creating operators, loading and offering variants, the table); the call
// path takes nothing. Fork: the child keeps every slot as it is and has no client thread until it
// misses or settles. Invariant: the client thread runs in mode on alone.
#ifndef HIERA_RUNTIME_CORE_ENGINE_H_
#define HIERA_RUNTIME_CORE_ENGINE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/core/bounded_queue.h"
#include "runtime/core/counters.h"
#include "runtime/core/event_count.h"
#include "runtime/core/fork_watch.h"
#include "runtime/core/operator.h"
#include "runtime/core/slot.h"
#include "runtime/core/slot_table.h"
#include "runtime/device/device.h"
#include "runtime/ipc/channel.h"
#include "runtime/ipc/index.h"
#include "runtime/ipc/messages.h"

namespace hiera {

class Client;

enum class Mode : uint32_t {
  kOn = HIERA_MODE_ON,
  kFrozen = HIERA_MODE_FROZEN,
  kOff = HIERA_MODE_OFF,
};

// What an engine works with. RealParts (engine_parts.h) gives an application's; tests give
// fictional ones.
struct EngineParts {
  std::unique_ptr<Device> device;
  Mode mode = Mode::kOn;
  std::string index_path;     // "": no store, so nothing is known and nothing can be planned
  uint32_t plan_seconds = 0;  // the planner's budget for one task; 0: its own default
  // To the planner, starting one where there is none. Called by the client thread.
  std::function<Result<Channel>(const Hello& hello, int timeout_ms)> connect;
  // To a planner that runs already.
  std::function<Result<Channel>(const Hello& hello, int timeout_ms)> connect_running;
  std::function<Result<std::unique_ptr<Executable>>(const Task&, const Variant&)> load;
  // The baseline of a task for which the caller gave none.
  std::function<Result<Baseline>(const Task&)> baseline;
};

class Engine final : private Slot::Observer, private ForkListener {
 public:
  // Opens the index. Errors: kOutOfMemory. A store that cannot be read is not an error.
  static Result<std::unique_ptr<Engine>> Create(EngineParts parts);
  // Blocks until the client thread has stopped. No operator may be left.
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // `function` may be null. The operator borrows the engine. A variant that the index has is loaded
  // before this returns. Errors: those of the baseline.
  Result<Operator> CreateOp(Task task, hiera_baseline_fn function, void* user);

  // See hiera_op_settle.
  Status Settle(Slot& slot, uint64_t timeout_ns);

  Mode mode() const { return parts_.mode; }
  Device& device() { return *parts_.device; }
  const Counters& counters() const { return counters_; }
  bool planner_connected() const { return planner_connected_.load(std::memory_order_relaxed); }
  // What is known of the planner, as a sentence.
  std::string PlannerState();
  // For looking at a slot's [engine] parts.
  std::unique_lock<std::mutex> Lock() { return std::unique_lock(mutex_); }
  // What a running planner answers to a query, within about timeout_ms; it is not started for this.
  Result<std::string> AskPlanner(const Query& query, int timeout_ms);

  // Stops the client thread, as the destructor does; what is loaded goes on running.
  void StopPlanning();

 private:
  friend class Client;
  static constexpr size_t kQueueCapacity = 1024;
  struct Note {
    LogLevel level;
    std::string text;
  };
  using Notes = std::vector<Note>;

  explicit Engine(EngineParts parts);

  void Notice(Slot& slot, bool urgent) noexcept override;
  void BeforeFork() noexcept override;
  void AfterForkInParent() noexcept override;
  void AfterForkInChild() noexcept override;

  // Under mutex_.
  Result<std::unique_ptr<Slot>> MakeSlot(Task task, std::string canonical, const Hash128& key,
                                         hiera_baseline_fn function, void* user);
  void StartFromIndex(Slot& slot, Notes& notes);
  void Bring(Slot& slot, const Variant& variant, bool start, Notes& notes);
  void EnsureClient(Notes& notes);

  // Of the client thread.
  void Announced(const Variant& variant);
  void Settled(const Hash128& key, const std::string& outcome);
  void RefreshIndex();
  void LookAtIndex(Slot& slot, int64_t now_ns, Notes& notes);
  void PlannerLost(const std::string& reason);
  static void Say(const Notes& notes);

  EngineParts parts_;
  Counters counters_;
  BoundedQueue<Slot*, kQueueCapacity> queue_;  // slots with events, to the client thread
  EventCount client_bell_;                     // the client thread has something to do
  EventCount settle_bell_;                     // something changed for those who settle
  std::atomic<bool> client_runs_{false};
  std::atomic<bool> planner_connected_{false};
  std::atomic<bool> told_not_planned_{false};
  std::atomic<bool> retry_now_{false};  // somebody waits: do not back off
  std::atomic<uint64_t> connect_failures_{0};

  std::mutex mutex_;
  SlotTable table_;
  std::shared_ptr<const PublishedIndex> index_;
  bool switched_off_ = false;  // the kill switch, as the index says
  bool stopped_ = false;
  std::string planner_trouble_;         // why it cannot be reached; "" where it can
  std::vector<VariantReport> reports_;  // for the client thread to send
  std::unique_ptr<Client> client_;
  std::unique_ptr<Client> abandoned_;  // of a parent process: never touched again
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_CORE_ENGINE_H_
