// SPDX-License-Identifier: Apache-2.0
// Which leases a session lets count against its client's quota.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "unit/core/session_fixture.h"

namespace lockkeeper::core {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class SessionCountTest : public SessionTest {
 protected:
  Instant End() const { return clock_.Now() + kTtl; }
  void HoldAll(std::initializer_list<const char*> names) {
    for (const char* name : names) Hold(name);
  }
  void Run(uint64_t id, const ReleaseRequest& request) { session_->Run({id, request}); }
};

TEST_F(SessionCountTest, LeasesThatRunOnCountWhenTheyAreLeft) {
  HoldAll({"a", "b", "c", "d"});
  const Instant end = End();
  session_->Forget("a", Id("a"));
  session_->Forget("x", Id("x"));
  Run(6, Release("b"));
  EXPECT_THAT(count_->Left(), ElementsAre(Pair("a", end)));
  store_.releases.Answer(Away());
  Run(7, Release("c"));
  store_.releases.Answer(ReleaseAnswer{});
  EXPECT_THAT(count_->Left(), ElementsAre(Pair("a", end), Pair("b", end))) << "c is released";
  EXPECT_THAT(count_->KeptNames(), ElementsAre("d"));

  session_->Break();
  EXPECT_THAT(count_->Left(), ElementsAre(Pair("a", end), Pair("b", end), Pair("d", end)));
  EXPECT_THAT(count_->KeptNames(), IsEmpty());
}

TEST_F(SessionCountTest, WhatIsInFlightAtTheBreakCounts) {
  HoldAll({"a", "b", "c", "d", "e"});
  Pass(seconds(11));
  StartHeartbeat();
  EXPECT_EQ(store_.extends.size(), 5U);
  Run(6, Release("b"));
  Run(7, Release("c"));
  session_->Forget("d", Id("d"));
  session_->Break();
  const Instant end = End();
  for (const char* name : {"a", "b", "c", "d"}) store_.extends.Answer(Granted(name));
  store_.extends.Answer(Lost());
  store_.releases.Answer(ReleaseAnswer{});
  store_.releases.Answer(Away());
  EXPECT_THAT(count_->Left(), ElementsAre(Pair("a", end), Pair("c", end), Pair("d", end)));
  EXPECT_THAT(count_->KeptNames(), IsEmpty());
}

TEST_F(SessionCountTest, OperationsInFlightAtTheBreakCount) {
  HoldAll({"a", "b"});
  TellOffer("o");
  EXPECT_THAT(count_->Left(), ElementsAre(Pair("o", clock_.Now() + seconds(1))));
  for (const char* name : {"a", "b", "o"}) session_->Run({2, Extend(name)});
  Caught<Lease> adopted;
  session_->Adopt(Adoption("z"), adopted.Into());
  session_->Break();
  Pass(seconds(5));
  const Instant end = End();
  store_.extends.Answer(Granted("a"));
  store_.extends.Answer(Lost());
  store_.extends.Answer(Granted("o"));
  store_.extends.Answer(Granted("z"));
  EXPECT_THAT(count_->Left(), ElementsAre(Pair("a", end), Pair("o", end)));
  EXPECT_THAT(count_->KeptNames(), IsEmpty());
}

TEST_F(SessionCountTest, LeaseGrantedAfterAWaitCountsToItsEnd) {
  session_->Run({1, Acquire("a", seconds(60))});
  Pass(seconds(40));
  store_.acquires.Answer(AcquireOutcome(Granted("a")));
  const Instant end = End();
  session_->Break();
  EXPECT_THAT(count_->Left(), ElementsAre(Pair("a", end)));
}

TEST_F(SessionCountTest, LastExtensionBeforeMaxHoldCounts) {
  HoldAll({"a"});
  Pass(seconds(11));
  StartHeartbeat();
  Lease last = Granted("a");
  last.remaining_ttl = seconds(25);
  store_.extends.Answer(last);
  const Instant end = clock_.Now() + seconds(25);
  session_->Break();
  EXPECT_THAT(count_->Left(), ElementsAre(Pair("a", end)));
}

// As after a quarantine, in which an extend whose proof was wrong found it lost.
TEST_F(SessionCountTest, LeaseThatIsBackCountsAgain) {
  HoldAll({"a"});
  count_->Ended("a", Id("a"));
  session_->Run({2, Proved("a")});
  store_.extends.Answer(Granted("a"));
  session_->Break();
  EXPECT_THAT(count_->Left(), ElementsAre(Pair("a", End())));
}

TEST_F(SessionCountTest, LeaseThatHasEndedCountsNoMore) {
  HoldAll({"a", "b"});
  session_->Run({2, Extend("a")});
  store_.extends.Answer(Lost());
  Pass(seconds(11));
  StartHeartbeat();
  store_.extends.Answer(Lost());
  EXPECT_THAT(count_->KeptNames(), IsEmpty());
  EXPECT_THAT(count_->Left(), IsEmpty());
}

TEST_F(SessionCountTest, LeaseKeptAnewCountsOnce) {
  HoldAll({"a"});
  Hold("a");
  session_->Run({2, Extend("a")});
  store_.extends.Answer(Granted("a"));
  Caught<Lease> adopted;
  session_->Adopt(Adoption("a"), adopted.Into());
  store_.extends.Answer(Granted("a"));
  EXPECT_THAT(count_->KeptNames(), ElementsAre("a"));
}

TEST_F(SessionCountTest, AdoptionWithAWrongTokenHasExtendedTheLease) {
  HoldAll({"a"});
  session_->Forget("a", Id("a"));
  Pass(seconds(5));
  Caught<Lease> adopted;
  session_->Adopt(Adoption("a"), adopted.Into());
  Lease other = Granted("a");
  other.token = FencingToken{other.token.value + 1};
  store_.extends.Answer(other);
  EXPECT_FALSE(adopted.value().ok());
  EXPECT_THAT(count_->Left(), ElementsAre(Pair("a", End())));
  EXPECT_THAT(count_->KeptNames(), IsEmpty());
}

TEST_F(SessionCountTest, ReleaseAllLeavesWhatItCannotRelease) {
  HoldAll({"a", "b", "c"});
  Caught<int32_t> released;
  session_->ReleaseAll(released.Into());
  const std::string away = store_.withdrawals.front().name;
  store_.withdrawals.Answer(Away());
  store_.withdrawals.Answer(WithdrawResult::kWithdrawn);
  const std::string kept = store_.withdrawals.front().name;
  session_->Break();
  store_.withdrawals.Answer(WithdrawResult::kKept);
  EXPECT_EQ(count_->Left().size(), 2U);
  EXPECT_TRUE(count_->Left().contains(away));
  EXPECT_TRUE(count_->Left().contains(kept)) << "somebody else has it";
  EXPECT_THAT(count_->KeptNames(), IsEmpty());
}

// A quota may come with a change of the policy.
TEST_F(SessionCountTest, LeaseFromBeforeTheQuotaCountsFromItsNextHeartbeatOn) {
  count_->is_on = false;
  HoldAll({"a", "b"});
  EXPECT_THAT(count_->KeptNames(), IsEmpty());
  count_->is_on = true;
  session_->Forget("b", Id("b"));
  EXPECT_THAT(count_->Left(), ElementsAre(Pair("b", End())));
  Pass(seconds(11));
  StartHeartbeat();
  store_.extends.Answer(Granted("a"));
  EXPECT_THAT(count_->KeptNames(), ElementsAre("a"));
}

}  // namespace
}  // namespace lockkeeper::core
