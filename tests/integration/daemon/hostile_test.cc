// SPDX-License-Identifier: Apache-2.0
// Clients that begin what they do not end: handshakes, connections, messages. They are bounded, and
// others are served meanwhile.
#include <gmock/gmock.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "integration/daemon/memory_fixture.h"
#include "os/descriptor.h"
#include "rpc/handshakes.h"
#include "support/process/tcp_connection.h"
#include "support/rpc/raw_http2.h"
#include "support/rpc/secure_channel.h"
#include "support/tls/test_authority.h"
#include "support/tls/tls_client.h"

namespace lockkeeper {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using support::ConnectTo;
using support::DaemonProcess;
using support::LockClient;
using support::RawHttp2;
using support::RedisServer;
using support::TestAuthority;
using support::TlsClient;
using support::TlsFiles;

// Whether the other end closes within `time`. Reads what comes before.
bool IsClosedWithin(const os::Descriptor& connection, milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (true) {
    const auto left =
        std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now()).count();
    pollfd ready{.fd = connection.get(), .events = POLLIN, .revents = 0};
    if (left <= 0 || poll(&ready, 1, static_cast<int>(left)) <= 0) return false;
    char bytes[4096];
    if (recv(connection.get(), bytes, sizeof bytes, 0) <= 0) return true;
  }
}

// What a client of TLS says first.
std::string ClientHello() {
  SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
  SSL* const session = SSL_new(context);
  BIO* const out = BIO_new(BIO_s_mem());
  SSL_set_bio(session, BIO_new(BIO_s_mem()), out);
  SSL_connect(session);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out, &data);
  std::string hello(data, static_cast<size_t>(size));
  SSL_free(session);
  SSL_CTX_free(context);
  return hello;
}

class HostileTlsTest : public DaemonTest {
 protected:
  HostileTlsTest() {
    daemon_ = Launch({"--redis", redis_.url(), "--listen", "tls://127.0.0.1:0", "--http-listen",
                      "127.0.0.1:0", "--tls-cert", own_.certificate, "--tls-key", own_.key});
    daemon_->WaitUntilReady();
    port_ = PortOf(*daemon_);
  }

  double Metric(const std::string& name) const {
    const std::string text = Get(*daemon_, "/metrics").body;
    const size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 2));
  }
  double Closed(const std::string& reason) const {
    return Metric("lockkeeper_connections_closed_total{reason=\"" + reason + "\"}");
  }

  // On a connection of its own.
  bool Serves() {
    LockClient client(support::SecureChannel(daemon_->GrpcAddress(), {.ca = authority_.ca_file()}),
                      seconds(20));
    return client.GetServerInfo().ok();
  }

  // Waits until `condition`.
  template <typename Condition>
  static bool Becomes(const Condition& condition) {
    const auto until = std::chrono::steady_clock::now() + seconds(30);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until) return false;
    }
    return true;
  }

  RedisServer redis_;
  TestAuthority authority_;
  const TlsFiles own_ = authority_.IssueForLocalhost();
  std::unique_ptr<DaemonProcess> daemon_;
  uint16_t port_ = 0;
};

TEST_F(HostileTlsTest, SilentConnectionsTakeNoDescriptor) {
  EXPECT_TRUE(Serves());
  const double before = Metric("process_open_fds");
  std::vector<os::Descriptor> silent;
  silent.reserve(500);
  for (int i = 0; i < 500; ++i) silent.push_back(ConnectTo(port_));

  EXPECT_TRUE(Serves());
  EXPECT_LT(Metric("process_open_fds"), before + 50);
}

TEST_F(HostileTlsTest, WhatIsNotTlsIsClosedAtOnce) {
  for (const std::string bytes : {"GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\n", "\x80"}) {
    EXPECT_TRUE(IsClosedWithin(ConnectTo(port_, bytes), seconds(5)));
  }
  EXPECT_EQ(Closed("no_tls"), 3);
  EXPECT_TRUE(Serves());
}

TEST_F(HostileTlsTest, HandshakesUnderWayAreBounded) {
  const std::string hello = ClientHello();
  std::vector<os::Descriptor> stalled;
  stalled.reserve(rpc::kHandshakesMax + 50);
  for (size_t i = 0; i < rpc::kHandshakesMax + 50; ++i) {
    stalled.push_back(ConnectTo(port_, hello));
  }

  EXPECT_TRUE(IsClosedWithin(stalled.front(), seconds(5))) << "the oldest makes room";
  EXPECT_TRUE(Serves());
  EXPECT_TRUE(Becomes([&] { return Closed("handshakes") >= 50; }));
  EXPECT_LE(Closed("handshakes"), 51);
}

TEST_F(HostileTlsTest, HandshakesHaveLittleTime) {
  const os::Descriptor stalled = ConnectTo(port_, ClientHello());
  EXPECT_FALSE(IsClosedWithin(stalled, seconds(1)));
  EXPECT_TRUE(IsClosedWithin(stalled, rpc::kHandshakeTimeMax + seconds(10)));

  // After it too: a client of HTTP/2 begins by its settings.
  TlsClient mute(port_, {});
  ASSERT_EQ(mute.problem(), "");
  const auto begin = std::chrono::steady_clock::now();
  mute.ReadAll();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, rpc::kHandshakeTimeMax + seconds(10));
}

// Goal: handshakes that come as fast as they can take a share of the processor only, and clients
// that are connected notice little. Method: counts them.
TEST_F(HostileTlsTest, HandshakesThatBeginAreBounded) {
  LockClient connected(support::SecureChannel(daemon_->GrpcAddress(), {.ca = authority_.ca_file()}),
                       seconds(20));
  ASSERT_TRUE(connected.GetServerInfo().ok());
  const std::string hello = ClientHello();
  std::atomic<bool> stop = false;
  std::atomic<int> begun = 0;
  std::vector<std::thread> floods;
  floods.reserve(8);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 8; ++i) {
    floods.emplace_back([&] {
      while (!stop) {
        const os::Descriptor connection = ConnectTo(port_, hello);
        char first = 0;
        if (recv(connection.get(), &first, 1, 0) == 1) ++begun;
      }
    });
  }
  int calls = 0;
  while (std::chrono::steady_clock::now() - begin < seconds(5)) {
    EXPECT_TRUE(connected.GetServerInfo().ok());
    ++calls;
  }
  stop = true;
  for (std::thread& flood : floods) flood.join();
  const double time =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  EXPECT_GT(calls, 10);
  // The burst, and what the last connections of all threads began.
  EXPECT_LE(begun, rpc::kHandshakesPerSecond * (time + 2.1) + 8);
  EXPECT_TRUE(Serves());
  EXPECT_TRUE(Becomes([&] { return Metric("process_open_fds") < 100; }));
}

class HostileMessagesTest : public DaemonTest {
 protected:
  RedisServer redis_;
};

// Goal: messages that never end do not use up the memory. Method: as many as gRPC takes, on several
// connections, with a quota that they would exceed by far.
TEST_F(HostileMessagesTest, DoNotUseUpTheMemory) {
  constexpr uint32_t kMessage = 65'536;
  constexpr size_t kPart = 60'000;
  const auto daemon =
      Start({"--redis", redis_.url()}, {{"LOCKKEEPERD_SERVER_REQUEST_MEMORY_MAX", "64"}});
  const uint16_t port = PortOf(*daemon);
  LockClient other(daemon->GrpcAddress());
  const std::string part(kPart, 'x');
  std::vector<std::unique_ptr<RawHttp2>> floods;
  floods.reserve(4);
  std::vector<std::unique_ptr<RawHttp2>> stalled;  // Open to the end.
  std::vector<std::unique_ptr<RawHttp2>> ended;
  for (int i = 0; i < 4; ++i) {
    floods.push_back(std::make_unique<RawHttp2>(port, 65'535));
  }
  double most = 0;
  size_t sent = 0;
  for (int round = 0; round < 1'500; ++round) {
    for (std::unique_ptr<RawHttp2>& flood : floods) {
      if (!flood) continue;
      const uint32_t stream = flood->Open("/lockkeeper.v1.LockService/Acquire");
      bool goes_on = flood->Flush();
      // It is given no more room when there is too little for all.
      for (int i = 0; goes_on && i < 50 && !flood->MaySend(stream, kPart); ++i) {
        goes_on = flood->ReadFor(milliseconds(10));
      }
      if (!goes_on || !flood->MaySend(stream, kPart)) {
        (goes_on ? stalled : ended).push_back(std::move(flood));
        continue;
      }
      flood->SendPart(stream, kMessage, part);
      sent += kPart;
      if (!flood->Flush()) ended.push_back(std::move(flood));
    }
    if (round % 100 == 0) {
      most = std::max(most, support::ResidentBytes(daemon->pid()));
      // gRPC may end any connection or call when there is too little memory: it is repeated.
      const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      bool served = false;
      while (!served && std::chrono::steady_clock::now() < until) {
        served = other.Fence(support::FenceOf("n", 1)).ok();
      }
      EXPECT_TRUE(served);
    }
  }
  most = std::max(most, support::ResidentBytes(daemon->pid()));
  EXPECT_GT(sent, size_t{48} << 20) << "more than there is room for";
  EXPECT_LT(most, kMemoryMax);
}

TEST_F(HostileMessagesTest, TextsThatAreNoUtf8DoNotFillTheLog) {
  const auto daemon = Start({"--redis", redis_.url()});
  LockClient client(daemon->GrpcAddress());
  for (int i = 0; i < 200; ++i) EXPECT_FALSE(client.Fence(support::FenceOf("\xff", 1)).ok());

  daemon->WaitForLog("event=grpc.error");
  EXPECT_THAT(daemon->Stderr(), testing::Not(testing::HasSubstr("[libprotobuf")));
  EXPECT_TRUE(client.Fence(support::FenceOf("n", 1)).ok());
}

TEST_F(HostileMessagesTest, HeadersThatAreTooLargeAreRefused) {
  const auto daemon = Start({"--redis", redis_.url()});
  LockClient client(daemon->GrpcAddress());
  const auto call_with = [&](size_t bytes) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + seconds(20));
    context.AddMetadata("x-text", std::string(bytes, 'x'));
    v1::FenceRequest request = support::FenceOf("n", 1);
    v1::FenceResponse response;
    return client.locks().Fence(&context, request, &response).error_code();
  };

  EXPECT_EQ(call_with(4'000), grpc::StatusCode::OK);
  EXPECT_EQ(call_with(10'000), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(call_with(1'000'000), grpc::StatusCode::OK) << "this may cost the connection";
  EXPECT_TRUE(LockClient(daemon->GrpcAddress()).GetServerInfo().ok());
}

}  // namespace
}  // namespace lockkeeper
