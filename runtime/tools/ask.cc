#include "runtime/tools/ask.h"

#include <fmt/format.h>

#include "runtime/ipc/channel.h"
#include "runtime/ipc/index.h"
#include "runtime/ipc/paths.h"

namespace hiera {
namespace {

constexpr int kConnectTimeoutMs = 5'000;
constexpr int kReplyTimeoutMs = 30'000;

Result<Channel> Connect(const std::string& store_path, Start start) {
  Hello hello;
  hello.program = "hiera";
  if (start == Start::kYes) return ConnectToPlanner(store_path, "", hello, kConnectTimeoutMs);
  const Result<std::string> socket_path = SocketPath(store_path);
  if (!socket_path.ok()) return socket_path.status();
  Result<Channel> channel = ConnectTo(*socket_path);
  if (!channel.ok()) return channel;
  if (const Status sent = channel->Send(hello, kConnectTimeoutMs); !sent.ok()) return sent;
  return channel;
}

}  // namespace

Result<std::string> Ask(const std::string& store, const std::string& verb,
                        const std::string& argument, Start start) {
  const Result<std::string> store_path = StorePath(store);
  if (!store_path.ok()) return store_path.status();
  Result<Channel> channel = Connect(*store_path, start);
  if (!channel.ok()) return channel.status();
  HIERA_RETURN_IF_ERROR(channel->Send(Query{verb, argument}, kConnectTimeoutMs));
  for (;;) {
    Result<std::optional<Message>> received = channel->Receive(kReplyTimeoutMs);
    if (!received.ok()) return received.status();
    if (!received->has_value()) return Timeout("the planner does not answer");
    const auto* reply = std::get_if<Reply>(&**received);
    if (reply == nullptr) continue;  // its Welcome
    if (!reply->ok) return InvalidArgument(reply->text);
    return reply->text;
  }
}

Result<std::string> DescribeIndex(const std::string& store) {
  const Result<std::string> store_path = StorePath(store);
  if (!store_path.ok()) return store_path.status();
  const auto index = PublishedIndex::Open(IndexPath(*store_path));
  return fmt::format("planner     none is running\nstore       {}\nindex       {}\n", *store_path,
                     index.ok() ? fmt::format("{} variants, generation {}", (*index)->size(),
                                              (*index)->generation())
                                : index.status().message());
}

}  // namespace hiera
