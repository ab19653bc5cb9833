// SPDX-License-Identifier: Apache-2.0
//
// What a name costs in a real Redis, and for how long: the promises of docs/reference/record.md
// ("What it costs", "How long it is kept"). The in-process server counts no bytes.
#include <algorithm>
#include <string>

#include "contract/redis/redis_contract.h"

namespace lockkeeper::support {
namespace {

using core::NotReleasedReason;

// The page says 182, measured over 100,000 names by used_memory.
constexpr int64_t kReleasedBytesMax = 200;
constexpr Millis kLockDelay{5'000};
constexpr Millis kHold{20'000};

// As long as the names that the page has measured.
const std::string kName = "orders/nightly/customers";

class RecordCostContract : public RedisContract {
 protected:
  int64_t Bytes() { return world_->Run({"MEMORY", "USAGE", KeyOf(kName)}).integer; }

  // The server's clock stands still, so this is exact to the millisecond.
  Millis KeptFor() { return Millis(world_->Run({"PTTL", KeyOf(kName)}).integer); }

  void ExpectKeptFor(Millis time) {
    EXPECT_LE(KeptFor(), time);
    EXPECT_GE(KeptFor(), time - Millis(1)) << "the clock reads odd microseconds";
  }
};

TEST_P(RecordCostContract, ReleasedNameTakesAtMostTwoHundredBytesForAMinute) {
  ASSERT_EQ(kName.size(), 24U);
  Grant(kName, Id(1));

  EXPECT_EQ(Release(kName, Id(1)), NotReleasedReason::kNone);

  EXPECT_GT(Bytes(), 0);
  EXPECT_LE(Bytes(), kReleasedBytesMax);
  ExpectKeptFor(kRetention);
  EXPECT_EQ(KeyCount(), 1) << "nothing else is left of the name";
}

TEST_P(RecordCostContract, LongOwnerAndLabelsCostNothingAfterTheRelease) {
  core::AcquireRequest request = AcquireOf(kName, Id(1));
  request.owner = std::string(256, 'o');
  request.labels = {{"job", std::string(128, 'j')}};
  Grant(request);
  const int64_t held = Bytes();

  Release(kName, Id(1));

  EXPECT_GT(held, 600);
  EXPECT_LE(Bytes(), kReleasedBytesMax);
}

TEST_P(RecordCostContract, HeldNameIsKeptForTheRestOfItsLeaseAndAMinute) {
  core::AcquireRequest request = AcquireOf(kName, Id(1));
  request.lock_delay = kLockDelay;
  Grant(request);
  ExpectKeptFor(kTtl + kLockDelay + kRetention);

  StepBy(Millis(10'000));
  Extend(ExtendOf(kName, Id(1)));

  ExpectKeptFor(kTtl + kLockDelay + kRetention);
}

TEST_P(RecordCostContract, NameThatStaysClosedAfterTheReleaseIsKeptAMinuteLonger) {
  core::AcquireRequest request = AcquireOf(kName, Id(1));
  request.hold_at_least = kHold;
  Grant(request);

  Release(kName, Id(1));

  ExpectKeptFor(kHold + kRetention);
}

std::vector<WorldKind> RealKinds() {
  std::vector<WorldKind> kinds = RedisWorldKinds();
  std::erase_if(kinds, [](const WorldKind& kind) { return kind.name == "InProcess"; });
  return kinds;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RecordCostContract);
INSTANTIATE_TEST_SUITE_P(Stores, RecordCostContract, testing::ValuesIn(RealKinds()), NameOf);

}  // namespace
}  // namespace lockkeeper::support
