// SPDX-License-Identifier: Apache-2.0
//
// A record lives as long as its line, however short the retention: without it the lock would be
// granted past those who stand in line. And a line that was lost, and comes back.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
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

  int64_t Acquire(uint64_t id, size_t keys, int waiters_max, int32_t attempt = 1) {
    core::AcquireRequest request = ScriptAcquire(ScriptId(id));
    request.attempt = attempt;
    const Strings arguments = AcquireArguments(request, waiters_max);
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

  int64_t Release(uint64_t id) {
    return Call(redis::kReleaseScript, 2, {redis::EncodeLeaseId(ScriptId(id)), ""})
        .items.at(1)
        .integer;
  }

  // The line of the lock, as the command that writes it.
  Strings Line() {
    Strings command = {"ZADD", "lk:{a}:line"};
    const redis::Reply members =
        servers_.Run({"ZRANGEBYSCORE", "lk:{a}:line", "-inf", "+inf", "WITHSCORES"});
    for (size_t i = 0; i + 1 < members.items.size(); i += 2) {
      command.push_back(members.items[i + 1].text);
      command.push_back(members.items[i].text);
    }
    return command;
  }

  // Polls for the daemon of all acquires here; answers the lease id that it has an offer for, if
  // any.
  std::string PollForOffer(std::string_view line) {
    const redis::Reply reply =
        Call(redis::kPollScript, 2, {core::Hex16(1), "W", std::string(line), redis::Digits(0, 16)});
    return reply.items.at(4).text.substr(0, 32);
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

// A line that has expired comes back when the clock is set back before Redis has collected it.
// Meanwhile its first waiter may have had a lease.
TEST_P(LineRetentionTest, WhoHasHadALeaseIsNotOfferedTheLockByALineThatCameBack) {
  ASSERT_EQ(Acquire(1, 1, 0), kGranted);
  ASSERT_EQ(Acquire(2, 2, 4), kWaits);
  ASSERT_EQ(Acquire(3, 2, 4), kWaits);
  const Strings line = Line();
  const std::string began = *(std::find(line.begin(), line.end(), "g") - 1);
  ASSERT_EQ(Release(1), 1);
  ASSERT_EQ(Acquire(2, 2, 0, /*attempt=*/2), kGranted) << "nobody has heard of an offer";
  ASSERT_EQ(Release(2), 1);

  ASSERT_TRUE(servers_.RunAll({{"DEL", "lk:{a}:line"}, line}));

  EXPECT_EQ(PollForOffer(began.substr(1)), redis::EncodeLeaseId(ScriptId(3)).substr(0, 32));
}

INSTANTIATE_TEST_SUITE_P(Servers, LineRetentionTest, testing::ValuesIn(InstalledServers()));

}  // namespace
}  // namespace lockkeeper::support
