// SPDX-License-Identifier: Apache-2.0
//
// A record lives as long as its line, however short the retention: without it the lock would be
// granted past those who stand in line.
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

constexpr int64_t kGranted = 1;
constexpr int64_t kNothingGranted = 2;
constexpr int64_t kWaits = 5;
constexpr int64_t kLineHasToBeSeen = 80;

class LineRetentionTest : public testing::TestWithParam<std::string> {
 protected:
  LineRetentionTest() { EXPECT_TRUE(servers_.RunAll(LoadCommands())); }

  redis::Reply Call(const redis::ScriptSource& script, size_t keys, const Strings& arguments) {
    const CommonArguments common{.retention = "1000"};
    const Strings call = CallOf(script, keys, KeysOfLock("a", keys), arguments, common);
    return servers_.Run({call.begin(), call.end()});
  }

  int64_t Acquire(uint64_t id, size_t keys, int waiters_max) {
    const Strings arguments = AcquireArguments(ScriptAcquire(ScriptId(id)), waiters_max);
    return Call(redis::kAcquireScript, keys, arguments).items.at(1).integer;
  }

  int64_t Withdraw(uint64_t id) {
    return Call(redis::kWithdrawScript, 2,
                {redis::EncodeLeaseId(ScriptId(id)), redis::Digits(1, 6),
                 std::string(core::Keeper(1, 1).digits()), "L", redis::Digits(0, 16)})
        .items.at(1)
        .integer;
  }

  // From another daemon than that of all acquires here, so that nobody is offered anything.
  void PollForNobody() {
    Call(redis::kPollScript, 2, {core::Hex16(2), "H", redis::Digits(0, 16), redis::Digits(0, 16)});
  }

  bool IsThere(const std::string& key) { return servers_.Run({"EXISTS", key}).integer == 1; }

  TwinServers servers_{GetParam()};
};

TEST_P(LineRetentionTest, RecordOfALockWithALineOutlivesTheRetention) {
  ASSERT_EQ(Acquire(1, 1, 0), kGranted);
  ASSERT_EQ(Acquire(2, 2, 4), kWaits);

  // Long after the lease and the retention; the waiter's daemon is silent, its place is kept.
  servers_.AdvanceBy(seconds(35));

  EXPECT_EQ(Acquire(3, 1, 0), kLineHasToBeSeen);
}

TEST_P(LineRetentionTest, WaiterThatLeavesKeepsTheRecordForTheOthers) {
  ASSERT_EQ(Acquire(1, 1, 0), kGranted);
  ASSERT_EQ(Acquire(2, 2, 4), kWaits);
  ASSERT_EQ(Acquire(3, 2, 4), kWaits);
  servers_.AdvanceBy(seconds(25));
  ASSERT_EQ(Withdraw(2), kNothingGranted);

  servers_.AdvanceBy(seconds(15));

  EXPECT_EQ(Acquire(4, 1, 0), kLineHasToBeSeen);
}

TEST_P(LineRetentionTest, RecordGoesSoonAfterTheLine) {
  ASSERT_EQ(Acquire(1, 1, 0), kGranted);
  ASSERT_EQ(Acquire(2, 2, 4), kWaits);
  servers_.AdvanceBy(seconds(35));  // Beyond the lease, and the waiter's daemon is dead.
  PollForNobody();                  // Parks the waiter.

  servers_.AdvanceBy(seconds(26));  // A line without its daemons is kept for a minute.
  EXPECT_FALSE(IsThere("lk:{a}:line"));
  EXPECT_TRUE(IsThere("lk:{a}"));
  servers_.AdvanceBy(seconds(36));
  EXPECT_FALSE(IsThere("lk:{a}"));
}

INSTANTIATE_TEST_SUITE_P(Servers, LineRetentionTest, testing::ValuesIn(InstalledServers()));

}  // namespace
}  // namespace lockkeeper::support
