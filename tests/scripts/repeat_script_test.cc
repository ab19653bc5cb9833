// SPDX-License-Identifier: Apache-2.0
//
// The repeat of an acquire whose lease has ended, on a lock that has forgotten that, over a daemon
// that grants nothing now though no quarantine runs.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "redis/format/lock_record.h"
#include "scripts/script_calls.h"
#include "scripts/twin_servers.h"

namespace lockkeeper::support {
namespace {

using Strings = std::vector<std::string>;

constexpr int64_t kGranted = 1;
constexpr int64_t kEnded = 4;
constexpr int64_t kWaits = 5;
constexpr int64_t kRefused = 9;
constexpr char kOldNumber[] = " 0000000000000001";

class RepeatScriptTest : public testing::TestWithParam<std::string> {
 protected:
  RepeatScriptTest() { EXPECT_TRUE(servers_.RunAll(LoadCommands())); }

  int64_t Call(const redis::ScriptSource& script, const Strings& arguments,
               const CommonArguments& common = {}) {
    const Strings call = CallOf(script, 2, KeysOfLock("a", 2), arguments, common);
    return servers_.Run({call.begin(), call.end()}).items.at(1).integer;
  }

  int64_t Acquire(const core::LeaseId& id, int32_t attempt, const std::string& old_number,
                  const CommonArguments& common) {
    core::AcquireRequest request = ScriptAcquire(id);
    request.attempt = attempt;
    Strings arguments = AcquireArguments(request, /*waiters_max=*/20);
    arguments.back() += old_number;
    return Call(redis::kAcquireScript, arguments, common);
  }

  void HoldOnce(const core::LeaseId& id) {
    ASSERT_EQ(Acquire(id, 1, "", {}), kGranted);
    ASSERT_EQ(Call(redis::kReleaseScript, {redis::EncodeLeaseId(id), ""}), 1);
  }

  // More leases than a record remembers.
  void ChangeHands() {
    for (uint64_t i = 1'000; i < 1'100; ++i) HoldOnce(ScriptId(i));
  }

  TwinServers servers_{GetParam()};
  const CommonArguments holds_back_{.grants_from = "9999999999999999"};
};

TEST_P(RepeatScriptTest, OneThatMayHaveEndedDoesNotStandInLine) {
  HoldOnce(ScriptId(1));
  ChangeHands();

  EXPECT_EQ(Acquire(ScriptId(1), 1, kOldNumber, holds_back_), kRefused);
  EXPECT_EQ(Acquire(ScriptId(1), 2, "", holds_back_), kRefused);

  EXPECT_EQ(Acquire(ScriptId(1), 1, kOldNumber, {}), kEnded) << "by a daemon that grants";
}

TEST_P(RepeatScriptTest, OneThatStandsInLineKeepsItsPlace) {
  ChangeHands();
  ASSERT_EQ(Acquire(ScriptId(1), 1, "", {}), kGranted);
  ASSERT_EQ(Acquire(ScriptId(2), 1, "", {}), kWaits);

  EXPECT_EQ(Acquire(ScriptId(2), 2, "", holds_back_), kWaits);
}

TEST_P(RepeatScriptTest, OneStandsAgainOnALockThatHasForgottenNothing) {
  EXPECT_EQ(Acquire(ScriptId(1), 1, kOldNumber, holds_back_), kWaits);
}

INSTANTIATE_TEST_SUITE_P(Servers, RepeatScriptTest, testing::ValuesIn(InstalledServers()));

}  // namespace
}  // namespace lockkeeper::support
