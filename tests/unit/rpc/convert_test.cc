// SPDX-License-Identifier: Apache-2.0
#include "rpc/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "core/errors.h"
#include "core/limits.h"

namespace lockkeeper::rpc {
namespace {

using core::Millis;
using testing::ElementsAre;
using testing::Pair;

constexpr char kLeaseId[] = "00112233445566778899aabbccddeeff";
constexpr core::ConfiguredLimits kLimits{.max_ttl = Millis(60'000)};

v1::AcquireRequest ValidAcquire() {
  v1::AcquireRequest request;
  request.set_name("jobs/nightly");
  request.set_lease_id(kLeaseId);
  return request;
}

TEST(ConvertTest, AcquireWithoutOptionsHasTheDefaults) {
  core::AcquireRequest request;

  ASSERT_TRUE(ToCore(ValidAcquire(), kLimits, request).ok());

  EXPECT_EQ(request.name, "jobs/nightly");
  EXPECT_EQ(request.lease_id.digits(), kLeaseId);
  EXPECT_EQ(request.attempt, 0);
  EXPECT_EQ(request.ttl, Millis(30'000));
  EXPECT_EQ(request.wait_timeout, Millis(0));
  EXPECT_EQ(request.owner, "");
  EXPECT_TRUE(request.labels.empty());
  EXPECT_EQ(request.lock_delay, Millis(0));
  EXPECT_EQ(request.max_hold, Millis(0));
  EXPECT_EQ(request.claim, core::ClaimMode::kByDaemon);
  EXPECT_EQ(request.min_assurance, core::Assurance::kNone);
}

TEST(ConvertTest, AcquireCarriesAllFields) {
  v1::AcquireRequest from = ValidAcquire();
  from.set_lease_id("00112233-4455-6677-8899-AABBCCDDEEFF");
  from.set_attempt(3);
  from.mutable_ttl()->set_seconds(10);
  from.set_owner("host-1");
  (*from.mutable_labels())["b"] = "2";
  (*from.mutable_labels())["a"] = "1";
  from.mutable_lock_delay()->set_seconds(5);
  from.mutable_max_hold()->set_seconds(3'600);
  from.set_confirm(true);
  from.set_min_assurance(v1::ASSURANCE_DISK);
  core::AcquireRequest request;

  ASSERT_TRUE(ToCore(from, kLimits, request).ok());

  EXPECT_EQ(request.lease_id.digits(), kLeaseId);
  EXPECT_EQ(request.attempt, 3);
  EXPECT_EQ(request.ttl, Millis(10'000));
  EXPECT_EQ(request.owner, "host-1");
  EXPECT_THAT(request.labels, ElementsAre(Pair("a", "1"), Pair("b", "2")));
  EXPECT_EQ(request.lock_delay, Millis(5'000));
  EXPECT_EQ(request.max_hold, Millis(3'600'000));
  EXPECT_EQ(request.claim, core::ClaimMode::kByClient);
  EXPECT_EQ(request.min_assurance, core::Assurance::kDisk);
}

TEST(ConvertTest, DefaultTtlStaysBelowAShorterMaximum) {
  core::AcquireRequest request;

  ASSERT_TRUE(ToCore(ValidAcquire(), {.max_ttl = Millis(5'000)}, request).ok());

  EXPECT_EQ(request.ttl, Millis(5'000));
}

TEST(ConvertTest, AcquireWithoutLeaseIdGetsADifferentOneEachTime) {
  v1::AcquireRequest from = ValidAcquire();
  from.clear_lease_id();
  std::set<std::string> ids;

  for (int i = 0; i < 1'000; ++i) {
    core::AcquireRequest request;
    ASSERT_TRUE(ToCore(from, kLimits, request).ok());
    ids.emplace(request.lease_id.digits());
  }

  EXPECT_EQ(ids.size(), 1'000u);
}

struct BadAcquire {
  std::string field;
  std::function<void(v1::AcquireRequest&)> spoil;
};

TEST(ConvertTest, BadAcquireFieldsAreNamed) {
  const std::vector<BadAcquire> cases = {
      {"name", [](auto& r) { r.clear_name(); }},
      {"name", [](auto& r) { r.set_name("a{b"); }},
      {"lease_id", [](auto& r) { r.set_lease_id("abc"); }},
      {"lease_id", [](auto& r) { r.set_lease_id(std::string(31, 'a') + "g"); }},
      {"attempt", [](auto& r) { r.set_attempt(-1); }},
      {"attempt", [](auto& r) { r.set_attempt(1'000'000); }},
      {"ttl", [](auto& r) { r.mutable_ttl(); }},
      {"ttl", [](auto& r) { r.mutable_ttl()->set_seconds(-1); }},
      {"ttl", [](auto& r) { r.mutable_ttl()->set_nanos(99'000'000); }},
      {"ttl", [](auto& r) { r.mutable_ttl()->set_seconds(61); }},
      {"wait_timeout", [](auto& r) { r.mutable_wait_timeout()->set_seconds(-1); }},
      {"wait_timeout", [](auto& r) { r.mutable_wait_timeout()->set_seconds(86'401); }},
      {"owner", [](auto& r) { r.set_owner(std::string(257, 'o')); }},
      {"labels", [](auto& r) { (*r.mutable_labels())[""] = "v"; }},
      {"labels",
       [](auto& r) {
         for (int i = 0; i < 9; ++i) (*r.mutable_labels())[std::to_string(i)] = "v";
       }},
      {"lock_delay", [](auto& r) { r.mutable_lock_delay()->set_nanos(-1); }},
      {"lock_delay", [](auto& r) { r.mutable_lock_delay()->set_seconds(61); }},
      {"max_hold", [](auto& r) { r.mutable_max_hold()->set_nanos(1); }},
      {"max_hold", [](auto& r) { r.mutable_max_hold()->set_seconds(90'000); }},
      {"min_assurance", [](auto& r) { r.set_min_assurance(static_cast<v1::Assurance>(5)); }},
      {"min_assurance", [](auto& r) { r.set_min_assurance(static_cast<v1::Assurance>(-1)); }},
  };
  for (const BadAcquire& bad : cases) {
    v1::AcquireRequest from = ValidAcquire();
    bad.spoil(from);
    core::AcquireRequest request;

    const absl::Status status = ToCore(from, kLimits, request);

    EXPECT_EQ(core::ReasonOf(status), core::ErrorReason::kInvalidField) << from.DebugString();
    EXPECT_EQ(core::FieldOf(status), bad.field) << from.DebugString();
  }
}

TEST(ConvertTest, AcquireMayWaitForTheLongestTime) {
  v1::AcquireRequest from = ValidAcquire();
  from.mutable_wait_timeout()->set_seconds(86'400);
  from.set_confirm(true);
  core::AcquireRequest request;

  ASSERT_TRUE(ToCore(from, kLimits, request).ok());

  EXPECT_EQ(request.wait_timeout, core::limits::kWaitTimeoutMax);
  EXPECT_EQ(request.claim, core::ClaimMode::kByClient);
}

TEST(ConvertTest, OfferThatCameAsAMessageHasNoExpireTime) {
  v1::AcquireResponse response;
  ToProto(core::AcquireAnswer(core::Lease{.name = "n", .offered = true}), response);

  EXPECT_TRUE(response.lease().offered());
  EXPECT_FALSE(response.lease().has_expire_time());
}

TEST(ConvertTest, ExtendCarriesAllFields) {
  v1::ExtendRequest from;
  from.set_name("n");
  from.set_lease_id(kLeaseId);
  from.mutable_ttl()->set_nanos(100'000'001);
  from.set_fencing_token(core::limits::kTokenMax);
  from.set_reassertion("proof");
  core::ExtendRequest request;

  ASSERT_TRUE(ToCore(from, kLimits, request).ok());

  EXPECT_EQ(request.name, "n");
  EXPECT_EQ(request.lease_id.digits(), kLeaseId);
  EXPECT_EQ(request.ttl, Millis(101));
  EXPECT_EQ(request.token.value, core::limits::kTokenMax);
  EXPECT_EQ(request.reassertion, "proof");
}

TEST(ConvertTest, ExtendWithoutTtlLeavesItAsGranted) {
  v1::ExtendRequest from;
  from.set_name("n");
  from.set_lease_id(kLeaseId);
  core::ExtendRequest request;

  ASSERT_TRUE(ToCore(from, kLimits, request).ok());

  EXPECT_EQ(request.ttl, Millis(0));
}

TEST(ConvertTest, BadExtendFieldsAreNamed) {
  const std::vector<std::pair<std::string, std::function<void(v1::ExtendRequest&)>>> cases = {
      {"name", [](auto& r) { r.clear_name(); }},
      {"lease_id", [](auto& r) { r.clear_lease_id(); }},
      {"ttl", [](auto& r) { r.mutable_ttl(); }},
      {"ttl", [](auto& r) { r.mutable_ttl()->set_seconds(61); }},
      {"fencing_token", [](auto& r) { r.set_fencing_token(-1); }},
      {"fencing_token", [](auto& r) { r.set_fencing_token(core::limits::kTokenMax + 1); }},
      {"reassertion", [](auto& r) { r.set_reassertion(std::string(1'025, 'r')); }},
  };
  for (const auto& [field, spoil] : cases) {
    v1::ExtendRequest from;
    from.set_name("n");
    from.set_lease_id(kLeaseId);
    spoil(from);
    core::ExtendRequest request;
    EXPECT_EQ(core::FieldOf(ToCore(from, kLimits, request)), field) << from.DebugString();
  }
}

TEST(ConvertTest, ReleaseNeedsNameAndLeaseId) {
  v1::ReleaseRequest from;
  core::ReleaseRequest request;
  from.set_name("n");
  EXPECT_EQ(core::FieldOf(ToCore(from, request)), "lease_id");
  from.set_lease_id(kLeaseId);
  ASSERT_TRUE(ToCore(from, request).ok());
  EXPECT_EQ(request.lease_id.digits(), kLeaseId);
  from.clear_name();
  EXPECT_EQ(core::FieldOf(ToCore(from, request)), "name");
}

TEST(ConvertTest, FenceNeedsNameAndToken) {
  v1::FenceRequest from;
  core::FenceRequest request;
  from.set_name("n");
  EXPECT_EQ(core::FieldOf(ToCore(from, request)), "fencing_token");
  from.set_fencing_token(7);
  from.set_require_live_lease(true);
  ASSERT_TRUE(ToCore(from, request).ok());
  EXPECT_EQ(request.token.value, 7);
  EXPECT_EQ(request.liveness, core::LeaseLiveness::kRequired);
}

TEST(ConvertTest, LeaseCarriesAllFields) {
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

TEST(ConvertTest, ContentionCarriesAllFieldsAndNoLease) {
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

TEST(ConvertTest, ReleaseAnswersSayWhyNot) {
  v1::ReleaseResponse response;
  ToProto(core::ReleaseAnswer{}, response);
  EXPECT_TRUE(response.released());
  EXPECT_EQ(response.reason(), v1::NOT_RELEASED_REASON_UNSPECIFIED);

  ToProto(core::ReleaseAnswer{core::NotReleasedReason::kNotHolder}, response);
  EXPECT_FALSE(response.released());
  EXPECT_EQ(response.reason(), v1::NOT_RELEASED_REASON_NOT_HOLDER);
}

TEST(ConvertTest, FenceAnswersCarryTheNewestToken) {
  v1::FenceResponse response;
  ToProto(core::FenceAnswer{core::Verdict::kStale, {9}}, response);
  EXPECT_EQ(response.verdict(), v1::VERDICT_STALE);
  EXPECT_EQ(response.newest_fencing_token(), 9);
}

// The domain's enums are cast, so their numbers have to be the messages'.
TEST(ConvertTest, EnumsHaveTheNumbersOfTheirMessages) {
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

}  // namespace
}  // namespace lockkeeper::rpc
