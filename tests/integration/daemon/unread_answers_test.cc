// SPDX-License-Identifier: Apache-2.0
// Clients that never read what they asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "core/limits.h"

#include "integration/daemon/memory_fixture.h"
#include "support/rpc/lock_requests.h"
#include "support/rpc/raw_http2.h"

namespace lockkeeper {
namespace {

using std::chrono::milliseconds;
using support::AcquireOf;
using support::LockClient;
using support::RawHttp2;

TEST_F(MemoryTest, ListsThatNobodyReads) {
  constexpr int kLocks = Work(1'000);
  constexpr size_t kLists = 200;
  LockClient client(daemon_->GrpcAddress());
  for (int i = 0; i < kLocks; ++i) {
    v1::AcquireRequest request = AcquireOf(std::to_string(i) + std::string(500, 'n'));
    for (int label = 0; label < 8; ++label) {
      (*request.mutable_labels())["label " + std::to_string(label)] = std::string(250, 'v');
    }
    ASSERT_TRUE(client.Acquire(request).response.has_lease());
  }
  admin::v1::ListLocksRequest all;
  all.set_page_size(kLocks);
  RawHttp2 reader(port_, 0);
  for (size_t i = 0; i < kLists; ++i) {
    reader.Call("/lockkeeper.admin.v1.AdminService/ListLocks", all.SerializeAsString());
  }
  ASSERT_TRUE(reader.Flush());

  while (reader.ended() < kLists - core::limits::kListsMax) {
    ASSERT_TRUE(reader.ReadFor(milliseconds(10)));
    EXPECT_TRUE(client.Acquire(AcquireOf(support::NewLeaseId())).response.has_lease());
    Measure();
  }

  ExpectServed();
}

// Each keeps a bounded number of events, and misses the others.
TEST_F(MemoryTest, WatchesThatNobodyReads) {
  constexpr int kGrants = Work(6'000);
  RawHttp2 watcher(port_, 0);
  for (size_t i = 0; i < core::limits::kWatchesPerPrincipalMax + 1; ++i) {
    watcher.Call("/lockkeeper.admin.v1.AdminService/WatchLocks",
                 admin::v1::WatchLocksRequest().SerializeAsString());
  }
  ASSERT_TRUE(watcher.Flush());
  // One more than there may be: when it is refused, the others are open.
  while (watcher.ended() == 0) ASSERT_TRUE(watcher.ReadFor(milliseconds(10)));
  LockClient client(daemon_->GrpcAddress());
  for (int i = 0; i < kGrants; ++i) {
    const v1::AcquireRequest request =
        AcquireOf(std::to_string(i) + std::string(500, 'n'), support::NewLeaseId());
    ASSERT_TRUE(client.Acquire(request).response.has_lease());
    client.Release(support::ReleaseOf(request.name(), request.lease_id()));
    if (i % 100 == 0) Measure();
  }

  ExpectServed();
}

TEST_F(MemoryTest, SessionsThatNeverRead) {
  constexpr int kOperations = 500;  // In a message.
  constexpr int kMessages = core::limits::kSessionOperationsMax / kOperations;
  // More than may be kept of all of them.
  constexpr int kSessions =
      std::max(Work(30), static_cast<int>(core::limits::kOperationsOfSessionsMax /
                                          core::limits::kSessionOperationsMax) +
                             2);
  v1::SessionRequest open;
  open.mutable_open();
  v1::SessionRequest batch;
  for (int i = 0; i < kOperations; ++i) {
    v1::SessionOperation& operation = *batch.mutable_batch()->add_operations();
    operation.set_id(static_cast<uint64_t>(i));
    operation.mutable_fence()->set_name("n");
    operation.mutable_fence()->set_fencing_token(5);
  }
  const std::string message = batch.SerializeAsString();

  std::vector<std::unique_ptr<RawHttp2>> clients;
  size_t cut_off = 0;
  for (int i = 0; i < kSessions; ++i) {
    RawHttp2& client = *clients.emplace_back(std::make_unique<RawHttp2>(port_, 0));
    const uint32_t stream = client.Call("/lockkeeper.v1.LockService/Session",
                                        open.SerializeAsString(), RawHttp2::Body::kGoesOn);
    for (int sent = 0; sent < kMessages && client.ended() == 0; ++sent) {
      while (!client.MaySend(stream, message.size()) && client.ended() == 0) {
        ASSERT_TRUE(client.Flush() && client.ReadFor(milliseconds(1)));
      }
      client.Send(stream, message);
      ASSERT_TRUE(client.Flush() && client.ReadFor(milliseconds(0)));
    }
    // So that they answer the daemon's PINGs, which come after seconds.
    for (const auto& before : clients) {
      ASSERT_TRUE(before->Flush() && before->ReadFor(milliseconds(0)));
    }
    Measure();
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (cut_off == 0 && std::chrono::steady_clock::now() < until) {
    for (const auto& client : clients) {
      ASSERT_TRUE(client->Flush() && client->ReadFor(milliseconds(1)));
      cut_off += client->ended();
    }
    Measure();
  }

  EXPECT_GT(cut_off, 0U);
  ExpectServed();
}

}  // namespace
}  // namespace lockkeeper
