// SPDX-License-Identifier: Apache-2.0
// One connection over a socket pair, step by step.
#include "http/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

namespace lockkeeper::http {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kRequest = "GET /path HTTP/1.1\r\nHost: a\r\n\r\n";

class ConnectionTest : public testing::Test {
 protected:
  ConnectionTest() : connection_(OwnEnd(), handler_, core::Instant::max()) {}

  void Send(std::string_view bytes) {
    ASSERT_EQ(send(peer_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  // What has arrived at the peer, without waiting.
  std::string Received() {
    std::string text;
    std::array<char, 65536> buffer;
    ssize_t count = 0;
    while ((count = recv(peer_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0) {
      text.append(buffer.data(), static_cast<size_t>(count));
    }
    return text;
  }

  void ClosePeer() { peer_ = os::Descriptor(); }

  std::string body_ = "page\n";
  RequestHandler handler_{
      [this](const std::string&) { return Page{.content_type = "text/plain", .body = body_}; }};
  os::Descriptor peer_;
  Connection connection_;

 private:
  os::Descriptor OwnEnd() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    peer_ = os::Descriptor(ends[1]);
    return os::Descriptor(ends[0]);
  }
};

TEST_F(ConnectionTest, RequestIsAnsweredAndTheConnectionClosed) {
  Send(kRequest);
  connection_.Continue();

  EXPECT_THAT(Received(), EndsWith("\r\n\r\npage\n"));
  EXPECT_FALSE(connection_.done()) << "until the peer has read the answer and closes";

  ClosePeer();
  connection_.Continue();
  EXPECT_TRUE(connection_.done());
}

TEST_F(ConnectionTest, RequestMayComeByteByByte) {
  for (const char byte : kRequest.substr(0, kRequest.size() - 1)) {
    Send({&byte, 1});
    connection_.Continue();
    ASSERT_EQ(Received(), "");
  }

  Send("\n");
  connection_.Continue();

  EXPECT_THAT(Received(), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(ConnectionTest, NothingHappensWithoutInput) {
  connection_.Continue();

  EXPECT_FALSE(connection_.done());
  EXPECT_FALSE(connection_.wants_to_write());
}

TEST_F(ConnectionTest, LongestHeadersAreAnswered) {
  const std::string begin = "GET / HTTP/1.1\r\n";
  std::string request = begin;
  // Httplib takes a hundred at most.
  constexpr size_t kHeaderBytes = 1'000;
  while (request.size() + kHeaderBytes <= kRequestBytesMax) {
    request += "X: " + std::string(kHeaderBytes - 5, 'x') + "\r\n";
  }
  Send(request + "\r\n");

  for (size_t i = 0; i <= kRequestBytesMax / 4096 + 1; ++i) connection_.Continue();

  EXPECT_THAT(Received(), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(ConnectionTest, LongerHeadersAreRefused) {
  Send("GET / HTTP/1.1\r\nX: " + std::string(kRequestBytesMax, 'x'));

  for (size_t i = 0; i <= kRequestBytesMax / 4096 + 1; ++i) connection_.Continue();

  EXPECT_THAT(Received(), StartsWith("HTTP/1.1 431 Request Header Fields Too Large"));
}

TEST_F(ConnectionTest, SlowReaderGetsTheWholeAnswer) {
  body_ = std::string(4 << 20, 'b');
  Send(kRequest);
  connection_.Continue();
  ASSERT_TRUE(connection_.wants_to_write());

  std::string answer;
  while (connection_.wants_to_write()) {
    answer += Received();
    connection_.Continue();
  }
  answer += Received();

  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: " + std::to_string(body_.size()) + "\r\n"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n" + body_));
}

TEST_F(ConnectionTest, PeerThatLeavesEndsIt) {
  ClosePeer();

  connection_.Continue();

  EXPECT_TRUE(connection_.done());
}

// A signal would end this process.
TEST_F(ConnectionTest, PeerThatLeavesBeforeItsAnswerRaisesNoSignal) {
  body_ = std::string(4 << 20, 'b');
  Send(kRequest);
  connection_.Continue();
  ASSERT_TRUE(connection_.wants_to_write());

  ClosePeer();
  connection_.Continue();

  EXPECT_TRUE(connection_.done());
}

TEST_F(ConnectionTest, WhatFollowsTheRequestIsDroppedWithinBounds) {
  Send("POST / HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\n");
  connection_.Continue();
  EXPECT_THAT(Received(), StartsWith("HTTP/1.1 405"));

  const std::string chunk(4096, 'x');
  size_t sent = 0;
  while (!connection_.done() && sent < 2 * kIgnoredBytesMax) {
    Send(chunk);
    sent += chunk.size();
    connection_.Continue();
  }

  EXPECT_TRUE(connection_.done());
  EXPECT_GE(sent, kIgnoredBytesMax);
}

}  // namespace
}  // namespace lockkeeper::http
