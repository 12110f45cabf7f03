#include "runtime/core/client.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/core/engine.h"

namespace hiera {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kLookEveryNs = 1000 * kMs;
// An operator that started from the index is asked for so much later: the planner may have more to
// try, but a short-lived process need not start one.
constexpr int64_t kConfirmAfterNs = 2000 * kMs;
constexpr int kConnectMs = 1000;
constexpr int kSendMs = 1000;
constexpr int kReceiveMs = 20;  // also how long a notice waits while answers are outstanding
constexpr int64_t kFirstPauseNs = 100 * kMs;
constexpr int64_t kLongestPauseNs = 10'000 * kMs;
constexpr size_t kMaxReports = 1024;
constexpr int kMaxLosses = 8;  // of the planner while it plans one task

// Keeps, for ever and unclosed, a channel whose descriptor the application has taken back: closing
// it would close something of the application.
void Forsake(Channel channel) {
  static std::mutex& mutex = *new std::mutex;
  static std::vector<Channel>& forsaken = *new std::vector<Channel>;
  const std::lock_guard lock(mutex);
  forsaken.push_back(std::move(channel));
}

}  // namespace

Status Client::Start() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  auto begin = std::make_unique<Begin>(Begin{this, end_});
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const int error = pthread_create(&thread, &detached, Main, begin.get());
  pthread_attr_destroy(&detached);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error == 0) {
    static_cast<void>(begin.release());  // the thread's now
    return {};
  }
  return Unavailable("no thread could be made to talk to the planner (error " +
                     std::to_string(error) + "); raise the limit of threads");
}

void Client::Stop() {
  stop_.store(true, std::memory_order_release);
  engine_.client_bell_.Notify();
  for (;;) {
    const uint32_t seen = end_->bell.Value();
    if (end_->reached.load(std::memory_order_acquire)) return;
    end_->bell.AwaitChange(seen, 1000 * kMs);
  }
}

void Client::AbandonInChild() noexcept {
  const int fd = fd_.exchange(-1);
  if (fd >= 0) close(fd);
}

void* Client::Main(void* argument) {
  pthread_setname_np(pthread_self(), "hiera-client");
  const std::unique_ptr<Begin> begin(static_cast<Begin*>(argument));
  Client& client = *begin->client;
  try {
    client.Loop();
  } catch (const std::exception& e) {
    // Out of memory, in practice. Operators go on with what they have.
    client.engine_.PlannerLost(e.what());
    client.engine_.client_runs_.store(false, std::memory_order_release);
    client.engine_.settle_bell_.Notify();
  }
  // From here on client and engine may be gone.
  begin->end->reached.store(true, std::memory_order_release);
  begin->end->bell.Notify();
  return nullptr;
}

void Client::Loop() {
  AskForAllThatIsDue(true);
  next_look_ns_ = MonotonicNs() + kLookEveryNs;
  while (!stop_.load(std::memory_order_acquire) && !ProcessExits()) {
    const uint32_t seen = engine_.client_bell_.Value();
    TakeNotices();
    if (MonotonicNs() >= next_look_ns_) LookAround();
    if (!channel_.is_open() && NeedsPlanner()) Connect();
    if (channel_.is_open()) Send();
    if (channel_.is_open()) {
      Receive(asked_.empty() ? 0 : kReceiveMs);
      if (channel_.is_open() && !asked_.empty()) continue;
    }
    int64_t until = next_look_ns_;
    if (!channel_.is_open() && NeedsPlanner()) until = std::min(until, next_attempt_ns_);
    engine_.client_bell_.AwaitChange(seen, until - MonotonicNs());
  }
}

void Client::TakeNotices() {
  while (const std::optional<Slot*> slot = engine_.queue_.Pop()) {
    if ((*slot)->planning() == Planning::kWanted) wanted_.push_back(*slot);
    TakeEvents(**slot);
  }
  const std::lock_guard lock(engine_.mutex_);
  for (VariantReport& report : engine_.reports_) {
    if (reports_.size() < kMaxReports) reports_.push_back(std::move(report));
  }
  engine_.reports_.clear();
}

void Client::TakeEvents(Slot& slot) {
  const uint32_t events = slot.TakeEvents();
  if ((events & Slot::kBaselineTimed) != 0 && slot.planning() >= Planning::kAsked &&
      reports_.size() < kMaxReports) {
    reports_.push_back(BaselineReport{slot.key(), slot.baseline_ns()});
  }
  Engine::Notes notes;
  const std::string key = slot.key().ToHex();
  if ((events & Slot::kVariantBroke) != 0) {
    if (const Variant* broken = slot.TakeBroken()) {
      const std::lock_guard lock(engine_.mutex_);
      slot.Refuse(broken->Identity());
      engine_.reports_.push_back({slot.key(), broken->Identity(), "it failed on a live call"});
      notes.push_back({LogLevel::kWarning, key + ": " + broken->family + " " + broken->name +
                                               " failed on a call and was taken back"});
    }
  }
  if ((events & Slot::kTrialOver) != 0) {
    const std::lock_guard lock(engine_.mutex_);
    const LiveTrial* trial = slot.last_trial();
    if (trial != nullptr && trial->winner() != nullptr) {
      const Variant& variant = *trial->variant().variant;
      const bool won = trial->winner() == &trial->variant();
      notes.push_back({LogLevel::kInfo, key + ": " + variant.family + " " + variant.name +
                                            (won ? " won" : " lost") + " on live calls, ratio " +
                                            std::to_string(trial->ratio())});
    }
  }
  Engine::Say(notes);
}

void Client::LookAround() {
  next_look_ns_ = MonotonicNs() + kLookEveryNs;
  engine_.RefreshIndex();
  AskForAllThatIsDue(false);
}

// Finds what no notice told of: slots whose notice was dropped, that started from the index a while
// ago, or whose answers were lost with the connection.
void Client::AskForAllThatIsDue(bool connection_lost) {
  const uint64_t dropped = engine_.counters_.requests_dropped.load(std::memory_order_relaxed);
  const bool rescan = connection_lost || dropped != dropped_seen_;
  dropped_seen_ = dropped;
  const int64_t now = MonotonicNs();
  if (rescan) wanted_.clear();
  const std::lock_guard lock(engine_.mutex_);
  for (const auto& slot : engine_.table_.all()) {
    Planning planning = slot->planning();
    if (connection_lost && planning == Planning::kAsked) {
      const bool hopeless = ++slot->notes.losses > kMaxLosses;
      if (hopeless)
        slot->notes.outcome = "given up: the planner was lost each time it planned this";
      planning = hopeless ? Planning::kNever : Planning::kWanted;
      slot->set_planning(planning);
    }
    const bool late =
        planning == Planning::kKnown && now - slot->notes.created_ns > kConfirmAfterNs;
    if (late) slot->set_planning(planning = Planning::kWanted);
    if (planning == Planning::kWanted && (rescan || late)) wanted_.push_back(slot.get());
  }
}

void Client::Connect() {
  if (engine_.retry_now_.exchange(false, std::memory_order_acq_rel)) {
    next_attempt_ns_ = 0;
    pause_ns_ = 0;
  }
  if (MonotonicNs() < next_attempt_ns_) return;
  const Hello hello{kProtocolVersion, program_invocation_short_name,
                    engine_.parts_.device->fingerprint().Text()};
  Result<Channel> channel = engine_.parts_.connect(hello, kConnectMs);
  if (!channel.ok()) return Disconnect(channel.status());
  channel_ = *std::move(channel);
  fd_.store(channel_.read_fd(), std::memory_order_release);
  struct stat facts {};
  if (fstat(channel_.read_fd(), &facts) == 0) {
    channel_device_ = facts.st_dev;
    channel_inode_ = facts.st_ino;
  }
  engine_.planner_connected_.store(true, std::memory_order_relaxed);
}

// An application may close descriptors that are not its own (closefrom) and open others under their
// numbers: what is written to those must not be ours.
bool Client::ChannelIsOurs() const {
  struct stat facts {};
  return fstat(channel_.read_fd(), &facts) == 0 && facts.st_dev == channel_device_ &&
         facts.st_ino == channel_inode_;
}

void Client::Disconnect(const Status& reason) {
  fd_.store(-1, std::memory_order_release);
  if (channel_.is_open()) {
    if (ChannelIsOurs()) {
      channel_.Close();
    } else {
      Forsake(std::exchange(channel_, Channel()));
    }
  }
  pause_ns_ = std::clamp(2 * pause_ns_, kFirstPauseNs, kLongestPauseNs);
  next_attempt_ns_ = MonotonicNs() + pause_ns_;
  const bool outstanding = NeedsPlanner();
  asked_.clear();
  AskForAllThatIsDue(true);
  if (!outstanding) {  // an idle planner has left; the next question starts another
    engine_.planner_connected_.store(false, std::memory_order_relaxed);
    return;
  }
  engine_.PlannerLost(reason.message());
  const LogLevel level = warned_ ? LogLevel::kDebug : LogLevel::kWarning;
  warned_ = true;
  Engine::Say(
      {{level, "no planner for now, operators go on with what they have: " + reason.message()}});
}

void Client::Send() {
  while (channel_.is_open() && !wanted_.empty()) {
    Slot& slot = *wanted_.front();
    if (slot.planning() == Planning::kWanted && !Ask(slot)) return;
    wanted_.pop_front();
  }
  while (channel_.is_open() && !reports_.empty()) {
    if (!SendOne(reports_.front())) return;
    reports_.pop_front();
  }
}

bool Client::SendOne(const Message& message) {
  const Status sent = ChannelIsOurs() ? channel_.Send(message, kSendMs)
                                      : Unavailable("the application closed the connection");
  if (!sent.ok()) Disconnect(sent);
  return sent.ok();
}

bool Client::Ask(Slot& slot) {
  PlanRequest request;
  request.canonical = slot.canonical();
  request.fingerprint = engine_.parts_.device->fingerprint().Text();
  request.device = engine_.parts_.device->uuid();
  request.graph = slot.captured();
  request.baseline_ns = slot.baseline_ns();
  request.baseline_name = slot.baseline().name;
  request.caller_baseline = slot.baseline().kind == HIERA_BASELINE_CALLER;
  request.seconds = engine_.parts_.plan_seconds;
  // Before it is sent, so that the time of a baseline measured meanwhile is reported on its own.
  slot.set_planning(Planning::kAsked);
  if (!SendOne(request)) return false;
  asked_.insert(slot.key());
  Count(engine_.counters_.requests_sent);
  return true;
}

void Client::Receive(int timeout_ms) {
  for (int wait = timeout_ms; channel_.is_open(); wait = 0) {
    Result<std::optional<Message>> message =
        ChannelIsOurs()
            ? channel_.Receive(wait)
            : Result<std::optional<Message>>(Unavailable("the application closed the connection"));
    if (!message.ok()) return Disconnect(message.status());
    if (!message->has_value()) return;
    pause_ns_ = 0;
    Take(**message);
  }
}

void Client::Take(const Message& message) {
  if (const Announce* announce = std::get_if<Announce>(&message)) {
    engine_.Announced(announce->variant);
  } else if (const Settled* settled = std::get_if<Settled>(&message)) {
    asked_.erase(settled->key);
    engine_.Settled(settled->key, settled->outcome);
  }
}

}  // namespace hiera
