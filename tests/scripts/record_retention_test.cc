// SPDX-License-Identifier: Apache-2.0
//
// How long Redis keeps the record of a lease that was released: for the retention, or half as long
// more.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "redis/format/lock_record.h"
#include "scripts/script_calls.h"
#include "scripts/twin_servers.h"

namespace lockkeeper::support {
namespace {

using std::chrono::seconds;
using Strings = std::vector<std::string>;

constexpr int64_t kRetentionMs = 60'000;

class RecordRetentionTest : public testing::TestWithParam<std::string> {
 protected:
  RecordRetentionTest() { EXPECT_TRUE(servers_.RunAll(LoadCommands())); }

  // Acquires, waits a second, releases. Answers for how long the record is kept then, in ms.
  int64_t KeptAfterRelease(const core::AcquireRequest& request, size_t keys) {
    Run(redis::kAcquireScript, keys, AcquireArguments(request, 0));
    servers_.AdvanceBy(seconds(1));
    Run(redis::kReleaseScript, keys, {redis::EncodeLeaseId(request.lease_id), ""});
    return servers_.Run({"PTTL", "lk:{a}"}).integer;
  }

  void Run(const redis::ScriptSource& script, size_t keys, const Strings& arguments) {
    const CommonArguments common{.retention = std::to_string(kRetentionMs)};
    const Strings call = CallOf(script, keys, KeysOfLock("a", keys), arguments, common);
    ASSERT_EQ(servers_.Run({call.begin(), call.end()}).items.at(1).integer, 1);
  }

  static core::AcquireRequest Lease(core::Millis ttl, uint64_t id = 1) {
    core::AcquireRequest request = ScriptAcquire(ScriptId(id));
    request.ttl = ttl;
    return request;
  }

  TwinServers servers_{GetParam()};
};

TEST_P(RecordRetentionTest, ReleasedLeaseIsKeptForTheRetention) {
  for (const int64_t ttl_s : {5, 16, 3'600}) {
    EXPECT_EQ(KeptAfterRelease(Lease(seconds(ttl_s)), 1), kRetentionMs) << ttl_s;
    servers_.Run({"FLUSHALL"});
  }
}

TEST_P(RecordRetentionTest, ReleasedLeaseWithALockDelayIsKeptForTheRetention) {
  core::AcquireRequest request = Lease(seconds(5));
  request.lock_delay = seconds(3'600);
  EXPECT_EQ(KeptAfterRelease(request, 1), kRetentionMs);
}

TEST_P(RecordRetentionTest, ReleasedLeaseOfALockThatMayHaveALineIsKeptForTheRetention) {
  EXPECT_EQ(KeptAfterRelease(Lease(seconds(5)), 2), kRetentionMs);
}

// Then Redis may keep it until what the acquire had said: one command has less to do.
TEST_P(RecordRetentionTest, ReleasedLeaseOfANameThatWasLockedBeforeIsKeptForHalfAsLongMoreAtMost) {
  for (const int64_t ttl_s : {5, 31, 32, 3'600}) {
    KeptAfterRelease(Lease(seconds(5)), 1);
    const int64_t rest_ms = (ttl_s - 1) * 1'000;
    EXPECT_EQ(KeptAfterRelease(Lease(seconds(ttl_s), 2), 1),
              kRetentionMs + (rest_ms > kRetentionMs / 2 ? 0 : rest_ms))
        << ttl_s;
    servers_.Run({"FLUSHALL"});
  }
}

TEST_P(RecordRetentionTest, LockDelayOfANameThatWasLockedBeforeCountsLikeItsTtl) {
  KeptAfterRelease(Lease(seconds(5)), 1);
  core::AcquireRequest request = Lease(seconds(5), 2);
  request.lock_delay = seconds(27);
  EXPECT_EQ(KeptAfterRelease(request, 1), kRetentionMs);
}

INSTANTIATE_TEST_SUITE_P(Servers, RecordRetentionTest, testing::ValuesIn(InstalledServers()));

}  // namespace
}  // namespace lockkeeper::support
