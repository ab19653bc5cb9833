// SPDX-License-Identifier: Apache-2.0
//
// Operations that are asked for together go to the server together; on each lock they take effect
// in the order of asking all the same.
#include <vector>

#include "contract/store_contract.h"
#include "core/limits.h"

namespace lockkeeper::support {
namespace {

using core::AcquireAnswer;
using core::Lease;

class OrderContract : public StoreContract {
 protected:
  core::LockStore& locks() { return world_->ports(0).locks; }

  static bool IsLease(const Answer<AcquireAnswer>& answer) {
    return answer.value().ok() && std::holds_alternative<Lease>(*answer.value());
  }
};

TEST_P(OrderContract, OperationsOfOneTurnOnOneLockTakeEffectInOrder) {
  Answer<AcquireAnswer> first;
  Answer<AcquireAnswer> refused;
  Answer<Lease> extended;
  Answer<core::ReleaseAnswer> released;
  Answer<Lease> lost;
  Answer<AcquireAnswer> second;
  Answer<core::FenceAnswer> unknown;

  world_->OnLoop([&] {
    locks().Acquire(AcquireOf("a", Id(1)), first.Into());
    locks().Acquire(AcquireOf("a", Id(2)), refused.Into());
    locks().Extend(ExtendOf("a", Id(1)), extended.Into());
    locks().Release(ReleaseOf("a", Id(1)), released.Into());
    locks().Extend(ExtendOf("a", Id(1)), lost.Into());
    locks().Acquire(AcquireOf("a", Id(2)), second.Into());
    locks().Fence(FenceOf("a", core::FencingToken{core::limits::kTokenMax}), unknown.Into());
  });

  ASSERT_TRUE(Await(unknown));
  EXPECT_TRUE(IsLease(first));
  EXPECT_TRUE(refused.value().ok() && !IsLease(refused));
  EXPECT_TRUE(extended.value().ok());
  ASSERT_TRUE(released.value().ok());
  EXPECT_TRUE(released.value()->released());
  EXPECT_EQ(ReasonOf(lost.value()), ErrorReason::kLeaseLost);
  ASSERT_TRUE(IsLease(second));
  EXPECT_EQ(unknown.value()->newest, std::get<Lease>(*second.value()).token);
}

TEST_P(OrderContract, FirstOfManyAcquiresOfOneTurnIsGranted) {
  std::vector<Answer<AcquireAnswer>> answers(100);
  world_->OnLoop([&] {
    for (size_t i = 0; i < answers.size(); ++i) {
      locks().Acquire(AcquireOf("a", Id(i)), answers[i].Into());
    }
  });

  for (size_t i = 0; i < answers.size(); ++i) {
    ASSERT_TRUE(Await(answers[i]));
    EXPECT_EQ(IsLease(answers[i]), i == 0) << i;
  }
}

TEST_P(OrderContract, AnswersFindTheirOwners) {
  std::vector<Answer<AcquireAnswer>> answers(200);
  world_->OnLoop([&] {
    for (size_t i = 0; i < answers.size(); ++i) {
      core::AcquireRequest request = AcquireOf("lock " + std::to_string(i), Id(i));
      request.ttl = Millis(1'000 + static_cast<int64_t>(i));
      locks().Acquire(request, answers[i].Into());
    }
  });

  for (size_t i = 0; i < answers.size(); ++i) {
    ASSERT_TRUE(Await(answers[i]));
    ASSERT_TRUE(IsLease(answers[i])) << i;
    const Lease& lease = std::get<Lease>(*answers[i].value());
    EXPECT_EQ(lease.name, "lock " + std::to_string(i));
    EXPECT_EQ(lease.lease_id, Id(i));
    EXPECT_EQ(lease.ttl, Millis(1'000 + static_cast<int64_t>(i)));
  }
}

LOCKKEEPER_CONTRACT_SUITE(OrderContract);

}  // namespace
}  // namespace lockkeeper::support
