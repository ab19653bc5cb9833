// SPDX-License-Identifier: Apache-2.0
#include "rpc/answer.h"

#include <gtest/gtest.h>

namespace lockkeeper::rpc {
namespace {

using core::Millis;

constexpr char kLeaseId[] = "00112233445566778899aabbccddeeff";

TEST(AnswerTest, OfferThatCameAsAMessageHasNoExpireTime) {
  v1::AcquireResponse response;
  ToProto(core::AcquireAnswer(core::Lease{.name = "n", .offered = true}), response);

  EXPECT_TRUE(response.lease().offered());
  EXPECT_FALSE(response.lease().has_expire_time());
}

TEST(AnswerTest, LeaseCarriesAllFields) {
  const core::Lease from{
      .name = "n",
      .lease_id = *core::LeaseId::Parse(kLeaseId),
      .token = {42},
      .ttl = Millis(30'000),
      .remaining_ttl = core::Micros(29'999'999),
      .lease_end = {1'700'000'000'000'001},
      .waited = core::Micros(5),
      .previous_lease_expired = true,
      .offered = true,
      .assurance = core::Assurance::kReplicas,
      .reassertion = "proof",
  };
  v1::AcquireResponse response;

  ToProto(core::AcquireAnswer(from), response);

  ASSERT_TRUE(response.has_lease());
  const v1::Lease& lease = response.lease();
  EXPECT_EQ(lease.name(), "n");
  EXPECT_EQ(lease.lease_id(), kLeaseId);
  EXPECT_EQ(lease.fencing_token(), 42);
  EXPECT_EQ(lease.ttl().seconds(), 30);
  EXPECT_EQ(lease.remaining_ttl().seconds(), 29);
  EXPECT_EQ(lease.remaining_ttl().nanos(), 999'999'000);
  EXPECT_EQ(lease.expire_time().seconds(), 1'700'000'000);
  EXPECT_EQ(lease.expire_time().nanos(), 1'000);
  EXPECT_EQ(lease.waited().nanos(), 5'000);
  EXPECT_TRUE(lease.previous_lease_expired());
  EXPECT_TRUE(lease.offered());
  EXPECT_EQ(lease.assurance(), v1::ASSURANCE_REPLICAS);
  EXPECT_EQ(lease.reassertion(), "proof");
}

TEST(AnswerTest, ContentionCarriesAllFieldsAndNoLease) {
  v1::AcquireResponse response;

  ToProto(core::AcquireAnswer(core::Contention{.reason = core::ContentionReason::kWaitTimedOut,
                                               .holder_owner = "host-1",
                                               .remaining_ttl = Millis(1'500),
                                               .position = 2,
                                               .waiters = 3}),
          response);

  EXPECT_FALSE(response.has_lease());
  const v1::Contention& contention = response.contention();
  EXPECT_EQ(contention.reason(), v1::CONTENTION_REASON_WAIT_TIMED_OUT);
  EXPECT_EQ(contention.holder_owner(), "host-1");
  EXPECT_EQ(contention.remaining_ttl().seconds(), 1);
  EXPECT_EQ(contention.remaining_ttl().nanos(), 500'000'000);
  EXPECT_EQ(contention.position(), 2);
  EXPECT_EQ(contention.waiters(), 3);
}

TEST(AnswerTest, ReleaseAnswersSayWhyNot) {
  v1::ReleaseResponse response;
  ToProto(core::ReleaseAnswer{}, response);
  EXPECT_TRUE(response.released());
  EXPECT_EQ(response.reason(), v1::NOT_RELEASED_REASON_UNSPECIFIED);

  ToProto(core::ReleaseAnswer{core::NotReleasedReason::kNotHolder}, response);
  EXPECT_FALSE(response.released());
  EXPECT_EQ(response.reason(), v1::NOT_RELEASED_REASON_NOT_HOLDER);
}

TEST(AnswerTest, FenceAnswersCarryTheNewestToken) {
  v1::FenceResponse response;
  ToProto(core::FenceAnswer{core::Verdict::kStale, {9}}, response);
  EXPECT_EQ(response.verdict(), v1::VERDICT_STALE);
  EXPECT_EQ(response.newest_fencing_token(), 9);
}

// The domain's enums are cast, so their numbers have to be the messages'.
TEST(AnswerTest, EnumsHaveTheNumbersOfTheirMessages) {
  EXPECT_EQ(static_cast<int>(core::Assurance::kNone), v1::ASSURANCE_UNSPECIFIED);
  EXPECT_EQ(static_cast<int>(core::Assurance::kMemory), v1::ASSURANCE_MEMORY);
  EXPECT_EQ(static_cast<int>(core::Assurance::kDisk), v1::ASSURANCE_DISK);
  EXPECT_EQ(static_cast<int>(core::Assurance::kReplicas), v1::ASSURANCE_REPLICAS);
  EXPECT_EQ(static_cast<int>(core::Assurance::kQuorum), v1::ASSURANCE_QUORUM);
  EXPECT_EQ(static_cast<int>(core::ContentionReason::kHeld), v1::CONTENTION_REASON_HELD);
  EXPECT_EQ(static_cast<int>(core::ContentionReason::kWaitTimedOut),
            v1::CONTENTION_REASON_WAIT_TIMED_OUT);
  EXPECT_EQ(static_cast<int>(core::ContentionReason::kCancelled), v1::CONTENTION_REASON_CANCELLED);
  EXPECT_EQ(static_cast<int>(core::ContentionReason::kClosed), v1::CONTENTION_REASON_CLOSED);
  EXPECT_EQ(static_cast<int>(core::NotReleasedReason::kNone), v1::NOT_RELEASED_REASON_UNSPECIFIED);
  EXPECT_EQ(static_cast<int>(core::NotReleasedReason::kExpired), v1::NOT_RELEASED_REASON_EXPIRED);
  EXPECT_EQ(static_cast<int>(core::NotReleasedReason::kNotHolder),
            v1::NOT_RELEASED_REASON_NOT_HOLDER);
  EXPECT_EQ(static_cast<int>(core::NotReleasedReason::kWaiterRemoved),
            v1::NOT_RELEASED_REASON_WAITER_REMOVED);
  EXPECT_EQ(static_cast<int>(core::Verdict::kAdmitted), v1::VERDICT_ADMITTED);
  EXPECT_EQ(static_cast<int>(core::Verdict::kStale), v1::VERDICT_STALE);
  EXPECT_EQ(static_cast<int>(core::Verdict::kExpired), v1::VERDICT_EXPIRED);
  EXPECT_EQ(static_cast<int>(core::Verdict::kUnknownToken), v1::VERDICT_UNKNOWN_TOKEN);
}

core::LockInfo HeldLock() {
  return {
      .name = "n",
      .state = core::LockState::kHeld,
      .token = {42},
      .owner = "host-1",
      .principal = "alice",
      .labels = {{"k", "v"}},
      .ttl = Millis(30'000),
      .lock_delay = Millis(5'000),
      .max_hold = Millis(60'000),
      .hold_at_least = Millis(90'000),
      .remaining_ttl = core::Micros(20'000'001),
      .closed_for = core::Micros(25'000'000),
      .acquired = {1'700'000'000'000'000},
      .lease_end = {1'700'000'030'000'000},
      .waiters = 4,
      .last_end = core::LeaseEnd::kWithdrawn,
  };
}

TEST(AnswerTest, LockCarriesAllFields) {
  admin::v1::GetLockResponse response;

  ToProto(std::optional(HeldLock()), response);

  const admin::v1::Lock& lock = response.lock();
  EXPECT_EQ(lock.name(), "n");
  EXPECT_EQ(lock.state(), admin::v1::LOCK_STATE_HELD);
  EXPECT_EQ(lock.fencing_token(), 42);
  EXPECT_EQ(lock.owner(), "host-1");
  EXPECT_EQ(lock.principal(), "alice");
  EXPECT_EQ(lock.labels().at("k"), "v");
  EXPECT_EQ(lock.ttl().seconds(), 30);
  EXPECT_EQ(lock.lock_delay().seconds(), 5);
  EXPECT_EQ(lock.max_hold().seconds(), 60);
  EXPECT_EQ(lock.hold_at_least().seconds(), 90);
  EXPECT_EQ(lock.remaining_ttl().nanos(), 1'000);
  EXPECT_EQ(lock.closed_for().seconds(), 25);
  EXPECT_EQ(lock.acquire_time().seconds(), 1'700'000'000);
  EXPECT_EQ(lock.expire_time().seconds(), 1'700'000'030);
  EXPECT_EQ(lock.waiters(), 4);
  EXPECT_EQ(lock.last_end(), admin::v1::LEASE_END_WITHDRAWN);
}

TEST(AnswerTest, LockWithoutRecordLeavesTheResponseEmpty) {
  admin::v1::GetLockResponse response;
  ToProto(std::optional<core::LockInfo>(), response);
  EXPECT_FALSE(response.has_lock());
}

TEST(AnswerTest, PageCarriesLocksTokenAndUnreadable) {
  admin::v1::ListLocksResponse response;

  ToProto(core::LockPage{{HeldLock(), HeldLock()}, "next", 3}, response);

  EXPECT_EQ(response.locks_size(), 2);
  EXPECT_EQ(response.locks(1).name(), "n");
  EXPECT_EQ(response.next_page_token(), "next");
  EXPECT_EQ(response.unreadable(), 3);
}

TEST(AnswerTest, ForceReleaseAnswerCarriesAllFields) {
  admin::v1::ForceReleaseResponse response;

  ToProto(core::ForceReleaseAnswer{true, {43}, core::Micros(1'000'000), "host-1"}, response);

  EXPECT_TRUE(response.released());
  EXPECT_EQ(response.fencing_token(), 43);
  EXPECT_EQ(response.closed_for().seconds(), 1);
  EXPECT_EQ(response.holder_owner(), "host-1");
}

TEST(AnswerTest, AdminEnumsHaveTheNumbersOfTheirMessages) {
  EXPECT_EQ(static_cast<int>(core::LockState::kHeld), admin::v1::LOCK_STATE_HELD);
  EXPECT_EQ(static_cast<int>(core::LockState::kOffered), admin::v1::LOCK_STATE_OFFERED);
  EXPECT_EQ(static_cast<int>(core::LockState::kEnded), admin::v1::LOCK_STATE_ENDED);
  EXPECT_EQ(static_cast<int>(core::LockState::kUnproven), admin::v1::LOCK_STATE_UNPROVEN);
  EXPECT_EQ(static_cast<int>(core::LeaseEnd::kNone), admin::v1::LEASE_END_UNSPECIFIED);
  EXPECT_EQ(static_cast<int>(core::LeaseEnd::kReleased), admin::v1::LEASE_END_RELEASED);
  EXPECT_EQ(static_cast<int>(core::LeaseEnd::kExpired), admin::v1::LEASE_END_EXPIRED);
  EXPECT_EQ(static_cast<int>(core::LeaseEnd::kForced), admin::v1::LEASE_END_FORCED);
  EXPECT_EQ(static_cast<int>(core::LeaseEnd::kWithdrawn), admin::v1::LEASE_END_WITHDRAWN);
}

}  // namespace
}  // namespace lockkeeper::rpc
