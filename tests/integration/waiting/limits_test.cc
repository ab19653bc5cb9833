// SPDX-License-Identifier: Apache-2.0
// How many may wait, by the configuration of the daemon.
#include <gmock/gmock.h>

#include "integration/waiting/fixture.h"

namespace lockkeeper {
namespace {

using testing::HasSubstr;
using LimitsTest = WaitingTest;

TEST_F(LimitsTest, LineOfALockHasALimitOverAllDaemons) {
  const Settings settings = {{"LOCKKEEPERD_WAITERS_PER_LOCK_MAX", "2"}};
  Replica first(redis_, settings), second(redis_, settings);
  Hold(first, "n", 1);
  Hold(first, "m", 9);
  const auto one = StandInLine(first, 2, 1);
  const auto two = StandInLine(second, 3, 2);

  const auto refused = first.client->Acquire(Request("n", 4));
  const WaitingCall at_another_lock(*first.client, Request("m", 5));

  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused.reason, "WAITER_LIMIT");
  EXPECT_THAT(refused.status.error_message(), HasSubstr("2 waiters"));
  EXPECT_THAT(refused.status.error_message(), HasSubstr("waiters.per_lock_max"));
  EXPECT_TRUE(
      Eventually([&] { return first.client->GetLock("m").response.lock().waiters() == 1; }));

  one->Cancel();
  ASSERT_TRUE(WaitForWaiters(first, 1));
  StandInLine(first, 6, 2);
}

TEST_F(LimitsTest, PrincipalHasALimitOverAllLocks) {
  Replica limited(redis_, {{"LOCKKEEPERD_WAITERS_PER_PRINCIPAL_MAX", "2"}});
  Hold(limited, "n", 1);
  Hold(limited, "m", 2);
  const auto one = StandInLine(limited, 3, 1);
  const WaitingCall two(*limited.client, Request("m", 4));
  ASSERT_TRUE(
      Eventually([&] { return limited.client->GetLock("m").response.lock().waiters() == 1; }));

  const auto refused = limited.client->Acquire(Request("n", 5));
  v1::AcquireRequest only_tries = Request("n", 6);
  only_tries.clear_wait_timeout();

  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused.reason, "WAITER_LIMIT");
  EXPECT_THAT(refused.status.error_message(), HasSubstr("at most 2"));
  EXPECT_THAT(refused.status.error_message(), HasSubstr("waiters.per_principal_max"));
  EXPECT_TRUE(limited.client->Acquire(only_tries).response.has_contention());

  one->Cancel();
  ASSERT_TRUE(WaitForWaiters(limited, 0));
  StandInLine(limited, 7, 1);
}

}  // namespace
}  // namespace lockkeeper
