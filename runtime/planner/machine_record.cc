#include "runtime/planner/machine_record.h"

#include "runtime/base/hash.h"
#include "runtime/ipc/messages.h"

namespace hiera {
namespace {

// A frame's header: length and type.
constexpr size_t kHeaderBytes = 8;

}  // namespace

std::string MachineRecordName(std::string_view fingerprint) {
  return "machine/" + HashBytes(fingerprint).ToHex();
}

// The record is the body of a MachineReport: one encoding of the facts, not two. The protocol's
// version goes in front, so that a change of the message makes old records misses.
std::string EncodeMachineRecord(const MachineFacts& facts) {
  const std::string frame = EncodeFrame(MachineReport{facts, ""});
  return std::string(1, static_cast<char>(kProtocolVersion)) + frame.substr(kHeaderBytes);
}

Result<MachineFacts> DecodeMachineRecord(std::string_view bytes) {
  if (bytes.empty() || bytes[0] != static_cast<char>(kProtocolVersion)) {
    return InvalidArgument("machine facts of another version");
  }
  const uint32_t type = static_cast<uint32_t>(Message(MachineReport{}).index());
  Result<Message> message = DecodeBody(type, bytes.substr(1));
  if (!message.ok()) return message.status();
  return std::get<MachineReport>(*message).facts;
}

}  // namespace hiera
