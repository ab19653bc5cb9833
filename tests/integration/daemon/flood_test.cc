// SPDX-License-Identifier: Apache-2.0
// Clients that open calls and reset them do not use up the memory, and heavy ones are not taken for
// them.
#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "integration/daemon/memory_fixture.h"
#include "support/rpc/lock_requests.h"
#include "support/rpc/raw_http2.h"

namespace lockkeeper {
namespace {

using std::chrono::milliseconds;
using support::AcquireOf;
using support::LockClient;
using support::RawHttp2;
using testing::HasSubstr;

constexpr uint32_t kWindow = 65'535;

// Clients that send as fast as they can, and come again when they are closed.
class FloodTest : public MemoryTest {
 protected:
  template <typename Call>
  void Flood(size_t connections, int calls, const Call& call) {
    constexpr int kCallsPerWrite = 100;
    std::vector<std::unique_ptr<RawHttp2>> floods(connections);
    for (int sent = 0; sent < calls; sent += kCallsPerWrite) {
      std::unique_ptr<RawHttp2>& flood =
          floods[static_cast<size_t>(sent / kCallsPerWrite) % connections];
      if (!flood) flood = std::make_unique<RawHttp2>(port_, kWindow);
      for (int i = 0; i < kCallsPerWrite; ++i) call(*flood);
      if (!flood->Flush() || !flood->ReadFor(milliseconds(0))) flood.reset();
      Measure();
    }
  }
};

class ResetFloodTest : public FloodTest, public testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(With, ResetFloodTest, testing::Bool(), [](const auto& with_message) {
  return with_message.param ? "Message" : "HeadersOnly";
});

TEST_P(ResetFloodTest, DoesNotUseUpTheMemory) {
  const std::string acquire = AcquireOf("flood").SerializeAsString();
  Flood(2, Work(150'000), [&](RawHttp2& client) {
    const std::string path = "/lockkeeper.v1.LockService/Acquire";
    client.Reset(GetParam() ? client.Call(path, acquire) : client.Open(path));
  });

  ExpectServed();
  ExpectMemoryReturned();
}

class HeavyClientTest : public MemoryTest {
 protected:
  void ExpectNobodyWasClosed() {
    const std::string metrics = Get(*daemon_, "/metrics").body;
    EXPECT_THAT(metrics, HasSubstr("lockkeeper_connections_closed_total{reason=\"flood\"} 0\n"));
    EXPECT_THAT(metrics, HasSubstr("lockkeeper_connections_closed_total{reason=\"too_many\"} 0\n"));
  }

  // Reads until the daemon's metrics have `line`.
  void ReadUntilMetrics(RawHttp2& client, const std::string& line) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (Get(*daemon_, "/metrics").body.find("\n" + line + "\n") == std::string::npos) {
      ASSERT_LT(std::chrono::steady_clock::now(), until) << line;
      ASSERT_TRUE(client.ReadFor(milliseconds(20)));
    }
  }
};

TEST_F(HeavyClientTest, ManySessionsOnOneConnection) {
  constexpr int kSessions = Work(500);
  constexpr int kLeases = 200;
  v1::SessionRequest open;
  open.mutable_open();
  RawHttp2 client(port_, kWindow);
  std::vector<uint32_t> streams;
  streams.reserve(kSessions);
  for (int i = 0; i < kSessions; ++i) {
    streams.push_back(client.Call("/lockkeeper.v1.LockService/Session", open.SerializeAsString(),
                                  RawHttp2::Body::kGoesOn));
  }
  ASSERT_TRUE(client.Flush());
  ReadUntilMetrics(client, "lockkeeper_sessions " + std::to_string(kSessions));
  for (int i = 0; i < kSessions; ++i) {
    v1::SessionRequest batch;
    for (int lease = 0; lease < kLeases; ++lease) {
      v1::SessionOperation& operation = *batch.mutable_batch()->add_operations();
      operation.set_id(static_cast<uint64_t>(lease) + 1);
      *operation.mutable_acquire() = AcquireOf(std::to_string(i) + " " + std::to_string(lease));
    }
    const std::string message = batch.SerializeAsString();
    const uint32_t stream = streams[static_cast<size_t>(i)];
    while (!client.MaySend(stream, message.size())) {
      ASSERT_TRUE(client.Flush() && client.ReadFor(milliseconds(1)));
    }
    client.Send(stream, message);
    ASSERT_TRUE(client.Flush());
  }

  EXPECT_EQ(client.ended(), 0U);
  ExpectNobodyWasClosed();
  ExpectServed();
}

TEST_F(HeavyClientTest, ManyWaitersOnFewConnections) {
  constexpr int kWaiters = Work(2'000);
  LockClient holder(daemon_->GrpcAddress());
  ASSERT_TRUE(holder.Acquire(AcquireOf("n")).response.has_lease());
  std::vector<std::unique_ptr<RawHttp2>> clients;
  for (int i = 1; i <= 2; ++i) {
    RawHttp2& client = *clients.emplace_back(std::make_unique<RawHttp2>(port_, kWindow));
    for (int waiter = 0; waiter < kWaiters; ++waiter) {
      v1::AcquireRequest request = AcquireOf("n");
      request.mutable_wait_timeout()->set_seconds(60);
      const std::string message = request.SerializeAsString();
      const uint32_t stream = client.Open("/lockkeeper.v1.LockService/Acquire");
      while (!client.MaySend(stream, message.size())) {
        ASSERT_TRUE(client.Flush() && client.ReadFor(milliseconds(1)));
      }
      client.Send(stream, message, RawHttp2::Body::kComplete);
    }
    ASSERT_TRUE(client.Flush());
    ReadUntilMetrics(client, "lockkeeper_waiters " + std::to_string(i * kWaiters));
    EXPECT_EQ(client.ended(), 0U);
  }

  ExpectNobodyWasClosed();
}

TEST_F(HeavyClientTest, LeavesNoMemoryBehind) {
  constexpr int kConnections = Work(500);
  constexpr int kWaitersOfEach = 8;
  LockClient holder(daemon_->GrpcAddress());
  ASSERT_TRUE(holder.Acquire(AcquireOf("n")).response.has_lease());
  std::vector<std::unique_ptr<RawHttp2>> clients;
  v1::AcquireRequest request = AcquireOf("n");
  request.mutable_wait_timeout()->set_seconds(60);
  for (int i = 0; i < kConnections; ++i) {
    RawHttp2& client = *clients.emplace_back(std::make_unique<RawHttp2>(port_, kWindow));
    for (int waiter = 0; waiter < kWaitersOfEach; ++waiter) {
      client.Call("/lockkeeper.v1.LockService/Acquire", request.SerializeAsString());
    }
    ASSERT_TRUE(client.Flush());
  }
  ReadUntilMetrics(*clients.front(),
                   "lockkeeper_waiters " + std::to_string(kConnections * kWaitersOfEach));
  ASSERT_GT(support::ResidentBytes(daemon_->pid()), 70e6) << "too few to tell";
  clients.clear();

  ExpectMemoryReturned();
}

TEST_F(HeavyClientTest, ConnectsAgainAndAgain) {
  for (int i = 0; i < 200; ++i) {
    RawHttp2 client(port_, kWindow);
    client.Call("/lockkeeper.v1.LockService/Fence", support::FenceOf("n", 5).SerializeAsString());
    ASSERT_TRUE(client.Flush());
    while (client.ended() == 0) ASSERT_TRUE(client.ReadFor(milliseconds(1)));
  }

  ExpectNobodyWasClosed();
}

}  // namespace
}  // namespace lockkeeper
