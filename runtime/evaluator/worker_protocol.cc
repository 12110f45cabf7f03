#include "runtime/evaluator/worker_protocol.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/bytes.h"
#include "runtime/base/clock.h"

namespace hiera {
namespace {

constexpr uint32_t kLargestFrame = 32 << 20;

void Put(ByteWriter& w, const LaunchPlan& plan) {
  w.String(plan.text);
  w.I64(plan.workspace_bytes);
  w.U32(static_cast<uint32_t>(plan.threads));
}

void Get(ByteReader& r, LaunchPlan& plan) {
  plan.text = r.String();
  plan.workspace_bytes = r.I64();
  plan.threads = static_cast<int>(r.U32());
}

void Put(ByteWriter& w, const Incumbent& incumbent) {
  w.U8(static_cast<uint8_t>(incumbent.kind));
  Put(w, incumbent.plan);
  w.String(incumbent.artifact_path);
}

void Get(ByteReader& r, Incumbent& incumbent) {
  incumbent.kind = static_cast<Incumbent::Kind>(r.U8());
  Get(r, incumbent.plan);
  incumbent.artifact_path = r.String();
}

void Put(ByteWriter& w, const std::vector<double>& values) {
  w.U32(static_cast<uint32_t>(values.size()));
  for (const double v : values) w.F64(v);
}

void Get(ByteReader& r, std::vector<double>& values) {
  const uint32_t count = r.U32();
  values.clear();
  for (uint32_t i = 0; i < count && r.ok(); ++i) values.push_back(r.F64());
}

// Reads exactly `size` bytes or says why not.
Status ReadAll(int socket, char* data, size_t size, int64_t deadline_ns) {
  while (size > 0) {
    int wait_ms = -1;
    if (deadline_ns >= 0) {
      const int64_t left = deadline_ns - MonotonicNs();
      if (left <= 0) return Timeout("no answer in time");
      wait_ms = static_cast<int>(left / 1'000'000) + 1;
    }
    pollfd poll_fd = {socket, POLLIN, 0};
    const int ready = poll(&poll_fd, 1, wait_ms);
    if (ready < 0 && errno != EINTR) return Unavailable(std::strerror(errno));
    if (ready <= 0) continue;
    const ssize_t got = read(socket, data, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Unavailable("the other end is gone");
    data += got;
    size -= static_cast<size_t>(got);
  }
  return {};
}

}  // namespace

std::string Encode(const WorkerSetup& setup) {
  ByteWriter w;
  w.U64(setup.secret);
  w.String(setup.canonical);
  w.U32(static_cast<uint32_t>(setup.threads));
  Put(w, setup.plan);
  w.String(setup.artifact_path);
  Put(w, setup.incumbent);
  w.U32(static_cast<uint32_t>(setup.trials.size()));
  for (const WorkerTrial& trial : setup.trials) {
    w.U8(static_cast<uint8_t>(trial.placement));
    Put(w, trial.scalars);
  }
  w.U32(static_cast<uint32_t>(setup.readable.size()));
  for (const std::string& path : setup.readable) w.String(path);
  w.I64(setup.device_memory_bytes);
  return std::move(w).bytes();
}

bool Decode(std::string_view bytes, WorkerSetup& setup) {
  ByteReader r(bytes);
  setup.secret = r.U64();
  setup.canonical = r.String();
  setup.threads = static_cast<int>(r.U32());
  Get(r, setup.plan);
  setup.artifact_path = r.String();
  Get(r, setup.incumbent);
  const uint32_t trials = r.U32();
  for (uint32_t i = 0; i < trials && r.ok(); ++i) {
    WorkerTrial& trial = setup.trials.emplace_back();
    trial.placement = static_cast<Placement>(r.U8());
    Get(r, trial.scalars);
  }
  const uint32_t folders = r.U32();
  for (uint32_t i = 0; i < folders && r.ok(); ++i) setup.readable.push_back(r.String());
  setup.device_memory_bytes = r.I64();
  return r.done();
}

std::string Encode(const WorkerRequest& request) {
  ByteWriter w;
  w.U8(static_cast<uint8_t>(request.kind));
  w.U32(request.trial);
  w.F64(request.seconds);
  w.U64(request.calls);
  w.U8(request.run);
  w.U8(request.graph ? 1 : 0);
  Put(w, request.plan);
  w.String(request.artifact_path);
  Put(w, request.incumbent);
  return std::move(w).bytes();
}

bool Decode(std::string_view bytes, WorkerRequest& request) {
  ByteReader r(bytes);
  request.kind = static_cast<WorkerRequest::Kind>(r.U8());
  request.trial = r.U32();
  request.seconds = r.F64();
  request.calls = r.U64();
  request.run = r.U8();
  request.graph = r.U8() == 1;
  Get(r, request.plan);
  request.artifact_path = r.String();
  Get(r, request.incumbent);
  return r.done();
}

std::string Encode(const WorkerReply& reply) {
  ByteWriter w;
  w.U64(reply.secret);
  w.U8(reply.ok ? 1 : 0);
  w.String(reply.message);
  Put(w, reply.incumbent_ns);
  Put(w, reply.candidate_ns);
  w.U8(reply.verdict ? 1 : 0);
  w.U8(static_cast<uint8_t>(reply.verdict.value_or(Verdict::kMisbehaved)));
  w.U8(reply.goes_on ? 1 : 0);
  w.U8(reply.disturbed ? 1 : 0);
  w.String(reply.note);
  return std::move(w).bytes();
}

bool Decode(std::string_view bytes, WorkerReply& reply) {
  ByteReader r(bytes);
  reply.secret = r.U64();
  reply.ok = r.U8() == 1;
  reply.message = r.String();
  Get(r, reply.incumbent_ns);
  Get(r, reply.candidate_ns);
  const bool has_verdict = r.U8() == 1;
  const uint8_t verdict = r.U8();
  reply.verdict.reset();
  if (has_verdict && verdict <= static_cast<uint8_t>(Verdict::kUnloadable)) {
    reply.verdict = static_cast<Verdict>(verdict);
  }
  reply.goes_on = r.U8() == 1;
  reply.disturbed = r.U8() == 1;
  reply.note = r.String();
  return r.done();
}

Status SendFrame(int socket, std::string_view bytes) {
  const uint32_t size = static_cast<uint32_t>(bytes.size());
  std::string frame(reinterpret_cast<const char*>(&size), sizeof size);
  frame.append(bytes);
  for (size_t sent = 0; sent < frame.size();) {
    const ssize_t got =
        sendto(socket, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL, nullptr, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Unavailable("the other end is gone");
    sent += static_cast<size_t>(got);
  }
  return {};
}

Result<std::string> ReceiveFrame(int socket, int timeout_ms) {
  const int64_t deadline_ns = timeout_ms < 0 ? -1 : MonotonicNs() + int64_t{timeout_ms} * 1'000'000;
  uint32_t size = 0;
  HIERA_RETURN_IF_ERROR(ReadAll(socket, reinterpret_cast<char*>(&size), sizeof size, deadline_ns));
  if (size > kLargestFrame) return InvalidArgument("a frame is too large");
  std::string bytes(size, '\0');
  HIERA_RETURN_IF_ERROR(ReadAll(socket, bytes.data(), size, deadline_ns));
  return bytes;
}

}  // namespace hiera
