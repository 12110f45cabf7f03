// Server: the planner's main thread. Takes clients, answers their messages, hands tasks to the jobs
// and what becomes of them back to those who asked. Ends when it has been idle, when it is told to
// stop, or when its socket is gone from the file system.
//
// Single-threaded. A client that sends nonsense, or takes nothing for a while, is dropped; nothing
// that a client does ends the planner.
#ifndef HIERA_RUNTIME_PLANNER_SERVER_H_
#define HIERA_RUNTIME_PLANNER_SERVER_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/ipc/listener.h"
#include "runtime/planner/catalogue.h"
#include "runtime/planner/jobs.h"

namespace hiera {

class Server {
 public:
  // Borrows all three. stop_fd becomes readable when the process is to end. `trouble` is told to
  // every client that connects.
  Server(Listener& listener, Catalogue& catalogue, Jobs& jobs, int stop_fd, int idle_seconds,
         std::string trouble)
      : listener_(listener),
        catalogue_(catalogue),
        jobs_(jobs),
        stop_fd_(stop_fd),
        idle_seconds_(idle_seconds),
        trouble_(std::move(trouble)) {}

  // Returns when the planner should end.
  void Run();

 private:
  struct Session {
    Channel channel;
    std::string program;
    std::set<Hash128> keys;  // what it asked for, and hears about
    bool dead = false;
  };

  void AcceptAll();
  void Serve(Session& session);
  void Handle(Session& session, const Message& message);
  void Handle(Session& session, const Hello& hello);
  void Handle(Session& session, const PlanRequest& request);
  void Handle(Session& session, const VariantReport& report);
  void Handle(Session& session, const Query& query);
  // The next request for this key plans it, though it has been settled.
  Reply Unsettle(const std::string& key_hex);
  void Deliver();
  void Send(Session& session, const Message& message);
  bool IsIdle();

  Listener& listener_;
  Catalogue& catalogue_;
  Jobs& jobs_;
  const int stop_fd_;
  const int idle_seconds_;
  const std::string trouble_;
  std::vector<std::unique_ptr<Session>> sessions_;
  int64_t last_busy_ns_ = 0;
  bool stop_ = false;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_PLANNER_SERVER_H_
