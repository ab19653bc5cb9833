// SPDX-License-Identifier: Apache-2.0
#include "rpc/fair_share.h"

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <vector>

#include "support/manual_clock.h"
#include "support/manual_executor.h"

namespace lockkeeper::rpc {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

class FairShareTest : public testing::Test {
 protected:
  // Each step gives the store an operation.
  void Run(const std::string& principal, const std::string& step) {
    share_->Run(principal, [this, step] {
      ran_.push_back(step);
      ++under_way_;
    });
  }
  void Answer(size_t operations) {
    under_way_ -= operations;
    loop_.AdvanceBy(milliseconds(1));
  }
  std::vector<std::string> TakeRan() { return std::exchange(ran_, {}); }

  support::ManualClock clock_;
  support::ManualExecutor loop_{clock_};
  size_t under_way_ = 0;
  std::vector<std::string> ran_;
  std::unique_ptr<FairShare> share_ =
      std::make_unique<FairShare>(loop_, clock_, [this] { return under_way_; });
};

TEST_F(FairShareTest, RunsAtOnceWhatTheStoreCanTake) {
  under_way_ = kOperationsUnderWayMax - 1;
  Run("ann", "a1");
  EXPECT_THAT(TakeRan(), ElementsAre("a1"));
  Run("ann", "a2");
  EXPECT_THAT(TakeRan(), IsEmpty());
  Answer(1);
  EXPECT_THAT(TakeRan(), ElementsAre("a2"));
}

TEST_F(FairShareTest, PrincipalsTakeTurnsHoweverMuchEachAsksFor) {
  under_way_ = kOperationsUnderWayMax;
  for (const char* step : {"a1", "a2", "a3", "a4"}) Run("ann", step);
  Run("bob", "b1");
  Run("bob", "b2");
  Run("", "c1");
  Answer(3);
  EXPECT_THAT(TakeRan(), ElementsAre("a1", "b1", "c1"));
  Answer(2);
  EXPECT_THAT(TakeRan(), ElementsAre("a2", "b2"));
  Answer(kOperationsUnderWayMax);
  EXPECT_THAT(TakeRan(), ElementsAre("a3", "a4"));
}

TEST_F(FairShareTest, StepThatComesLaterDoesNotOvertakeItsPrincipal) {
  under_way_ = kOperationsUnderWayMax;
  Run("ann", "a1");
  under_way_ = 0;  // The store has answered, and "a1" has not run yet.
  Run("ann", "a2");
  EXPECT_THAT(TakeRan(), IsEmpty());
  Answer(0);
  EXPECT_THAT(TakeRan(), ElementsAre("a1", "a2"));
}

TEST_F(FairShareTest, StepMayAskForAnother) {
  under_way_ = kOperationsUnderWayMax;
  share_->Run("ann", [this] { Run("ann", "inner"); });
  Run("ann", "outer");
  Answer(2);
  EXPECT_THAT(TakeRan(), ElementsAre("outer", "inner"));
}

TEST_F(FairShareTest, StoreThatDoesNotAnswerHoldsNobodyForLong) {
  under_way_ = kOperationsUnderWayMax;
  Run("ann", "a1");
  loop_.AdvanceBy(kStoreSilenceMax - milliseconds(2));
  EXPECT_THAT(TakeRan(), IsEmpty());
  Run("ann", "a2");
  loop_.AdvanceBy(milliseconds(3));
  EXPECT_THAT(TakeRan(), ElementsAre("a1", "a2"));
  Run("ann", "a3");
  loop_.AdvanceBy(kStoreSilenceMax + milliseconds(1));
  EXPECT_THAT(TakeRan(), ElementsAre("a3"));
  EXPECT_EQ(loop_.NextTimer(), std::nullopt);  // Nothing looks at the store for nobody.
}

TEST_F(FairShareTest, WhoHasMoreOutstandingThanTheStoreTakesInThatTimePassesNobody) {
  under_way_ = kOperationsUnderWayMax;
  constexpr int kAnswersPerMilli = 20;
  constexpr auto kOutstanding = 3 * kAnswersPerMilli * kStoreSilenceMax / milliseconds(1);
  for (auto i = kOutstanding; i > 0; --i) Run("ann", "a");

  for (auto past = milliseconds(0); past < 2 * kStoreSilenceMax; past += milliseconds(1)) {
    Answer(kAnswersPerMilli);
    ASSERT_EQ(under_way_, kOperationsUnderWayMax)
        << "what the others wait for, after " << past.count();
  }
  TakeRan();
  Run("bob", "b");
  Answer(2);
  EXPECT_THAT(TakeRan(), ElementsAre("a", "b"));
}

TEST_F(FairShareTest, TooMuchGoesToTheDomainToBeRejected) {
  under_way_ = kOperationsUnderWayMax;
  constexpr size_t kMany = 70'000;
  for (size_t i = 0; i < kMany; ++i) Run("ann", "a");
  Answer(0);
  EXPECT_EQ(TakeRan().size(), kMany - 65'536);
}

TEST_F(FairShareTest, EndsOnTheLoop) {
  share_ = nullptr;
  loop_.RunUntilIdle();
  EXPECT_EQ(loop_.NextTimer(), std::nullopt);
}

}  // namespace
}  // namespace lockkeeper::rpc
