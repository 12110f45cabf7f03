#include "runtime/core/engine.h"

#include <errno.h>

#include <algorithm>
#include <optional>

#include "runtime/base/clock.h"
#include "runtime/core/caller_baseline.h"
#include "runtime/core/client.h"

namespace hiera {
namespace {

std::string Describe(const Slot& slot, const Variant& variant) {
  return slot.key().ToHex() + ": " + variant.family + " " + variant.name;
}

}  // namespace

Engine::Engine(EngineParts parts) : parts_(std::move(parts)) {}

Result<std::unique_ptr<Engine>> Engine::Create(EngineParts parts) {
  std::unique_ptr<Engine> engine(new Engine(std::move(parts)));
  if (engine->mode() != Mode::kOff && !engine->parts_.index_path.empty()) {
    Result<std::shared_ptr<const PublishedIndex>> index =
        PublishedIndex::Open(engine->parts_.index_path);
    if (index.ok()) {
      engine->index_ = *index;
      engine->switched_off_ = engine->index_->switched_off();
    } else {
      Log(index.status().code() == Code::kUnavailable ? LogLevel::kDebug : LogLevel::kWarning,
          "no published index: " + index.status().message());
    }
  }
  if (!WatchForks(engine.get())) return OutOfMemory("no memory to watch for forks of the process");
  return engine;
}

Engine::~Engine() {
  StopPlanning();
  UnwatchForks(this);
  abandoned_.release();  // its thread was another process's: nothing of it may be touched
}

void Engine::StopPlanning() {
  std::unique_ptr<Client> client;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    client_runs_.store(false, std::memory_order_release);
    client = std::move(client_);
  }
  if (client != nullptr) client->Stop();
  settle_bell_.Notify();
}

void Engine::Say(const Notes& notes) {
  if (ProcessExits()) return;
  for (const Note& note : notes) Log(note.level, note.text);
}

Result<std::unique_ptr<Slot>> Engine::MakeSlot(Task task, std::string canonical, const Hash128& key,
                                               hiera_baseline_fn function, void* user) {
  Baseline baseline;
  if (function != nullptr) {
    baseline.kind = HIERA_BASELINE_CALLER;
    baseline.name = "caller";
    baseline.executable = std::make_unique<CallerBaseline>(function, user);
    baseline.function = function;
    baseline.user = user;
  } else {
    Result<Baseline> built_in = parts_.baseline(task);
    if (!built_in.ok()) return built_in.status();
    baseline = *std::move(built_in);
  }
  return std::make_unique<Slot>(std::move(task), std::move(canonical), key, std::move(baseline),
                                *parts_.device, counters_, static_cast<Slot::Observer&>(*this));
}

Result<Operator> Engine::CreateOp(Task task, hiera_baseline_fn function, void* user) {
  int64_t& alignment = task.contract.alignment;
  if (alignment == 0) alignment = parts_.device->usual_alignment();
  if (alignment == 1) alignment = 0;  // one spelling of the element's
  std::string canonical = CanonicalText(task);
  const Hash128 key = TaskKey(canonical, parts_.device->fingerprint().Text());
  if (function == nullptr) user = nullptr;
  Notes notes;
  std::optional<Operator> op;
  {
    const std::lock_guard lock(mutex_);
    if (Slot* shared = table_.Find(key, function, user)) return Operator(task, *shared);
    Result<std::unique_ptr<Slot>> made = MakeSlot(task, canonical, key, function, user);
    if (!made.ok()) return made.status();
    if (table_.full()) {
      Count(counters_.requests_dropped);
      return Operator(task, *std::move(made));
    }
    Slot& slot = *table_.Insert(*std::move(made));
    op.emplace(task, slot);
    if (mode() != Mode::kOff) StartFromIndex(slot, notes);
    if (mode() == Mode::kOn && !parts_.index_path.empty() && !stopped_) {
      EnsureClient(notes);
      slot.set_planning(slot.HasVariants() ? Planning::kKnown : Planning::kWanted);
      if (slot.planning() == Planning::kWanted) Notice(slot, true);
    }
  }
  Say(notes);
  return *std::move(op);
}

// Under the kill switch the slot is suspended before it is offered anything.
void Engine::StartFromIndex(Slot& slot, Notes& notes) {
  if (switched_off_) slot.Suspend();
  if (index_ == nullptr) return;
  const std::optional<Variant> variant = index_->Find(slot.key());
  if (!variant.has_value()) return;
  Bring(slot, *variant, true, notes);
  if (slot.Owns(variant->Identity())) Count(counters_.index_hits);
}

void Engine::Bring(Slot& slot, const Variant& variant, bool start, Notes& notes) {
  const Hash128 identity = variant.Identity();
  if (slot.HasRefused(identity)) return;
  // Frozen runs choose the same way every time; a trial depends on the clock.
  const bool on_trial = slot.baseline().kind == HIERA_BASELINE_CALLER && mode() == Mode::kOn;
  if (slot.Owns(identity)) {
    if (!on_trial) slot.OfferAgain(identity);
    return;
  }
  Result<std::unique_ptr<Executable>> executable = parts_.load(slot.task(), variant);
  if (!executable.ok()) {
    Count(counters_.load_failures);
    slot.Refuse(identity);
    const Status& why = executable.status();
    notes.push_back({LogLevel::kWarning,
                     Describe(slot, variant) +
                         " could not be loaded, the operator goes on without: " + why.message()});
    // What is merely not here (another build of a library, say) may serve other processes.
    if (why.code() != Code::kUnavailable) reports_.push_back({slot.key(), identity, why.message()});
    return;
  }
  switch (slot.Offer(*std::move(executable), variant, on_trial, start)) {
    case Slot::Offered::kActive:
      notes.push_back(
          {LogLevel::kInfo, Describe(slot, variant) + (start ? " from the index" : " swapped in")});
      break;
    case Slot::Offered::kOnTrial:
      notes.push_back({LogLevel::kInfo, Describe(slot, variant) + " on trial against live calls"});
      break;
    case Slot::Offered::kFull:
      notes.push_back({LogLevel::kInfo, Describe(slot, variant) + " not loaded: the operator had " +
                                            std::to_string(Slot::kMaxVariants) +
                                            " variants already"});
      break;
  }
}

void Engine::EnsureClient(Notes& notes) {
  if (client_ != nullptr || stopped_ || mode() != Mode::kOn) return;
  auto client = std::make_unique<Client>(*this);
  const Status started = client->Start();
  if (!started.ok()) {
    planner_trouble_ = started.message();
    connect_failures_.fetch_add(1, std::memory_order_relaxed);
    notes.push_back({LogLevel::kWarning, started.message()});
    return;
  }
  client_ = std::move(client);
  client_runs_.store(true, std::memory_order_release);
}

// What is not urgent is seen when the client thread next looks: it waits for no more than 20 ms
// while the planner is at something, and for a second otherwise.
void Engine::Notice(Slot& slot, bool urgent) noexcept {
  // A slot that is not planned may belong to its operator, and go with it.
  if (slot.planning() == Planning::kNever) return;
  if (!client_runs_.load(std::memory_order_acquire)) return;
  if (!queue_.Push(&slot)) Count(counters_.requests_dropped);
  if (urgent) client_bell_.Notify();
}

Status Engine::Settle(Slot& slot, uint64_t timeout_ns) {
  if (mode() != Mode::kOn) return Unavailable("the mode forbids planning");
  if (parts_.index_path.empty()) return Unavailable("there is no store to plan into");
  if (slot.planning() == Planning::kSettled && !slot.suspended()) return {};  // needs no thread
  {
    Notes notes;
    const std::lock_guard lock(mutex_);
    EnsureClient(notes);
  }
  slot.AskSoon();
  const uint64_t failures_before = connect_failures_.load(std::memory_order_acquire);
  retry_now_.store(true, std::memory_order_release);
  client_bell_.Notify();
  constexpr uint64_t kForever = uint64_t{1} << 62;
  const int64_t deadline = MonotonicNs() + static_cast<int64_t>(std::min(timeout_ns, kForever));
  for (;;) {
    const uint32_t seen = settle_bell_.Value();
    const Planning planning = slot.planning();
    if (slot.suspended()) return Unavailable("HIERA is switched off for this store");
    if (planning == Planning::kSettled) return {};
    if (planning == Planning::kNever) return Unavailable("this operator is not planned");
    if (!client_runs_.load(std::memory_order_acquire)) return Unavailable(PlannerState());
    if (connect_failures_.load(std::memory_order_acquire) >= failures_before + 2) {
      return Unavailable(PlannerState());
    }
    const int64_t left = deadline - MonotonicNs();
    if (left <= 0) return Timeout("not settled yet; " + PlannerState());
    settle_bell_.AwaitChange(seen, left);
  }
}

std::string Engine::PlannerState() {
  if (mode() == Mode::kFrozen) return "mode frozen: nothing is planned";
  if (mode() == Mode::kOff) return "mode off: nothing is planned";
  if (planner_connected()) return "the planner is connected";
  const std::lock_guard lock(mutex_);
  if (parts_.index_path.empty()) return "there is no store: neither HIERA_STORE nor a home folder";
  if (stopped_) return "planning has been stopped";
  if (!planner_trouble_.empty()) return "no planner can be reached: " + planner_trouble_;
  return client_ == nullptr ? "the planner has not been asked" : "the planner is not connected";
}

Result<std::string> Engine::AskPlanner(const Query& query, int timeout_ms) {
  if (mode() != Mode::kOn || parts_.index_path.empty()) return Unavailable(PlannerState());
  const int64_t deadline = MonotonicNs() + int64_t{timeout_ms} * 1'000'000;
  const auto left_ms = [deadline] {
    return static_cast<int>(std::max<int64_t>(0, (deadline - MonotonicNs()) / 1'000'000));
  };
  const Hello hello{kProtocolVersion, program_invocation_short_name, ""};
  Result<Channel> channel = parts_.connect_running(hello, timeout_ms);
  if (!channel.ok()) return channel.status();
  HIERA_RETURN_IF_ERROR(channel->Send(query, left_ms()));
  for (;;) {
    Result<std::optional<Message>> message = channel->Receive(left_ms());
    if (!message.ok()) return message.status();
    if (!message->has_value()) return Timeout("the planner did not answer in time");
    if (const Reply* reply = std::get_if<Reply>(&**message)) {
      if (!reply->ok) return Unavailable(reply->text);
      return reply->text;
    }
  }
}

void Engine::BeforeFork() noexcept { mutex_.lock(); }
void Engine::AfterForkInParent() noexcept { mutex_.unlock(); }

// The client thread stayed in the parent, perhaps in the middle of the queue. What it had asked for
// is asked again by the next one.
void Engine::AfterForkInChild() noexcept {
  if (client_ != nullptr) {
    client_->AbandonInChild();
    abandoned_.release();
    abandoned_ = std::move(client_);
  }
  client_runs_.store(false, std::memory_order_release);
  planner_connected_.store(false, std::memory_order_relaxed);
  queue_.Reset();
  mutex_.unlock();
}

}  // namespace hiera
