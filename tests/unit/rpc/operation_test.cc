// SPDX-License-Identifier: Apache-2.0
#include "rpc/operation.h"

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
const core::ConfiguredLimits kLimits{.max_ttl = Millis(60'000)};

// Reads and checks `from`. Its request is in `to` if that is OK.
template <typename Message, typename Request>
absl::Status ReadInto(const Message& from, Request& to,
                      const core::ConfiguredLimits& limits = kLimits) {
  Operation operation;
  Read(from, operation);
  ApplyDefaults(limits, operation);
  to = std::get<Request>(operation.request);
  return Validate(operation, limits);
}

v1::AcquireRequest ValidAcquire() {
  v1::AcquireRequest request;
  request.set_name("jobs/nightly");
  request.set_lease_id(kLeaseId);
  return request;
}

TEST(OperationTest, AcquireWithoutOptionsHasTheDefaults) {
  core::AcquireRequest request;

  ASSERT_TRUE(ReadInto(ValidAcquire(), request).ok());

  EXPECT_EQ(request.name, "jobs/nightly");
  EXPECT_EQ(request.lease_id.digits(), kLeaseId);
  EXPECT_EQ(request.attempt, 0);
  EXPECT_EQ(request.ttl, Millis(30'000));
  EXPECT_EQ(request.wait_timeout, Millis(0));
  EXPECT_EQ(request.owner, "");
  EXPECT_TRUE(request.labels.empty());
  EXPECT_EQ(request.lock_delay, Millis(0));
  EXPECT_EQ(request.max_hold, Millis(0));
  EXPECT_EQ(request.hold_at_least, Millis(0));
  EXPECT_EQ(request.claim, core::ClaimMode::kByDaemon);
  EXPECT_EQ(request.min_assurance, core::Assurance::kNone);
}

TEST(OperationTest, AcquireCarriesAllFields) {
  v1::AcquireRequest from = ValidAcquire();
  from.set_lease_id("00112233-4455-6677-8899-AABBCCDDEEFF");
  from.set_attempt(3);
  from.mutable_ttl()->set_seconds(10);
  from.set_owner("host-1");
  (*from.mutable_labels())["b"] = "2";
  (*from.mutable_labels())["a"] = "1";
  from.mutable_lock_delay()->set_seconds(5);
  from.mutable_max_hold()->set_seconds(3'600);
  from.mutable_hold_at_least()->set_seconds(86'400);
  from.set_confirm(true);
  from.set_min_assurance(v1::ASSURANCE_DISK);
  core::AcquireRequest request;

  ASSERT_TRUE(ReadInto(from, request).ok());

  EXPECT_EQ(request.lease_id.digits(), kLeaseId);
  EXPECT_EQ(request.attempt, 3);
  EXPECT_EQ(request.ttl, Millis(10'000));
  EXPECT_EQ(request.owner, "host-1");
  EXPECT_THAT(request.labels, ElementsAre(Pair("a", "1"), Pair("b", "2")));
  EXPECT_EQ(request.lock_delay, Millis(5'000));
  EXPECT_EQ(request.max_hold, Millis(3'600'000));
  EXPECT_EQ(request.hold_at_least, Millis(86'400'000));
  EXPECT_EQ(request.claim, core::ClaimMode::kByClient);
  EXPECT_EQ(request.min_assurance, core::Assurance::kDisk);
}

TEST(OperationTest, DefaultTtlStaysBelowAShorterMaximum) {
  core::AcquireRequest request;

  ASSERT_TRUE(ReadInto(ValidAcquire(), request, {.max_ttl = Millis(5'000)}).ok());

  EXPECT_EQ(request.ttl, Millis(5'000));
}

TEST(OperationTest, DefaultTtlIsThatOfTheLocksPrefix) {
  const core::ConfiguredLimits limits{
      .max_ttl = Millis(60'000),
      .default_ttl = Millis(10'000),
      .ttls_by_prefix = {{.prefix = "jobs/", .default_ttl = Millis(40'000), .max_ttl = {}}}};
  core::AcquireRequest request;
  v1::AcquireRequest from = ValidAcquire();

  ASSERT_TRUE(ReadInto(from, request, limits).ok());
  EXPECT_EQ(request.ttl, Millis(40'000));

  from.set_name("other");
  ASSERT_TRUE(ReadInto(from, request, limits).ok());
  EXPECT_EQ(request.ttl, Millis(10'000));

  from.mutable_ttl()->set_seconds(5);
  ASSERT_TRUE(ReadInto(from, request, limits).ok());
  EXPECT_EQ(request.ttl, Millis(5'000)) << "what is asked for counts";
}

TEST(OperationTest, AcquireWithoutLeaseIdGetsADifferentOneEachTime) {
  v1::AcquireRequest from = ValidAcquire();
  from.clear_lease_id();
  std::set<std::string> ids;

  for (int i = 0; i < 1'000; ++i) {
    core::AcquireRequest request;
    ASSERT_TRUE(ReadInto(from, request).ok());
    ids.emplace(request.lease_id.digits());
  }

  EXPECT_EQ(ids.size(), 1'000u);
}

struct BadAcquire {
  std::string field;
  std::function<void(v1::AcquireRequest&)> spoil;
};

TEST(OperationTest, BadAcquireFieldsAreNamed) {
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
      {"hold_at_least", [](auto& r) { r.mutable_hold_at_least()->set_nanos(-1); }},
      {"hold_at_least", [](auto& r) { r.mutable_hold_at_least()->set_seconds(86'401); }},
      {"min_assurance", [](auto& r) { r.set_min_assurance(static_cast<v1::Assurance>(5)); }},
      {"min_assurance", [](auto& r) { r.set_min_assurance(static_cast<v1::Assurance>(-1)); }},
  };
  for (const BadAcquire& bad : cases) {
    v1::AcquireRequest from = ValidAcquire();
    bad.spoil(from);
    core::AcquireRequest request;

    const absl::Status status = ReadInto(from, request);

    EXPECT_EQ(core::ReasonOf(status), core::ErrorReason::kInvalidField) << from.DebugString();
    EXPECT_EQ(core::FieldOf(status), bad.field) << from.DebugString();
  }
}

TEST(OperationTest, AcquireMayWaitForTheLongestTime) {
  v1::AcquireRequest from = ValidAcquire();
  from.mutable_wait_timeout()->set_seconds(86'400);
  from.set_confirm(true);
  core::AcquireRequest request;

  ASSERT_TRUE(ReadInto(from, request).ok());

  EXPECT_EQ(request.wait_timeout, core::limits::kWaitTimeoutMax);
  EXPECT_EQ(request.claim, core::ClaimMode::kByClient);
}

TEST(OperationTest, ExtendCarriesAllFields) {
  v1::ExtendRequest from;
  from.set_name("n");
  from.set_lease_id(kLeaseId);
  from.mutable_ttl()->set_nanos(100'000'001);
  from.set_fencing_token(core::limits::kTokenMax);
  from.set_reassertion("proof");
  core::ExtendRequest request;

  ASSERT_TRUE(ReadInto(from, request).ok());

  EXPECT_EQ(request.name, "n");
  EXPECT_EQ(request.lease_id.digits(), kLeaseId);
  EXPECT_EQ(request.ttl, Millis(101));
  EXPECT_EQ(request.token.value, core::limits::kTokenMax);
  EXPECT_EQ(request.reassertion, "proof");
}

TEST(OperationTest, ExtendWithoutTtlLeavesItAsGranted) {
  v1::ExtendRequest from;
  from.set_name("n");
  from.set_lease_id(kLeaseId);
  core::ExtendRequest request;

  ASSERT_TRUE(ReadInto(from, request).ok());

  EXPECT_EQ(request.ttl, Millis(0));
}

TEST(OperationTest, BadExtendFieldsAreNamed) {
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
    EXPECT_EQ(core::FieldOf(ReadInto(from, request)), field) << from.DebugString();
  }
}

TEST(OperationTest, ReleaseNeedsNameAndLeaseId) {
  v1::ReleaseRequest from;
  core::ReleaseRequest request;
  from.set_name("n");
  EXPECT_EQ(core::FieldOf(ReadInto(from, request)), "lease_id");
  from.set_lease_id(kLeaseId);
  ASSERT_TRUE(ReadInto(from, request).ok());
  EXPECT_EQ(request.lease_id.digits(), kLeaseId);
  from.clear_name();
  EXPECT_EQ(core::FieldOf(ReadInto(from, request)), "name");
}

TEST(OperationTest, FenceNeedsNameAndToken) {
  v1::FenceRequest from;
  core::FenceRequest request;
  from.set_name("n");
  EXPECT_EQ(core::FieldOf(ReadInto(from, request)), "fencing_token");
  from.set_fencing_token(7);
  from.set_require_live_lease(true);
  ASSERT_TRUE(ReadInto(from, request).ok());
  EXPECT_EQ(request.token.value, 7);
  EXPECT_EQ(request.liveness, core::LeaseLiveness::kRequired);
}

TEST(OperationTest, GetLockNeedsAName) {
  admin::v1::GetLockRequest from;
  InspectRequest request;
  EXPECT_EQ(core::FieldOf(ReadInto(from, request)), "name");
  from.set_name("n");
  ASSERT_TRUE(ReadInto(from, request).ok());
  EXPECT_EQ(request.name, "n");
}

TEST(OperationTest, WatchLocksIsOfAPrefixOrOfAName) {
  WatchRequest request;
  admin::v1::WatchLocksRequest from;
  ASSERT_TRUE(ReadInto(from, request).ok());
  EXPECT_EQ(request.filter, core::WatchFilter{}) << "of all";
  from.set_prefix("jobs/");
  ASSERT_TRUE(ReadInto(from, request).ok());
  EXPECT_EQ(request.filter, core::WatchFilter{.text = "jobs/"});
  from.set_name("jobs/1");
  EXPECT_EQ(core::FieldOf(ReadInto(from, request)), "prefix");
  from.clear_prefix();
  ASSERT_TRUE(ReadInto(from, request).ok());
  EXPECT_EQ(request.filter,
            (core::WatchFilter{.match = core::WatchFilter::Match::kName, .text = "jobs/1"}));
}

TEST(OperationTest, ListContendedLocksHasDefaultsAndBounds) {
  ListContendedRequest request;
  admin::v1::ListContendedLocksRequest from;
  ASSERT_TRUE(ReadInto(from, request).ok());
  EXPECT_EQ(request.order, telemetry::ContendedOrder::kWaits);
  EXPECT_EQ(request.limit, 20);
  from.set_prefix("jobs/");
  from.set_order(admin::v1::CONTENDED_ORDER_WAITED);
  from.set_limit(256);
  ASSERT_TRUE(ReadInto(from, request).ok());
  EXPECT_EQ(request.prefix, "jobs/");
  EXPECT_EQ(request.order, telemetry::ContendedOrder::kWaited);
  EXPECT_EQ(request.limit, 256);
  for (const int32_t wrong : {-1, 257}) {
    from.set_limit(wrong);
    EXPECT_EQ(core::FieldOf(ReadInto(from, request)), "limit") << wrong;
  }
  from.set_limit(1);
  from.set_order(static_cast<admin::v1::ContendedOrder>(3));
  EXPECT_EQ(core::FieldOf(ReadInto(from, request)), "order");
  from.clear_order();
  from.set_prefix(std::string(513, 'p'));
  EXPECT_EQ(core::FieldOf(ReadInto(from, request)), "prefix");
}

TEST(OperationTest, ListLocksHasDefaults) {
  ListRequest request;

  ASSERT_TRUE(ReadInto(admin::v1::ListLocksRequest{}, request).ok());

  EXPECT_EQ(request.prefix, "");
  EXPECT_EQ(request.page_size, core::limits::kPageSizeDefault);
  EXPECT_EQ(request.page_token, "");
  EXPECT_EQ(request.ended, core::EndedLocks::kLeaveOut);
}

TEST(OperationTest, ListLocksCarriesAllFields) {
  admin::v1::ListLocksRequest from;
  from.set_prefix("jobs/");
  from.set_page_size(7);
  from.set_page_token("t");
  from.set_include_ended(true);
  from.set_holder_principal("ci");
  ListRequest request;

  ASSERT_TRUE(ReadInto(from, request).ok());

  EXPECT_EQ(request.prefix, "jobs/");
  EXPECT_EQ(request.page_size, 7);
  EXPECT_EQ(request.page_token, "t");
  EXPECT_EQ(request.ended, core::EndedLocks::kInclude);
  EXPECT_EQ(request.holder_principal, "ci");
}

TEST(OperationTest, BadListFieldsAreNamed) {
  ListRequest request;
  admin::v1::ListLocksRequest from;
  from.set_page_size(-1);
  EXPECT_EQ(core::FieldOf(ReadInto(from, request)), "page_size");
  from.set_page_size(core::limits::kPageSizeMax + 1);
  EXPECT_EQ(core::FieldOf(ReadInto(from, request)), "page_size");
  from.set_page_size(1);
  from.set_prefix(std::string(core::limits::kNameBytesMax + 1, 'p'));
  EXPECT_EQ(core::FieldOf(ReadInto(from, request)), "prefix");
  from.clear_prefix();
  from.set_page_token(std::string(core::limits::kPageTokenBytesMax + 1, 't'));
  EXPECT_EQ(core::FieldOf(ReadInto(from, request)), "page_token");
}

TEST(OperationTest, ForceReleaseNeedsNameAndReason) {
  admin::v1::ForceReleaseRequest from;
  ForceReleaseRequest request;
  from.set_reason("r");
  EXPECT_EQ(core::FieldOf(ReadInto(from, request)), "name");
  from.set_name("n");
  from.clear_reason();
  EXPECT_EQ(core::FieldOf(ReadInto(from, request)), "reason");
  from.set_reason(std::string(core::limits::kReasonBytesMax + 1, 'r'));
  EXPECT_EQ(core::FieldOf(ReadInto(from, request)), "reason");
  from.set_reason("stuck\nsince noon");
  EXPECT_EQ(core::FieldOf(ReadInto(from, request)), "reason");
}

TEST(OperationTest, ForceReleaseTakesWhoAsks) {
  admin::v1::ForceReleaseRequest from;
  ForceReleaseRequest request;
  from.set_name("n");
  from.set_reason("r");
  from.set_owner("ada@desk");
  ASSERT_TRUE(ReadInto(from, request).ok());
  EXPECT_EQ(request.owner, "ada@desk");
  from.set_owner(std::string(core::limits::kOwnerBytesMax + 1, 'o'));
  EXPECT_EQ(core::FieldOf(ReadInto(from, request)), "owner");
}

TEST(OperationTest, ForceReleaseWaitsForTheHolderUnlessTold) {
  admin::v1::ForceReleaseRequest from;
  from.set_name("n");
  from.set_reason("stuck");
  ForceReleaseRequest request;

  ASSERT_TRUE(ReadInto(from, request).ok());
  EXPECT_EQ(request.delay, core::ReleaseDelay::kHoldersRemainingTtl);
  EXPECT_EQ(request.reason, "stuck");

  from.set_now(true);
  ASSERT_TRUE(ReadInto(from, request).ok());
  EXPECT_EQ(request.delay, core::ReleaseDelay::kNone);
}

TEST(OperationTest, VerbAndRpcNameAreThoseOfTheMessage) {
  Operation operation;
  const auto expect = [&](const auto& message, Verb verb, std::string_view rpc) {
    Read(message, operation);
    EXPECT_EQ(operation.verb(), verb) << rpc;
    EXPECT_EQ(RpcNameOf(operation.verb()), rpc);
  };
  expect(v1::AcquireRequest(), Verb::kAcquire, "Acquire");
  expect(v1::ExtendRequest(), Verb::kExtend, "Extend");
  expect(v1::ReleaseRequest(), Verb::kRelease, "Release");
  expect(v1::FenceRequest(), Verb::kFence, "Fence");
  expect(v1::SessionOpen(), Verb::kOpenSession, "Session");
  expect(v1::SessionAdopt(), Verb::kExtend, "Extend");
  expect(admin::v1::GetLockRequest(), Verb::kInspect, "GetLock");
  expect(admin::v1::ListLocksRequest(), Verb::kList, "ListLocks");
  expect(admin::v1::WatchLocksRequest(), Verb::kWatch, "WatchLocks");
  expect(admin::v1::ListContendedLocksRequest(), Verb::kListContended, "ListContendedLocks");
  expect(admin::v1::ForceReleaseRequest(), Verb::kForceRelease, "ForceRelease");
  expect(admin::v1::EndQuarantineRequest(), Verb::kEndQuarantine, "EndQuarantine");
  expect(admin::v1::DrainRequest(), Verb::kDrain, "Drain");
  expect(admin::v1::GetServerInfoRequest(), Verb::kServerInfo, "GetServerInfo");
}

TEST(OperationTest, OperationsOfSessionsAreReadAsThoseOfCalls) {
  v1::SessionOperation message;
  *message.mutable_acquire() = ValidAcquire();
  Operation operation;

  Read(message, operation);
  ApplyDefaults(kLimits, operation);

  EXPECT_TRUE(Validate(operation, kLimits).ok());
  const auto& request = std::get<core::AcquireRequest>(operation.request);
  EXPECT_EQ(request.name, "jobs/nightly");
  EXPECT_EQ(request.deadline, core::Instant::max());
}

TEST(OperationTest, SessionOperationThatIsNotSetIsAProblem) {
  Operation operation;
  Read(v1::SessionOperation(), operation);
  EXPECT_EQ(core::FieldOf(Validate(operation, kLimits)), "operation");
}

TEST(OperationTest, ProblemOfAnEarlierMessageIsForgotten) {
  Operation operation;
  Read(v1::ReleaseRequest(), operation);
  ASSERT_FALSE(Validate(operation, kLimits).ok());
  Read(admin::v1::GetServerInfoRequest(), operation);
  EXPECT_TRUE(Validate(operation, kLimits).ok());
}

TEST(OperationTest, AdoptionNeedsAToken) {
  v1::SessionAdopt from;
  from.set_name("n");
  from.set_lease_id(kLeaseId);
  from.set_reassertion("proof");
  core::ExtendRequest request;
  EXPECT_EQ(core::FieldOf(ReadInto(from, request)), "fencing_token");
  from.set_fencing_token(7);
  ASSERT_TRUE(ReadInto(from, request).ok());
  EXPECT_EQ(request.token.value, 7);
  EXPECT_EQ(request.lease_id.digits(), kLeaseId);
  EXPECT_EQ(request.reassertion, "proof");
  EXPECT_EQ(request.ttl, Millis(0)) << "it stays as granted";
}

TEST(OperationTest, SubjectIsWhatTheLogTellsOfAnOperation) {
  v1::AcquireRequest acquire = ValidAcquire();
  acquire.set_owner("host-1");
  Operation operation;
  Read(acquire, operation);
  EXPECT_EQ(SubjectOf(operation).lock_name, "jobs/nightly");
  EXPECT_EQ(SubjectOf(operation).owner, "host-1");
  EXPECT_EQ(SubjectOf(operation).lease_id->digits(), kLeaseId);

  v1::FenceRequest fence;
  fence.set_name("n");
  fence.set_fencing_token(7);
  Read(fence, operation);
  EXPECT_EQ(SubjectOf(operation).lock_name, "n");
  EXPECT_EQ(SubjectOf(operation).token.value, 7);
  EXPECT_FALSE(SubjectOf(operation).lease_id);
}

}  // namespace
}  // namespace lockkeeper::rpc
