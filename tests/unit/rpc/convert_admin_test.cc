// SPDX-License-Identifier: Apache-2.0
#include "rpc/convert_admin.h"

#include <gtest/gtest.h>

#include "core/errors.h"
#include "core/limits.h"

namespace lockkeeper::rpc {
namespace {

using core::Millis;

TEST(ConvertAdminTest, GetLockNeedsAName) {
  admin::v1::GetLockRequest from;
  GetLockRequest request;
  EXPECT_EQ(core::FieldOf(ToCore(from, request)), "name");
  from.set_name("n");
  ASSERT_TRUE(ToCore(from, request).ok());
  EXPECT_EQ(request.name, "n");
}

TEST(ConvertAdminTest, ListLocksHasDefaults) {
  core::ListRequest request;

  ASSERT_TRUE(ToCore(admin::v1::ListLocksRequest{}, request).ok());

  EXPECT_EQ(request.prefix, "");
  EXPECT_EQ(request.page_size, core::limits::kPageSizeDefault);
  EXPECT_EQ(request.page_token, "");
  EXPECT_EQ(request.ended, core::EndedLocks::kLeaveOut);
}

TEST(ConvertAdminTest, ListLocksCarriesAllFields) {
  admin::v1::ListLocksRequest from;
  from.set_prefix("jobs/");
  from.set_page_size(7);
  from.set_page_token("t");
  from.set_include_ended(true);
  core::ListRequest request;

  ASSERT_TRUE(ToCore(from, request).ok());

  EXPECT_EQ(request.prefix, "jobs/");
  EXPECT_EQ(request.page_size, 7);
  EXPECT_EQ(request.page_token, "t");
  EXPECT_EQ(request.ended, core::EndedLocks::kInclude);
}

TEST(ConvertAdminTest, BadListFieldsAreNamed) {
  core::ListRequest request;
  admin::v1::ListLocksRequest from;
  from.set_page_size(-1);
  EXPECT_EQ(core::FieldOf(ToCore(from, request)), "page_size");
  from.set_page_size(core::limits::kPageSizeMax + 1);
  EXPECT_EQ(core::FieldOf(ToCore(from, request)), "page_size");
  from.set_page_size(1);
  from.set_prefix(std::string(core::limits::kNameBytesMax + 1, 'p'));
  EXPECT_EQ(core::FieldOf(ToCore(from, request)), "prefix");
  from.clear_prefix();
  from.set_page_token(std::string(core::limits::kPageTokenBytesMax + 1, 't'));
  EXPECT_EQ(core::FieldOf(ToCore(from, request)), "page_token");
}

TEST(ConvertAdminTest, ForceReleaseNeedsNameAndReason) {
  admin::v1::ForceReleaseRequest from;
  AuditedForceRelease request;
  from.set_reason("r");
  EXPECT_EQ(core::FieldOf(ToCore(from, request)), "name");
  from.set_name("n");
  from.clear_reason();
  EXPECT_EQ(core::FieldOf(ToCore(from, request)), "reason");
  from.set_reason(std::string(core::limits::kReasonBytesMax + 1, 'r'));
  EXPECT_EQ(core::FieldOf(ToCore(from, request)), "reason");
  from.set_reason("stuck\nsince noon");
  EXPECT_EQ(core::FieldOf(ToCore(from, request)), "reason");
}

TEST(ConvertAdminTest, ForceReleaseTakesWhoAsks) {
  admin::v1::ForceReleaseRequest from;
  AuditedForceRelease request;
  from.set_name("n");
  from.set_reason("r");
  from.set_owner("ada@desk");
  ASSERT_TRUE(ToCore(from, request).ok());
  EXPECT_EQ(request.owner, "ada@desk");
  from.set_owner(std::string(core::limits::kOwnerBytesMax + 1, 'o'));
  EXPECT_EQ(core::FieldOf(ToCore(from, request)), "owner");
}

TEST(ConvertAdminTest, ForceReleaseWaitsForTheHolderUnlessTold) {
  admin::v1::ForceReleaseRequest from;
  from.set_name("n");
  from.set_reason("stuck");
  AuditedForceRelease request;

  ASSERT_TRUE(ToCore(from, request).ok());
  EXPECT_EQ(request.request.delay, core::ReleaseDelay::kHoldersRemainingTtl);
  EXPECT_EQ(request.reason, "stuck");

  from.set_now(true);
  ASSERT_TRUE(ToCore(from, request).ok());
  EXPECT_EQ(request.request.delay, core::ReleaseDelay::kNone);
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
      .remaining_ttl = core::Micros(20'000'001),
      .closed_for = core::Micros(25'000'000),
      .acquired = {1'700'000'000'000'000},
      .lease_end = {1'700'000'030'000'000},
      .waiters = 4,
      .last_end = core::LeaseEnd::kWithdrawn,
  };
}

TEST(ConvertAdminTest, LockCarriesAllFields) {
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
  EXPECT_EQ(lock.remaining_ttl().nanos(), 1'000);
  EXPECT_EQ(lock.closed_for().seconds(), 25);
  EXPECT_EQ(lock.acquire_time().seconds(), 1'700'000'000);
  EXPECT_EQ(lock.expire_time().seconds(), 1'700'000'030);
  EXPECT_EQ(lock.waiters(), 4);
  EXPECT_EQ(lock.last_end(), admin::v1::LEASE_END_WITHDRAWN);
}

TEST(ConvertAdminTest, LockWithoutRecordLeavesTheResponseEmpty) {
  admin::v1::GetLockResponse response;
  ToProto(std::optional<core::LockInfo>(), response);
  EXPECT_FALSE(response.has_lock());
}

TEST(ConvertAdminTest, PageCarriesLocksTokenAndUnreadable) {
  admin::v1::ListLocksResponse response;

  ToProto(core::LockPage{{HeldLock(), HeldLock()}, "next", 3}, response);

  EXPECT_EQ(response.locks_size(), 2);
  EXPECT_EQ(response.locks(1).name(), "n");
  EXPECT_EQ(response.next_page_token(), "next");
  EXPECT_EQ(response.unreadable(), 3);
}

TEST(ConvertAdminTest, ForceReleaseAnswerCarriesAllFields) {
  admin::v1::ForceReleaseResponse response;

  ToProto(core::ForceReleaseAnswer{true, {43}, core::Micros(1'000'000), "host-1"}, response);

  EXPECT_TRUE(response.released());
  EXPECT_EQ(response.fencing_token(), 43);
  EXPECT_EQ(response.closed_for().seconds(), 1);
  EXPECT_EQ(response.holder_owner(), "host-1");
}

TEST(ConvertAdminTest, EnumsHaveTheNumbersOfTheirMessages) {
  EXPECT_EQ(static_cast<int>(core::LockState::kHeld), admin::v1::LOCK_STATE_HELD);
  EXPECT_EQ(static_cast<int>(core::LockState::kOffered), admin::v1::LOCK_STATE_OFFERED);
  EXPECT_EQ(static_cast<int>(core::LockState::kEnded), admin::v1::LOCK_STATE_ENDED);
  EXPECT_EQ(static_cast<int>(core::LeaseEnd::kNone), admin::v1::LEASE_END_UNSPECIFIED);
  EXPECT_EQ(static_cast<int>(core::LeaseEnd::kReleased), admin::v1::LEASE_END_RELEASED);
  EXPECT_EQ(static_cast<int>(core::LeaseEnd::kExpired), admin::v1::LEASE_END_EXPIRED);
  EXPECT_EQ(static_cast<int>(core::LeaseEnd::kForced), admin::v1::LEASE_END_FORCED);
  EXPECT_EQ(static_cast<int>(core::LeaseEnd::kWithdrawn), admin::v1::LEASE_END_WITHDRAWN);
}

}  // namespace
}  // namespace lockkeeper::rpc
