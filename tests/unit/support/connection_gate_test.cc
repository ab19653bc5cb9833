// SPDX-License-Identifier: Apache-2.0
//
// The gate does to connections what its name promises, in both directions.
#include "support/process/connection_gate.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "support/clock/boot_nanos.h"

namespace lockkeeper::support {
namespace {

using std::chrono::milliseconds;

constexpr int kPatience = 30'000;  // ms, for what has to come.
constexpr int kMoment = 50;        // ms, for what must not.

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket() { Close(); }

  int fd() const { return fd_; }
  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }
  void Say(const std::string& text) const {
    EXPECT_EQ(send(fd_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  bool HasNews(int limit) const {
    pollfd readable{fd_, POLLIN, 0};
    return poll(&readable, 1, limit) == 1;
  }
  // What comes next; empty: the other side has hung up.
  std::string Hear() const {
    if (!HasNews(kPatience)) return "nothing came";
    char data[64];
    const ssize_t size = read(fd_, data, sizeof(data));
    return size <= 0 ? "" : std::string(data, static_cast<size_t>(size));
  }

 private:
  int fd_;
};

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(static_cast<char*>(address.sun_path), sizeof(address.sun_path) - 1);
  return address;
}

class ConnectionGateTest : public testing::Test {
 protected:
  ConnectionGateTest() {
    const sockaddr_un address = AddressOf(path_);
    EXPECT_EQ(bind(listener_.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
    EXPECT_EQ(listen(listener_.fd(), 8), 0);
  }

  struct Ends {
    Socket client;
    Socket service;
  };

  Socket Dial() {
    Socket client(socket(AF_UNIX, SOCK_STREAM, 0));
    const sockaddr_un address = AddressOf(gate_.path());
    EXPECT_EQ(connect(client.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
    return client;
  }

  Ends Connect() {
    Socket client = Dial();
    EXPECT_TRUE(listener_.HasNews(kPatience));
    Socket service(accept(listener_.fd(), nullptr, nullptr));
    // The gate knows of the connection once something has come through.
    client.Say("hello");
    EXPECT_EQ(service.Hear(), "hello");
    return {std::move(client), std::move(service)};
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.Path("service");
  Socket listener_{socket(AF_UNIX, SOCK_STREAM, 0)};
  ConnectionGate gate_{path_};
};

TEST_F(ConnectionGateTest, HeldConnectionPassesNothingAndTellsNobodyOfItsEnd) {
  Ends held = Connect();
  gate_.Hold();
  held.client.Say("lost");
  held.service.Say("lost");
  EXPECT_FALSE(held.client.HasNews(kMoment));
  held.client.Close();
  EXPECT_FALSE(held.service.HasNews(kMoment)) << "half-open";

  Ends next = Connect();
  next.service.Say("reply");
  EXPECT_EQ(next.client.Hear(), "reply");
  gate_.Cut();
  EXPECT_EQ(held.service.Hear(), "");
  EXPECT_EQ(next.client.Hear(), "");
}

TEST_F(ConnectionGateTest, LostRepliesLetRequestsThrough) {
  Ends ends = Connect();
  gate_.LoseReplies();
  ends.client.Say("request");
  EXPECT_EQ(ends.service.Hear(), "request");
  ends.service.Say("reply");
  EXPECT_FALSE(ends.client.HasNews(kMoment));
  EXPECT_EQ(Connect().client.HasNews(0), false);
  gate_.Cut();
  EXPECT_EQ(ends.client.Hear(), "");
}

TEST_F(ConnectionGateTest, DelayMakesBothDirectionsLate) {
  Ends ends = Connect();
  constexpr int64_t kDelay = 100'000'000;  // ns
  gate_.Delay(milliseconds(kDelay / 1'000'000));
  const int64_t begin = BootNanos();
  ends.client.Say("request");
  EXPECT_EQ(ends.service.Hear(), "request");
  EXPECT_GE(BootNanos(), begin + kDelay);
  ends.service.Say("reply");
  EXPECT_EQ(ends.client.Hear(), "reply");
  EXPECT_GE(BootNanos(), begin + 2 * kDelay);
}

TEST_F(ConnectionGateTest, EndIsHeardAfterAllThatWasSaidBeforeAndMaySpeakTillThen) {
  Ends ends = Connect();
  ends.service.Say("answer");
  ends.service.Close();
  EXPECT_EQ(ends.client.Hear(), "answer");
  EXPECT_EQ(ends.client.Hear(), "");
  ends.client.Say("late");
}

TEST_F(ConnectionGateTest, ConnectionThatIsTurnedAwayEndsWithoutItsFirstCall) {
  using namespace std::string_literals;
  gate_.TurnAwayNext();
  Socket client = Dial();
  EXPECT_EQ(client.Hear(), "\0\0\0\4\0\0\0\0\0"s) << "SETTINGS";
  client.Say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"s);
  EXPECT_FALSE(client.HasNews(kMoment));
  client.Say("\0\0\1\1\4\0\0\0\1\x88"s);  // HEADERS of stream 1.
  EXPECT_EQ(client.Hear(), "\0\0\10\7\0\0\0\0\0\0\0\0\0\0\0\0\0"s) << "GOAWAY";

  EXPECT_EQ(gate_.connections(), 0u);
  Connect();
  EXPECT_EQ(gate_.connections(), 1u);
}

TEST_F(ConnectionGateTest, CountsConnectionsThatHaveEnded) {
  for (size_t i = 1; i <= 3; ++i) {
    Connect();
    EXPECT_EQ(gate_.connections(), i);
  }
}

}  // namespace
}  // namespace lockkeeper::support
