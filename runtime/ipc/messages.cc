#include "runtime/ipc/messages.h"

#include <concepts>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "runtime/base/bytes.h"

namespace hiera {
namespace {

constexpr uint32_t kMaxItems = 1 << 16;  // of one vector
constexpr const char* kNames[] = {
    "Hello",         "PlanRequest", "BaselineReport",   "VariantReport",
    "Query",         "Welcome",     "Announce",         "Settled",
    "Progress",      "Reply",       "MachineRequest",   "JudgeRequest",
    "MachineReport", "JudgeReport", "EnumerateRequest", "EnumerateReport"};
static_assert(std::size(kNames) == std::variant_size_v<Message>);

// The last value of each enumeration on the wire.
constexpr auto Last(Space) { return Space::kKernel; }
constexpr auto Last(Candidate::Compiler) { return Candidate::Compiler::kNvrtc; }
constexpr auto Last(Incumbent::Kind) { return Incumbent::Kind::kNone; }
constexpr auto Last(Verdict) { return Verdict::kUnloadable; }

// Each struct's fields are listed once, below, for both directions: M is T or const T.
template <typename M, typename T>
concept Is = std::same_as<std::remove_const_t<M>, T>;

class Encoder {
 public:
  template <typename... T>
  void operator()(const T&... fields) {
    (Put(fields), ...);
  }
  std::string bytes() && { return std::move(out_).bytes(); }

 private:
  void Put(bool v) { out_.U8(v ? 1 : 0); }
  void Put(int v) { out_.I64(v); }
  void Put(uint32_t v) { out_.U32(v); }
  void Put(uint64_t v) { out_.U64(v); }
  void Put(int64_t v) { out_.I64(v); }
  void Put(double v) { out_.F64(v); }
  void Put(const std::string& v) { out_.String(v); }
  void Put(const Variant& v) { out_.String(EncodeVariant(v)); }
  template <typename E>
  requires std::is_enum_v<E>
  void Put(E v) { out_.U8(static_cast<uint8_t>(v)); }
  template <typename T>
  void Put(const std::vector<T>& items) {
    out_.U32(static_cast<uint32_t>(items.size()));
    for (const T& item : items) Put(item);
  }
  template <typename T>
  requires std::is_class_v<T>
  void Put(const T& v) { Fields(*this, v); }

  ByteWriter out_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : in_(bytes) {}

  template <typename... T>
  void operator()(T&... fields) {
    (Get(fields), ...);
  }
  bool done() const { return !failed_ && in_.done(); }

 private:
  bool ok() const { return !failed_ && in_.ok(); }
  void Get(bool& v) {
    const uint8_t byte = in_.U8();
    if (byte > 1) failed_ = true;
    v = byte == 1;
  }
  void Get(int& v) {
    const int64_t wide = in_.I64();
    if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
      failed_ = true;
      return;
    }
    v = static_cast<int>(wide);
  }
  void Get(uint32_t& v) { v = in_.U32(); }
  void Get(uint64_t& v) { v = in_.U64(); }
  void Get(int64_t& v) { v = in_.I64(); }
  void Get(double& v) { v = in_.F64(); }
  void Get(std::string& v) { v = in_.String(); }
  void Get(Variant& v) {
    Result<Variant> variant = DecodeVariant(in_.View());
    if (variant.ok()) {
      v = *std::move(variant);
    } else {
      failed_ = true;
    }
  }
  template <typename E>
  requires std::is_enum_v<E>
  void Get(E& v) {
    const uint8_t byte = in_.U8();
    if (byte > static_cast<uint8_t>(Last(E{}))) {
      failed_ = true;
      return;
    }
    v = static_cast<E>(byte);
  }
  template <typename T>
  void Get(std::vector<T>& items) {
    const uint32_t count = in_.U32();
    if (count > kMaxItems) failed_ = true;
    // Grows with what is really there, so that a forged count allocates nothing.
    for (uint32_t i = 0; i < count && ok(); ++i) Get(items.emplace_back());
  }
  template <typename T>
  requires std::is_class_v<T>
  void Get(T& v) { Fields(*this, v); }

  ByteReader in_;
  bool failed_ = false;
};

template <typename A, Is<Hash128> M>
void Fields(A& a, M& m) {
  a(m.high, m.low);
}
template <typename A, Is<LaunchPlan> M>
void Fields(A& a, M& m) {
  a(m.text, m.workspace_bytes, m.threads);
}
template <typename A, Is<Requirement> M>
void Fields(A& a, M& m) {
  a(m.what, m.identity);
}
template <typename A, Is<Candidate> M>
void Fields(A& a, M& m) {
  a(m.space, m.family, m.name, m.reason, m.source, m.compiler, m.flags, m.plan, m.requirements,
    m.predicted_ns);
}
template <typename A, Is<Incumbent> M>
void Fields(A& a, M& m) {
  a(m.kind, m.plan, m.artifact_path, m.name);
}
template <typename A, Is<MachineFacts> M>
void Fields(A& a, M& m) {
  a(m.threads, m.l1_bytes, m.l2_bytes, m.l3_bytes, m.vector_bytes, m.copy_gbps, m.flops_f32,
    m.flops_f64, m.has_gcc, m.has_clang, m.blas, m.blas_what, m.architecture,
    m.memory_bytes, m.shared_bytes, m.has_nvrtc);
}

template <typename A, Is<Hello> M>
void Fields(A& a, M& m) {
  a(m.protocol, m.program, m.fingerprint);
}
template <typename A, Is<PlanRequest> M>
void Fields(A& a, M& m) {
  a(m.canonical, m.fingerprint, m.device, m.graph, m.baseline_ns, m.baseline_name,
    m.caller_baseline, m.seconds, m.again);
}
template <typename A, Is<BaselineReport> M>
void Fields(A& a, M& m) {
  a(m.key, m.baseline_ns);
}
template <typename A, Is<VariantReport> M>
void Fields(A& a, M& m) {
  a(m.key, m.identity, m.reason);
}
template <typename A, Is<Query> M>
void Fields(A& a, M& m) {
  a(m.verb, m.argument);
}
template <typename A, Is<Welcome> M>
void Fields(A& a, M& m) {
  a(m.pid, m.store_path, m.trouble);
}
template <typename A, Is<Announce> M>
void Fields(A& a, M& m) {
  a(m.variant);
}
template <typename A, Is<Settled> M>
void Fields(A& a, M& m) {
  a(m.key, m.outcome);
}
template <typename A, Is<Progress> M>
void Fields(A& a, M& m) {
  a(m.key, m.done, m.total, m.text);
}
template <typename A, Is<Reply> M>
void Fields(A& a, M& m) {
  a(m.ok, m.text);
}
template <typename A, Is<MachineRequest> M>
void Fields(A& a, M& m) {
  a(m.unused);
}
template <typename A, Is<JudgeRequest> M>
void Fields(A& a, M& m) {
  a(m.id, m.canonical, m.incumbent, m.candidates, m.build_seconds, m.measure_seconds, m.full,
    m.graph, m.give_up_ns, m.seconds);
}
template <typename A, Is<MachineReport> M>
void Fields(A& a, M& m) {
  a(m.facts, m.fingerprint);
}
template <typename A, Is<JudgeReport> M>
void Fields(A& a, M& m) {
  a(m.id, m.candidate, m.verdict, m.detail, m.artifact_path, m.artifact_sha256, m.time_ns,
    m.baseline_ns, m.ratio, m.ratio_low, m.verified, m.provisional, m.build_seconds);
}

template <typename A, Is<LibraryChoice> M>
void Fields(A& a, M& m) {
  a(m.plan, m.name, m.rank, m.waves);
}
template <typename A, Is<LibraryOffer> M>
void Fields(A& a, M& m) {
  a(m.family, m.requirements, m.choices, m.refusal);
}
template <typename A, Is<EnumerateRequest> M>
void Fields(A& a, M& m) {
  a(m.id, m.canonical, m.workspace_bytes);
}
template <typename A, Is<EnumerateReport> M>
void Fields(A& a, M& m) {
  a(m.id, m.offers, m.refusal);
}

template <typename T>
Result<Message> DecodeAs(uint32_t type, std::string_view body) {
  T message;
  Decoder decoder(body);
  Fields(decoder, message);
  if (!decoder.done()) {
    return InvalidArgument(std::string("message ") + kNames[type] + " of " +
                           std::to_string(body.size()) + " bytes does not decode");
  }
  return Message(std::move(message));
}

template <size_t... I>
Result<Message> Dispatch(uint32_t type, std::string_view body, std::index_sequence<I...>) {
  using Function = Result<Message> (*)(uint32_t, std::string_view);
  static constexpr Function kDecoders[] = {&DecodeAs<std::variant_alternative_t<I, Message>>...};
  return kDecoders[type](type, body);
}

}  // namespace

std::string EncodeFrame(const Message& message) {
  Encoder body;
  std::visit([&body](const auto& m) { Fields(body, m); }, message);
  const std::string bytes = std::move(body).bytes();
  ByteWriter frame;
  frame.U32(static_cast<uint32_t>(bytes.size()));
  frame.U32(static_cast<uint32_t>(message.index()));
  return std::move(frame).bytes() + bytes;
}

Result<Message> DecodeBody(uint32_t type, std::string_view body) {
  constexpr size_t kTypes = std::variant_size_v<Message>;
  if (type >= kTypes) {
    return InvalidArgument("message type " + std::to_string(type) + " is not one of this protocol");
  }
  return Dispatch(type, body, std::make_index_sequence<kTypes>());
}

}  // namespace hiera
