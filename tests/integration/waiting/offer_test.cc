// SPDX-License-Identifier: Apache-2.0
// Clients that claim by themselves what they waited for.
#include <gmock/gmock.h>

#include "integration/waiting/fixture.h"

namespace lockkeeper {
namespace {

class OfferTest : public WaitingTest {
 protected:
  static v1::AcquireRequest Confirming(int lease_number, int attempt = 1) {
    v1::AcquireRequest request = Request("n", lease_number);
    request.set_confirm(true);
    request.set_attempt(attempt);
    return request;
  }

  static admin::v1::LockState StateOf(Replica& at) {
    return at.client->GetLock("n").response.lock().state();
  }
};

// An offer runs for a second: a client that is slower gets the next one, for its next attempt.
TEST_F(OfferTest, FirstExtendClaimsTheOffer) {
  Replica first(redis_), second(redis_);
  Hold(first, "n", 1);
  auto waiter = std::make_unique<WaitingCall>(*second.client, Confirming(2));
  ASSERT_TRUE(WaitForWaiters(first, 1));
  Release(first, "n", 1);

  constexpr int kTries = 20;
  for (int attempt = 2; attempt < kTries; ++attempt) {
    ASSERT_TRUE(waiter->response().has_lease()) << waiter->status().error_message();
    const v1::Lease offer = waiter->lease();
    EXPECT_TRUE(offer.offered());
    EXPECT_EQ(offer.ttl().seconds(), 60) << "what the lease will have";
    EXPECT_LE(offer.remaining_ttl().seconds(), 1);
    const auto claimed = first.client->Extend(support::ExtendOf("n", Id(2)));
    if (claimed.reason == "LEASE_LOST") {
      waiter = std::make_unique<WaitingCall>(*second.client, Confirming(2, attempt));
      continue;
    }

    EXPECT_EQ(claimed.response.lease().fencing_token(), offer.fencing_token());
    EXPECT_GT(claimed.response.lease().remaining_ttl().seconds(), 1);
    EXPECT_FALSE(claimed.response.lease().offered());
    EXPECT_EQ(StateOf(first), admin::v1::LOCK_STATE_HELD);
    Release(second, "n", 2);
    EXPECT_TRUE(LineIsGone());
    return;
  }
  FAIL() << "no claim came in time";
}

TEST_F(OfferTest, OfferThatNobodyClaimsGoesToTheNextAndWasNoLease) {
  Replica first(redis_), second(redis_);
  Hold(first, "n", 1);
  WaitingCall silent(*first.client, Confirming(2));
  ASSERT_TRUE(WaitForWaiters(first, 1));
  const auto next = StandInLine(second, 3, 2);

  Release(first, "n", 1);

  ASSERT_TRUE(silent.lease().offered()) << silent.status().error_message();
  ASSERT_TRUE(next->response().has_lease()) << next->status().error_message();
  EXPECT_GT(next->lease().fencing_token(), silent.lease().fencing_token());
  EXPECT_FALSE(next->lease().previous_lease_expired());
  EXPECT_EQ(first.client->Extend(support::ExtendOf("n", Id(2))).reason, "LEASE_LOST");
}

TEST_F(OfferTest, OfferThatIsReleasedGoesToTheNextAtOnce) {
  Replica first(redis_), second(redis_);
  Hold(first, "n", 1);
  WaitingCall declining(*first.client, Confirming(2));
  ASSERT_TRUE(WaitForWaiters(first, 1));
  const auto next = StandInLine(second, 3, 2);
  Release(first, "n", 1);
  ASSERT_TRUE(declining.lease().offered()) << declining.status().error_message();

  const auto released = first.client->Release(support::ReleaseOf("n", Id(2)));

  EXPECT_FALSE(released.response.released());
  EXPECT_TRUE(next->response().has_lease()) << next->status().error_message();
}

TEST_F(OfferTest, LockThatIsFreeIsGrantedWithoutAnOffer) {
  Replica replica(redis_);

  const auto granted = replica.client->Acquire(Confirming(1));

  ASSERT_TRUE(granted.response.has_lease()) << granted.status.error_message();
  EXPECT_FALSE(granted.response.lease().offered());
}

}  // namespace
}  // namespace lockkeeper
