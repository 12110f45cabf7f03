#include "runtime/ipc/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include "tests/eventually.h"
#include "tests/unit/ipc/sample_messages.h"

namespace hiera {
namespace {

constexpr int kLongMs = 30'000;

std::pair<Channel, Channel> SocketChannels() {
  int fds[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  return {Channel(fds[0], fds[0]), Channel(fds[1], fds[1])};
}

std::pair<Channel, Channel> PipeChannels() {
  int there[2], back[2];
  EXPECT_EQ(pipe2(there, O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(back, O_CLOEXEC), 0);
  return {Channel(back[0], there[1]), Channel(there[0], back[1])};
}

Message Query(const std::string& argument) { return hiera::Query{"show", argument}; }

std::string ArgumentOf(const Result<std::optional<Message>>& received) {
  if (!received.ok()) return "error: " + received.status().message();
  if (!received->has_value()) return "nothing";
  return std::get<hiera::Query>(**received).argument;
}

class BothTransports : public testing::TestWithParam<bool> {
 protected:
  std::pair<Channel, Channel> Make() { return GetParam() ? SocketChannels() : PipeChannels(); }
};
INSTANTIATE_TEST_SUITE_P(Channel, BothTransports, testing::Bool(),
                         [](const auto& info) { return info.param ? "Socket" : "Pipe"; });

TEST_P(BothTransports, DeliversEveryTypeInOrder) {
  auto [a, b] = Make();
  const auto messages = SampleMessages();
  for (const Message& message : messages) ASSERT_TRUE(a.Send(message, kLongMs).ok());
  for (const Message& message : messages) {
    const auto received = b.Receive(kLongMs);
    ASSERT_TRUE(received.ok()) << received.status().message();
    ASSERT_TRUE(received->has_value());
    EXPECT_EQ(EncodeFrame(**received), EncodeFrame(message));
  }
  ASSERT_TRUE(b.Receive(0).ok());
  EXPECT_EQ(ArgumentOf(b.Receive(0)), "nothing");
}

// Far larger than what a socket or pipe holds, so that both sides meet partial transfers.
TEST_P(BothTransports, CarriesFramesLargerThanTheKernelHolds) {
  auto [a, b] = Make();
  std::string large(5 << 20, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 2654435761u >> 13);
  std::thread sender([&a = a, &large] {
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(a.Send(Query(large), kLongMs).ok());
    EXPECT_TRUE(a.Send(Query("last"), kLongMs).ok());
  });
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(ArgumentOf(b.Receive(kLongMs)) == large) << i;
  EXPECT_EQ(ArgumentOf(b.Receive(kLongMs)), "last");
  sender.join();
}

TEST_P(BothTransports, APeerThatIsGoneIsUnavailableAndRaisesNothing) {
  // The default action of SIGPIPE would end this test.
  signal(SIGPIPE, SIG_DFL);
  auto [a, b] = Make();
  ASSERT_TRUE(a.Send(Query("before"), kLongMs).ok());
  a.Close();
  // What was sent before the end still arrives.
  EXPECT_EQ(ArgumentOf(b.Receive(kLongMs)), "before");
  EXPECT_EQ(b.Receive(kLongMs).status().code(), Code::kUnavailable);
  EXPECT_EQ(b.Send(Query("x"), kLongMs).code(), Code::kUnavailable);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

TEST_P(BothTransports, APeerThatTakesNothingTimesOutAndSpoilsTheChannel) {
  auto [a, b] = Make();
  const Message large = Query(std::string(8 << 20, 'x'));
  EXPECT_EQ(a.Send(large, 20).code(), Code::kTimeout);
  // Half a frame is out: nothing may follow it.
  EXPECT_EQ(a.Send(Query("y"), kLongMs).code(), Code::kUnavailable);
}

TEST_P(BothTransports, FramesMayArriveByteByByte) {
  int fds[2];
  if (GetParam()) {
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  } else {
    ASSERT_EQ(pipe(fds), 0);
  }
  Channel channel(fds[0], fds[0]);
  const std::string frames = EncodeFrame(Query("first")) + EncodeFrame(Query("second"));
  std::string answers;
  for (const char byte : frames) {
    ASSERT_EQ(write(fds[1], &byte, 1), 1);
    answers += ArgumentOf(channel.Receive(0)) + ";";
  }
  std::string expected;
  for (size_t i = 1; i <= frames.size(); ++i) {
    expected += i == EncodeFrame(Query("first")).size() ? "first;"
                : i == frames.size()                    ? "second;"
                                                        : "nothing;";
  }
  EXPECT_EQ(answers, expected);
  close(fds[1]);
}

TEST(Channel, AnEndInsideAFrameIsNotAMessage) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  Channel channel(fds[0], fds[0]);
  const std::string frame = EncodeFrame(Query("cut"));
  ASSERT_EQ(write(fds[1], frame.data(), frame.size() - 1), ssize_t(frame.size() - 1));
  close(fds[1]);
  EXPECT_EQ(channel.Receive(kLongMs).status().code(), Code::kUnavailable);
}

TEST(Channel, AnOversizedFrameIsRefusedBeforeItArrives) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  Channel channel(fds[0], fds[0]);
  const uint32_t header[2] = {kMaxFrameBytes + 1, 4};
  ASSERT_EQ(write(fds[1], header, sizeof header), ssize_t(sizeof header));
  EXPECT_EQ(channel.Receive(kLongMs).status().code(), Code::kInvalidArgument);
  close(fds[1]);
}

TEST(Channel, AnOversizedMessageIsNotSentAndSpoilsNothing) {
  auto [a, b] = SocketChannels();
  EXPECT_EQ(a.Send(Query(std::string(kMaxFrameBytes, 'x')), kLongMs).code(),
            Code::kInvalidArgument);
  ASSERT_TRUE(a.Send(Query("small"), kLongMs).ok());
  EXPECT_EQ(ArgumentOf(b.Receive(kLongMs)), "small");
}

TEST(Channel, AnUndecodableBodyIsAnError) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  Channel channel(fds[0], fds[0]);
  const uint32_t frame[3] = {4, 4, ~0u};
  ASSERT_EQ(write(fds[1], frame, sizeof frame), ssize_t(sizeof frame));
  EXPECT_EQ(channel.Receive(kLongMs).status().code(), Code::kInvalidArgument);
  close(fds[1]);
}

std::atomic<int> alarms{0};

// Signals without SA_RESTART interrupt every system call; nothing may be lost or repeated.
TEST(Channel, SignalsInterruptNothing) {
  struct sigaction action {};
  action.sa_handler = [](int) { alarms.fetch_add(1); };
  struct sigaction before;
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  auto [a, b] = SocketChannels();
  const std::string large(1 << 20, 'z');
  std::atomic<bool> done{false};
  std::thread receiver([&b = b, &done, &large] {
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(ArgumentOf(b.Receive(kLongMs)) == large) << i;
    done = true;
  });
  std::thread sender([&a = a, &done, &large] {
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(a.Send(Query(large), kLongMs).ok()) << i;
    // Stays until the receiver is done, so that both can be signalled.
    EXPECT_TRUE(Eventually([&done] { return done.load(); }));
  });
  while (!done) {
    pthread_kill(sender.native_handle(), SIGUSR1);
    pthread_kill(receiver.native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  sender.join();
  receiver.join();
  EXPECT_GT(alarms.load(), 0);
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(Channel, ClosedChannelsAnswerUnavailable) {
  Channel channel;
  EXPECT_FALSE(channel.is_open());
  EXPECT_EQ(channel.Send(Query("x"), 0).code(), Code::kUnavailable);
  EXPECT_EQ(channel.Receive(0).status().code(), Code::kUnavailable);
}

TEST(Channel, MovingTakesWhatHasArrived) {
  auto [a, b] = SocketChannels();
  ASSERT_TRUE(a.Send(Query("one"), kLongMs).ok());
  ASSERT_TRUE(a.Send(Query("two"), kLongMs).ok());
  EXPECT_EQ(ArgumentOf(b.Receive(kLongMs)), "one");
  Channel moved(std::move(b));
  EXPECT_FALSE(b.is_open());  // NOLINT: that is what is tested
  EXPECT_EQ(ArgumentOf(moved.Receive(0)), "two");
}

}  // namespace
}  // namespace hiera
