// SPDX-License-Identifier: Apache-2.0
// How a client's hello is recognised, and when no other handshake may begin. On real connections:
// the kernel counts their bytes.
#include "rpc/handshakes.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <string>
#include <vector>

#include "os/descriptor.h"

namespace lockkeeper::rpc {
namespace {

using core::Millis;

// A record of TLS that begins a handshake, of 5 + 3 bytes.
const std::string kHello(
    "\x16\x03\x01\x00\x03"
    "abc",
    8);

struct Connection {
  os::Descriptor client;
  os::Descriptor server;
};

class HandshakesTest : public testing::Test {
 protected:
  HandshakesTest() : listening_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address_);
    EXPECT_EQ(bind(listening_.get(), reinterpret_cast<sockaddr*>(&address_), length), 0);
    EXPECT_EQ(listen(listening_.get(), 1024), 0);
    getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address_), &length);
  }

  // Whose client has said `bytes`.
  Connection Connect(const std::string& bytes = kHello) {
    Connection made;
    made.client = os::Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(made.client.get(), reinterpret_cast<sockaddr*>(&address_), sizeof(address_)),
              0);
    made.server = os::Descriptor(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    Send(made.client, bytes);
    if (!bytes.empty()) {  // Until it has arrived.
      char first = 0;
      EXPECT_EQ(recv(made.server.get(), &first, 1, MSG_PEEK), 1);
    }
    return made;
  }

  static void Send(const os::Descriptor& from, const std::string& bytes) {
    EXPECT_EQ(send(from.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  static bool IsOpen(const Connection& connection) {
    char byte = 0;
    return recv(connection.client.get(), &byte, 1, MSG_DONTWAIT) != 0;
  }

  os::Descriptor listening_;
  sockaddr_in address_{};
  Handshakes handshakes_;
  core::Instant now_{};
};

TEST_F(HandshakesTest, HelloIsReadFromItsRecord) {
  EXPECT_EQ(HelloBytes(Connect(kHello).server.get()), 8U);
  EXPECT_EQ(HelloBytes(Connect("\x16\x03").server.get()), 0U);
  EXPECT_EQ(HelloBytes(Connect("").server.get()), 0U);
  EXPECT_EQ(HelloBytes(Connect("PRI * HTTP/2.0").server.get()), std::nullopt);
  Connection gone = Connect("");
  gone.client = os::Descriptor();
  char byte = 0;
  EXPECT_EQ(recv(gone.server.get(), &byte, 1, MSG_PEEK), 0);
  EXPECT_EQ(HelloBytes(gone.server.get()), std::nullopt);
}

TEST_F(HandshakesTest, OthersWaitUntilHellosAreAnswered) {
  std::vector<Connection> connections;
  for (int i = 0; i < kHellosUnansweredMax; ++i) {
    EXPECT_EQ(handshakes_.Pause(now_), Millis(0)) << i;
    connections.push_back(Connect());
    EXPECT_FALSE(handshakes_.Begin(connections.back().server.get(), 8));
  }
  EXPECT_GT(handshakes_.Pause(now_), Millis(0));

  Send(connections.front().server, "answer");
  EXPECT_EQ(handshakes_.Pause(now_), Millis(0));
}

TEST_F(HandshakesTest, NotMoreBeginThanTheRateAllows) {
  int begun = 0;
  const auto begin_all = [&] {
    while (begun < 10'000 && handshakes_.Pause(now_) == Millis(0)) ++begun;
  };
  begin_all();
  EXPECT_EQ(begun, 2 * kHandshakesPerSecond) << "the burst";
  now_ += std::chrono::seconds(1);
  begin_all();
  EXPECT_NEAR(begun, 3 * kHandshakesPerSecond, 2);
}

TEST_F(HandshakesTest, OldestThatIsUnderWayMakesRoom) {
  Connection over = Connect();
  handshakes_.Begin(over.server.get(), 8);
  Send(over.client, "the client's second flight");
  std::vector<Connection> stalled;
  for (size_t i = 1; i < kHandshakesMax; ++i) {
    stalled.push_back(Connect());
    ASSERT_FALSE(handshakes_.Begin(stalled.back().server.get(), 8)) << i;
  }
  const Connection next = Connect();
  EXPECT_FALSE(handshakes_.Begin(next.server.get(), 8)) << "one was over";
  const Connection last = Connect();
  EXPECT_TRUE(handshakes_.Begin(last.server.get(), 8));

  EXPECT_FALSE(IsOpen(stalled[0]));
  EXPECT_TRUE(IsOpen(stalled[1]));
  EXPECT_TRUE(IsOpen(over));
}

}  // namespace
}  // namespace lockkeeper::rpc
