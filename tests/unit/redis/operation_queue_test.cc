// SPDX-License-Identifier: Apache-2.0
// One lock of which more is asked than a healthy store carries out: that is no failure of the
// store, and costs no holder its lease.
#include "redis/operation_queue.h"

#include <chrono>
#include <map>
#include <string>

#include "core/errors.h"
#include "core/limits.h"
#include "gtest/gtest.h"
#include "redis/scripts.h"
#include "support/fake_node/fake_node.h"
#include "support/fake_node/lua_scripts.h"
#include "support/manual_clock.h"
#include "support/manual_executor.h"
#include "support/trusting_guard.h"

namespace lockkeeper::redis {
namespace {

using namespace std::chrono_literals;
using core::ErrorReason;
using core::limits::kOperationsPerLockMax;

constexpr core::Millis kLatency{50};
constexpr core::Millis kDeadline{600};
constexpr int kMany = 1'000;
const core::LeaseId kLease = core::LeaseId::FromBits(1, 1);

class OperationQueueTest : public testing::Test {
 protected:
  OperationQueueTest() {
    server_.LoadCompiledScripts();
    node_.SetNetwork(
        [](const auto&) { return support::Delivery{.reply_delay = core::Micros(kLatency)}; });
  }

  // Counts its answer, and notes how many came before.
  void Submit(Rank rank, const core::LeaseId& lease_id = {}, size_t* place = nullptr) {
    queue_.Submit({.script = &kFenceScript,
                   .lock_name = "n",
                   .arguments = CommandPart({"5", "0"}),
                   .reply_width = 2,
                   .rank = rank,
                   .lease_id = lease_id,
                   .deadline = clock_.Now() + kDeadline,
                   .done = [this, place](absl::StatusOr<OperationReply> reply) {
                     if (place != nullptr) *place = answered_;
                     ++answered_;
                     ++answers_[reply.ok() ? "ok" : NameOf(reply.status())];
                   }});
  }

  static std::string NameOf(const absl::Status& status) {
    return std::string(
        core::RowOf(core::ReasonOf(status).value_or(ErrorReason::kInvariantViolated)).name);
  }

  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  support::LuaScripts lua_;
  support::RedisModel server_{lua_, clock_};
  support::FakeNode node_{server_, clock_, executor_, {.reply_timeout = 2 * kDeadline}};
  std::map<std::string, int> answers_;
  size_t answered_ = 0;
  support::TrustingGuard guard_;
  OperationQueue queue_{node_, guard_, clock_, executor_, {}};  // Answers what is left as it ends.
};

TEST_F(OperationQueueTest, AcquireThatItsLockHasNoTimeForIsToldSo) {
  for (int i = 0; i < kMany; ++i) Submit(Rank::kNewcomer);

  executor_.AdvanceBy(1s);

  EXPECT_GT(answers_["ok"], 100);
  EXPECT_GT(answers_["RATE_LIMIT"], 100);
  EXPECT_EQ(answers_["STORE_UNAVAILABLE"], 0) << "no word of a store that is away";
  // Those of the call that was under way at the deadline.
  EXPECT_EQ(answers_["OUTCOME_UNKNOWN"], 32);
  EXPECT_EQ(answers_["ok"] + answers_["RATE_LIMIT"] + answers_["OUTCOME_UNKNOWN"], kMany);
}

TEST_F(OperationQueueTest, OtherThatItsLockHasNoTimeForIsNotRefused) {
  for (int i = 0; i < kMany; ++i) Submit(Rank::kOther);

  executor_.AdvanceBy(1s);

  EXPECT_GT(answers_["STORE_UNAVAILABLE"], 100);
  EXPECT_EQ(answers_["RATE_LIMIT"], 0) << "clients do not repeat that at once";
}

TEST_F(OperationQueueTest, StoreThatDoesNotAnswerIsAway) {
  node_.PlanNext({.fate = support::Fate::kRequestLost});
  Submit(Rank::kNewcomer);
  executor_.RunUntilIdle();
  for (int i = 0; i < 100; ++i) Submit(Rank::kNewcomer);

  executor_.AdvanceBy(kDeadline);

  EXPECT_EQ(answers_["STORE_UNAVAILABLE"], 100);
  EXPECT_EQ(answers_["RATE_LIMIT"], 0);
}

TEST_F(OperationQueueTest, AcquiresOfOneLockAreBounded) {
  for (size_t i = 0; i < kOperationsPerLockMax; ++i) Submit(Rank::kNewcomer);

  Submit(Rank::kNewcomer);
  Submit(Rank::kOther);
  EXPECT_TRUE(answers_.empty()) << "not before the call returns";
  executor_.AdvanceBy(core::Millis(1));

  EXPECT_EQ(answers_["RATE_LIMIT"], 1);
}

TEST_F(OperationQueueTest, AcquiresWhoseTimeIsOverMakeRoom) {
  node_.PlanNext({.fate = support::Fate::kReplyLost});
  Submit(Rank::kNewcomer);
  executor_.RunUntilIdle();  // Its call is under way.
  for (size_t i = 0; i < kOperationsPerLockMax; ++i) Submit(Rank::kNewcomer);
  executor_.AdvanceBy(kDeadline);
  ASSERT_EQ(answered_, kOperationsPerLockMax + 1);

  Submit(Rank::kNewcomer);
  executor_.AdvanceBy(core::Millis(1));

  EXPECT_EQ(answers_["RATE_LIMIT"], 0) << "the store is away";
}

TEST_F(OperationQueueTest, ExtendDoesNotWaitForAcquires) {
  size_t place = 0;
  for (int i = 0; i < kMany; ++i) Submit(Rank::kNewcomer);
  executor_.RunUntilIdle();  // The first call is under way.

  Submit(Rank::kRenewal, kLease, &place);
  executor_.AdvanceBy(1s);

  EXPECT_EQ(place, kOperationsPerCall);
}

TEST_F(OperationQueueTest, ExtendWaitsForWhatWasAskedOfItsLeaseBefore) {
  size_t acquired = 0;
  size_t extended = 0;
  size_t extended_again = 0;
  for (int i = 0; i < 100; ++i) Submit(Rank::kNewcomer);
  Submit(Rank::kNewcomer, kLease, &acquired);
  Submit(Rank::kRenewal, kLease, &extended);
  executor_.AdvanceBy(1s);
  EXPECT_EQ(acquired, 100U);
  EXPECT_EQ(extended, 101U);

  for (int i = 0; i < 100; ++i) Submit(Rank::kNewcomer);
  Submit(Rank::kRenewal, kLease, &extended_again);
  executor_.AdvanceBy(1s);

  EXPECT_EQ(extended_again, 102U) << "what is answered holds nothing up";
}

}  // namespace
}  // namespace lockkeeper::redis
