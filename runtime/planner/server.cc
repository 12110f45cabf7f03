#include "runtime/planner/server.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/planner/answers.h"
#include "runtime/task/parse.h"

namespace hiera {
namespace {

constexpr int kTickMs = 250;         // publishing and idleness are looked at this often
constexpr int kSendTimeoutMs = 200;  // a client that takes nothing for so long is dropped
constexpr size_t kMaxSessions = 4096;

}  // namespace

void Server::Run() {
  last_busy_ns_ = MonotonicNs();
  while (!stop_) {
    std::vector<pollfd> polled = {
        {listener_.fd(), POLLIN, 0}, {jobs_.event_fd(), POLLIN, 0}, {stop_fd_, POLLIN, 0}};
    for (const auto& session : sessions_) {
      polled.push_back({session->channel.read_fd(), POLLIN, 0});
    }
    const size_t session_count = sessions_.size();
    if (poll(polled.data(), polled.size(), kTickMs) < 0 && errno != EINTR) return;
    if (polled[2].revents != 0) return;
    for (size_t i = 0; i < session_count; ++i) {
      if (polled[3 + i].revents != 0) Serve(*sessions_[i]);
    }
    Deliver();
    if (polled[0].revents != 0) AcceptAll();
    std::erase_if(sessions_, [](const auto& session) { return session->dead; });
    catalogue_.PublishIfDue(false);
    if (IsIdle()) {
      Log(LogLevel::kInfo, "idle, ending");
      return;
    }
    if (!listener_.StillElected()) {
      Log(LogLevel::kWarning, "the socket is gone, ending");
      return;
    }
  }
}

bool Server::IsIdle() {
  const int64_t now = MonotonicNs();
  if (!sessions_.empty() || jobs_.count() > 0) last_busy_ns_ = now;
  return now - last_busy_ns_ > int64_t{idle_seconds_} * 1'000'000'000;
}

void Server::AcceptAll() {
  for (;;) {
    Result<std::optional<Channel>> channel = listener_.Accept();
    if (!channel.ok()) {
      Log(LogLevel::kWarning, "a client could not be taken: " + channel.status().message());
      return;
    }
    if (!channel->has_value()) return;
    if (sessions_.size() >= kMaxSessions) continue;  // closes it: the client runs its baselines
    auto session = std::make_unique<Session>();
    session->channel = std::move(**channel);
    sessions_.push_back(std::move(session));
  }
}

void Server::Serve(Session& session) {
  while (!session.dead) {
    Result<std::optional<Message>> received = session.channel.Receive(0);
    if (!received.ok()) {
      if (received.status().code() != Code::kUnavailable) {
        Log(LogLevel::kWarning,
            session.program + " sent what can't be read: " + received.status().message());
      }
      session.dead = true;
      return;
    }
    if (!received->has_value()) return;
    Handle(session, **received);
  }
}

void Server::Send(Session& session, const Message& message) {
  if (session.dead) return;
  if (!session.channel.Send(message, kSendTimeoutMs).ok()) session.dead = true;
}

void Server::Handle(Session& session, const Message& message) {
  if (const auto* hello = std::get_if<Hello>(&message)) return Handle(session, *hello);
  if (const auto* request = std::get_if<PlanRequest>(&message)) return Handle(session, *request);
  if (const auto* report = std::get_if<VariantReport>(&message)) return Handle(session, *report);
  if (const auto* query = std::get_if<Query>(&message)) return Handle(session, *query);
  if (const auto* baseline = std::get_if<BaselineReport>(&message)) {
    jobs_.SetBaseline(baseline->key, baseline->baseline_ns);
    return;
  }
  Log(LogLevel::kWarning, session.program + " sent a message that is not for a planner");
  session.dead = true;
}

void Server::Handle(Session& session, const Hello& hello) {
  session.program = hello.program;
  if (hello.protocol != kProtocolVersion) {
    session.dead = true;
    return;
  }
  if (access(catalogue_.store().path().c_str(), F_OK) != 0) {
    Log(LogLevel::kWarning, "the store was deleted: " + catalogue_.store().path());
    stop_ = true;  // what is known went with it; the client starts another planner
    return;
  }
  Send(session, Welcome{getpid(), catalogue_.store().path(), trouble_});
}

void Server::Handle(Session& session, const PlanRequest& request) {
  const Hash128 key = TaskKey(request.canonical, request.fingerprint);
  session.keys.insert(key);
  Result<Task> task = ParseTask(request.canonical);
  if (!task.ok()) {
    Send(session, Settled{key, "not planned: the task can't be read: " + task.status().message()});
    return;
  }
  TaskRecord record = catalogue_.store().GetTask(key).value_or(TaskRecord{});
  const bool known = record.settled && !request.again;
  record.key = key;
  record.canonical = request.canonical;
  record.fingerprint = request.fingerprint;
  record.baseline_name = request.baseline_name;
  if (request.baseline_ns > 0) record.baseline_ns = request.baseline_ns;
  record.last_unix_s = UnixSeconds();
  if (record.first_unix_s == 0) record.first_unix_s = record.last_unix_s;
  if (const Status kept = catalogue_.store().PutTask(record); !kept.ok()) {
    Log(LogLevel::kWarning, "a task could not be kept: " + kept.message());
  }
  if (const auto best = catalogue_.Best(key)) Send(session, Announce{*best});
  if (known) {
    Send(session, Settled{key, record.outcome});
    return;
  }
  if (const Status added = jobs_.Add(key, std::move(*task), request); !added.ok()) {
    Send(session, Settled{key, "not planned: " + added.message()});
  }
}

void Server::Handle(Session& session, const VariantReport& report) {
  for (const Variant& variant : catalogue_.store().Variants(report.key)) {
    if (variant.Identity() != report.identity) continue;
    catalogue_.Ban({report.key, report.identity, variant.family + " " + variant.name,
                    session.program + ": " + report.reason, UnixSeconds()});
    const Status kept = catalogue_.store().AppendJournal(
        report.key,
        {UnixSeconds(), "report",
         variant.family + " " + variant.name + " put into quarantine: " + report.reason});
    if (!kept.ok()) Log(LogLevel::kWarning, "journal: " + kept.message());
  }
}

void Server::Handle(Session& session, const Query& query) {
  if (query.verb == "stop") {
    Send(session, Reply{true, "the planner ends\n"});
    stop_ = true;
    return;
  }
  if (query.verb == "clear") {
    jobs_.Cancel();
    catalogue_.Clear();
    catalogue_.PublishIfDue(true);
    Send(session, Reply{true, "the store is empty\n"});
    return;
  }
  if (query.verb == "replan") {
    Send(session, Unsettle(query.argument));
    return;
  }
  Send(session,
       Answer(query, catalogue_, "pid " + std::to_string(getpid()) + ", " + jobs_.Describe()));
}

Reply Server::Unsettle(const std::string& key_hex) {
  const Result<Hash128> key = Hash128::FromHex(key_hex);
  if (!key.ok()) return {false, key.status().message()};
  std::optional<TaskRecord> record = catalogue_.store().GetTask(*key);
  if (!record) return {true, "not known yet\n"};
  record->settled = false;
  const Status kept = catalogue_.store().PutTask(*record);
  return {kept.ok(), kept.ok() ? "will be planned again\n" : kept.message()};
}

void Server::Deliver() {
  for (const Event& event : jobs_.Take()) {
    // Whoever hears that a task has settled may go and read the index.
    if (std::holds_alternative<Settled>(event.message)) catalogue_.PublishIfDue(true);
    for (const auto& session : sessions_) {
      if (session->keys.count(event.key) > 0) Send(*session, event.message);
    }
  }
}

}  // namespace hiera
