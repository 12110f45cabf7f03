// Client: the thread of an engine that talks to the planner. It asks for what is missing, loads
// what is announced, and looks at the published index about once a second. It blocks every signal.
//
// Owned by its engine. Start, Stop: one thread, under no lock that the client takes. A planner that
// dies is started again, with growing pauses, as long as something is left to ask.
#ifndef HIERA_RUNTIME_CORE_CLIENT_H_
#define HIERA_RUNTIME_CORE_CLIENT_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_set>

#include "runtime/base/hash.h"
#include "runtime/base/status.h"
#include "runtime/core/event_count.h"
#include "runtime/core/slot.h"
#include "runtime/ipc/channel.h"
#include "runtime/ipc/messages.h"

namespace hiera {

class Engine;

class Client {
 public:
  explicit Client(Engine& engine) : engine_(engine) {}

  // Errors: kUnavailable (no thread could be made).
  Status Start();
  // Blocks until the thread has ended: at once, but for an attempt to reach a planner (a second).
  void Stop();
  // In the child of a fork, where the thread is not: gives up its descriptor and nothing else.
  void AbandonInChild() noexcept;

 private:
  // The end of the thread, in memory that both sides hold. The thread is detached, because a
  // program may end without destroying its engine and must not be said to have leaked a thread.
  struct End {
    std::atomic<bool> reached{false};
    EventCount bell;
  };
  struct Begin {
    Client* client;
    std::shared_ptr<End> end;
  };

  static void* Main(void* argument);
  void Loop();
  void TakeNotices();
  void TakeEvents(Slot& slot);
  void LookAround();
  void AskForAllThatIsDue(bool connection_lost);
  bool NeedsPlanner() const { return !wanted_.empty() || !reports_.empty() || !asked_.empty(); }
  void Connect();
  void Send();
  bool SendOne(const Message& message);
  bool Ask(Slot& slot);
  void Receive(int timeout_ms);
  void Take(const Message& message);
  void Disconnect(const Status& reason);
  bool ChannelIsOurs() const;

  Engine& engine_;
  const std::shared_ptr<End> end_ = std::make_shared<End>();
  std::atomic<bool> stop_{false};
  std::atomic<int> fd_{-1};  // of channel_, for the child of a fork

  // All below: the thread's alone.
  Channel channel_;
  dev_t channel_device_ = 0;  // what channel_'s descriptor was when it was opened
  ino_t channel_inode_ = 0;
  std::deque<Slot*> wanted_;           // to be asked for
  std::deque<Message> reports_;        // to be sent
  std::unordered_set<Hash128> asked_;  // answers are outstanding
  uint64_t dropped_seen_ = 0;
  int64_t next_look_ns_ = 0;
  int64_t next_attempt_ns_ = 0;
  int64_t pause_ns_ = 0;
  bool warned_ = false;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_CORE_CLIENT_H_
