// SPDX-License-Identifier: Apache-2.0
//
// Every limit of limits.h that a request can reach: the last legal value passes, the next one is
// refused and the refusal names the field.
#include "core/validation.h"

#include <gtest/gtest.h>

#include <string>

#include "core/errors.h"
#include "core/limits.h"

namespace lockkeeper::core {
namespace {

constexpr Millis kMaxTtl{60'000};

AcquireRequest GoodAcquire() {
  AcquireRequest request;
  request.name = "orders/42";
  request.ttl = Millis(30'000);
  return request;
}

std::string Repeated(size_t bytes, char c = 'x') { return std::string(bytes, c); }

// Field of a refusal; "" for OK.
std::string FieldRefused(const absl::Status& status) {
  if (status.ok()) return "";
  EXPECT_EQ(ReasonOf(status), ErrorReason::kInvalidField) << status;
  const std::string field = FieldOf(status).value_or("no field is named");
  EXPECT_TRUE(std::string(status.message()).starts_with(field + ": ")) << status;
  return field;
}

std::string Refused(const AcquireRequest& request) {
  return FieldRefused(Validate(request, {.max_ttl = kMaxTtl}));
}

std::string Refused(const ExtendRequest& request) {
  return FieldRefused(Validate(request, {.max_ttl = kMaxTtl}));
}

std::string NameRefused(const std::string& name) {
  return FieldRefused(ValidateName("name", name));
}

TEST(ValidationTest, GoodRequestsPass) {
  EXPECT_EQ(Refused(GoodAcquire()), "");
  EXPECT_EQ(Refused(ExtendRequest{.name = "a"}), "");
  EXPECT_EQ(FieldRefused(Validate(ReleaseRequest{.name = "a"})), "");
  EXPECT_EQ(FieldRefused(Validate(FenceRequest{.name = "a", .token = {1}})), "");
  EXPECT_EQ(FieldRefused(Validate(ListRequest{.page_size = 1})), "");
}

TEST(ValidationTest, NameHasOneToItsMaximumOfBytes) {
  EXPECT_EQ(NameRefused(""), "name");
  EXPECT_EQ(NameRefused("n"), "");
  EXPECT_EQ(NameRefused(Repeated(limits::kNameBytesMax)), "");
  EXPECT_EQ(NameRefused(Repeated(limits::kNameBytesMax + 1)), "name");
}

TEST(ValidationTest, NameHasNoBracesNorControlCharactersNorBrokenText) {
  for (const std::string bad :
       {"{", "}", "a{b}c", "a\nb", "a\tb", "\x7f", "\xC2\x85", "\xE2\x80\xA8", "\xff", "\xC3"}) {
    EXPECT_EQ(NameRefused(bad), "name") << bad;
  }
  EXPECT_EQ(NameRefused(std::string("a\0b", 3)), "name");
}

TEST(ValidationTest, NameMayHaveWhatOtherLayersUse) {
  for (const std::string good : {"*", "?", "[a-z]", "\\", " ", "%s", "'\"", "--", "a:line",
                                 "lk:", "\xF0\x9F\x94\x92", "return 1"}) {
    EXPECT_EQ(NameRefused(good), "") << good;
  }
}

TEST(ValidationTest, EveryRequestChecksItsName) {
  AcquireRequest acquire = GoodAcquire();
  acquire.name = "";
  EXPECT_EQ(Refused(acquire), "name");
  EXPECT_EQ(Refused(ExtendRequest{}), "name");
  EXPECT_EQ(FieldRefused(Validate(ReleaseRequest{})), "name");
  EXPECT_EQ(FieldRefused(Validate(FenceRequest{.token = {1}})), "name");
}

TEST(ValidationTest, AttemptIsFromZeroToItsMaximum) {
  AcquireRequest request = GoodAcquire();
  request.attempt = -1;
  EXPECT_EQ(Refused(request), "attempt");
  request.attempt = limits::kAttemptMax;
  EXPECT_EQ(Refused(request), "");
  request.attempt = limits::kAttemptMax + 1;
  EXPECT_EQ(Refused(request), "attempt");
}

TEST(ValidationTest, TtlIsFromItsMinimumToTheConfiguredMaximum) {
  AcquireRequest request = GoodAcquire();
  for (const Millis good : {limits::kTtlMin, kMaxTtl}) {
    request.ttl = good;
    EXPECT_EQ(Refused(request), "") << good.count();
  }
  for (const Millis bad : {Millis(-1), Millis(0), limits::kTtlMin - Millis(1), kMaxTtl + Millis(1),
                           limits::kTtlCeiling, Millis::max(), Millis::min()}) {
    request.ttl = bad;
    EXPECT_EQ(Refused(request), "ttl") << bad.count();
  }
}

TEST(ValidationTest, HighestConfigurableTtlIsGranted) {
  AcquireRequest request = GoodAcquire();
  request.ttl = limits::kTtlCeiling;

  EXPECT_TRUE(Validate(request, {.max_ttl = limits::kTtlCeiling}).ok());
}

TEST(ValidationTest, WaitTimeoutIsFromZeroToItsMaximum) {
  AcquireRequest request = GoodAcquire();
  request.wait_timeout = limits::kWaitTimeoutMax;
  EXPECT_EQ(Refused(request), "");
  for (const Millis bad : {Millis(-1), limits::kWaitTimeoutMax + Millis(1), Millis::max()}) {
    request.wait_timeout = bad;
    EXPECT_EQ(Refused(request), "wait_timeout") << bad.count();
  }
}

TEST(ValidationTest, ConfiguredBoundsNameTheirSettings) {
  const ConfiguredLimits configured{
      .max_ttl = kMaxTtl,
      .max_wait = Millis(5'000),
      .ttls_by_prefix = {{.prefix = "jobs/", .default_ttl = {}, .max_ttl = Millis(90'000)}}};
  AcquireRequest request = GoodAcquire();
  request.name = "jobs/1";
  request.ttl = Millis(90'000);
  EXPECT_TRUE(Validate(request, configured).ok());
  request.ttl = Millis(100'000);
  EXPECT_EQ(Validate(request, configured).message(),
            "ttl: has to be from 100ms to 1m30s (the server's lease.by_prefix for \"jobs/\"), is "
            "1m40s");
  const ExtendRequest extend{.name = "jobs/1", .ttl = Millis(90'000)};
  EXPECT_TRUE(Validate(extend, configured).ok());

  request.name = "other";
  request.ttl = Millis(1'000);
  request.wait_timeout = Millis(5'000);
  EXPECT_TRUE(Validate(request, configured).ok());
  request.wait_timeout = Millis(6'000);
  EXPECT_EQ(Validate(request, configured).message(),
            "wait_timeout: has to be from 0s to 5s (the server's waiters.max_wait), is 6s");
}

TEST(ValidationTest, LockDelayIsFromZeroToItsMaximum) {
  AcquireRequest request = GoodAcquire();
  request.lock_delay = limits::kLockDelayMax;
  EXPECT_EQ(Refused(request), "");
  for (const Millis bad : {Millis(-1), limits::kLockDelayMax + Millis(1)}) {
    request.lock_delay = bad;
    EXPECT_EQ(Refused(request), "lock_delay") << bad.count();
  }
}

TEST(ValidationTest, DurationIsToldExactlyAsItWasGiven) {
  AcquireRequest request = GoodAcquire();
  for (const auto& [given, told] : {std::pair(Millis(86'400'001), "24h0.001s"),
                                    std::pair(limits::kLockDelayMax + Millis(1), "1m0.001s")}) {
    request.lock_delay = given;
    EXPECT_EQ(Validate(request, ConfiguredLimits(kMaxTtl)).message(),
              std::string("lock_delay: has to be from 0s to 1m, is ") + told);
  }
}

TEST(ValidationTest, HoldAtLeastIsFromZeroToItsMaximum) {
  AcquireRequest request = GoodAcquire();
  request.hold_at_least = limits::kHoldAtLeastMax;
  EXPECT_EQ(Refused(request), "");
  for (const Millis bad : {Millis(-1), limits::kHoldAtLeastMax + Millis(1), Millis::max()}) {
    request.hold_at_least = bad;
    EXPECT_EQ(Refused(request), "hold_at_least") << bad.count();
  }
}

TEST(ValidationTest, MaxHoldIsNoneOrFromItsMinimumToItsMaximum) {
  AcquireRequest request = GoodAcquire();
  for (const Millis good : {Millis(0), limits::kMaxHoldMin, limits::kMaxHoldMax}) {
    request.max_hold = good;
    EXPECT_EQ(Refused(request), "") << good.count();
  }
  for (const Millis bad :
       {Millis(-1), Millis(1), limits::kMaxHoldMin - Millis(1), limits::kMaxHoldMax + Millis(1)}) {
    request.max_hold = bad;
    EXPECT_EQ(Refused(request), "max_hold") << bad.count();
  }
}

TEST(ValidationTest, OwnerHasAtMostItsMaximumOfBytes) {
  AcquireRequest request = GoodAcquire();
  request.owner = Repeated(limits::kOwnerBytesMax);
  EXPECT_EQ(Refused(request), "");
  request.owner = Repeated(limits::kOwnerBytesMax + 1);
  EXPECT_EQ(Refused(request), "owner");
  request.owner = "a\nb";
  EXPECT_EQ(Refused(request), "owner");
}

TEST(ValidationTest, LabelsAreAtMostTheirMaximum) {
  AcquireRequest request = GoodAcquire();
  request.labels.resize(limits::kLabelsMax, {"key", "value"});
  EXPECT_EQ(Refused(request), "");
  request.labels.emplace_back("key", "value");
  EXPECT_EQ(Refused(request), "labels");
}

TEST(ValidationTest, LabelsHaveLegalKeysAndValues) {
  const auto refused = [](std::string key, std::string value) {
    AcquireRequest request = GoodAcquire();
    request.labels = {{std::move(key), std::move(value)}};
    return Refused(request);
  };
  EXPECT_EQ(refused(Repeated(limits::kLabelKeyBytesMax), Repeated(limits::kLabelValueBytesMax)),
            "");
  EXPECT_EQ(refused("key", ""), "");
  EXPECT_EQ(refused("key", "a=b"), "");
  EXPECT_EQ(refused(Repeated(limits::kLabelKeyBytesMax + 1), ""), "labels");
  EXPECT_EQ(refused("key", Repeated(limits::kLabelValueBytesMax + 1)), "labels");
  EXPECT_EQ(refused("", "value"), "labels");
  EXPECT_EQ(refused("a=b", "value"), "labels");
  EXPECT_EQ(refused("a\tb", "value"), "labels");
  EXPECT_EQ(refused("key", "a\tb"), "labels");
  EXPECT_EQ(refused("key", "\xff"), "labels");
}

TEST(ValidationTest, ExtendsTtlMayBeUnset) {
  ExtendRequest request{.name = "a"};
  for (const Millis good : {Millis(0), limits::kTtlMin, kMaxTtl}) {
    request.ttl = good;
    EXPECT_EQ(Refused(request), "") << good.count();
  }
  for (const Millis bad : {Millis(-1), limits::kTtlMin - Millis(1), kMaxTtl + Millis(1)}) {
    request.ttl = bad;
    EXPECT_EQ(Refused(request), "ttl") << bad.count();
  }
}

TEST(ValidationTest, TokensAreOfThoseThatCanBeGranted) {
  ExtendRequest extend{.name = "a"};
  FenceRequest fence{.name = "a"};
  for (const int64_t good : {int64_t{1}, limits::kTokenMax}) {
    extend.token.value = fence.token.value = good;
    EXPECT_EQ(Refused(extend), "");
    EXPECT_EQ(FieldRefused(Validate(fence)), "");
  }
  for (const int64_t bad : {int64_t{-1}, limits::kTokenMax + 1, INT64_MAX, INT64_MIN}) {
    extend.token.value = fence.token.value = bad;
    EXPECT_EQ(Refused(extend), "fencing_token") << bad;
    EXPECT_EQ(FieldRefused(Validate(fence)), "fencing_token") << bad;
  }
  extend.token.value = fence.token.value = 0;
  EXPECT_EQ(Refused(extend), "") << "no token is given";
  EXPECT_EQ(FieldRefused(Validate(fence)), "fencing_token");
}

TEST(ValidationTest, ReassertionHasAtMostItsMaximumOfBytes) {
  ExtendRequest request{.name = "a"};
  request.reassertion = Repeated(limits::kReassertionBytesMax);
  EXPECT_EQ(Refused(request), "");
  request.reassertion = Repeated(limits::kReassertionBytesMax + 1);
  EXPECT_EQ(Refused(request), "reassertion");
}

TEST(ValidationTest, ListsFieldsHaveTheirLimits) {
  const auto refused = [](const ListRequest& request) { return FieldRefused(Validate(request)); };
  EXPECT_EQ(refused({.prefix = Repeated(limits::kNameBytesMax),
                     .page_size = limits::kPageSizeMax,
                     .page_token = Repeated(limits::kPageTokenBytesMax)}),
            "");
  EXPECT_EQ(refused({.prefix = Repeated(limits::kNameBytesMax + 1), .page_size = 1}), "prefix");
  EXPECT_EQ(refused({.prefix = "\n", .page_size = 1}), "prefix");
  EXPECT_EQ(refused({.page_size = 0}), "page_size");
  EXPECT_EQ(refused({.page_size = -1}), "page_size");
  EXPECT_EQ(refused({.page_size = limits::kPageSizeMax + 1}), "page_size");
  EXPECT_EQ(refused({.page_size = 1, .page_token = Repeated(limits::kPageTokenBytesMax + 1)}),
            "page_token");
}

TEST(ValidationTest, ReasonOfAnAdministratorHasAtMostItsMaximumOfBytes) {
  const auto refused = [](const std::string& text) {
    return FieldRefused(ValidateText("reason", text, limits::kReasonBytesMax));
  };
  EXPECT_EQ(refused(Repeated(limits::kReasonBytesMax)), "");
  EXPECT_EQ(refused(Repeated(limits::kReasonBytesMax + 1)), "reason");
}

TEST(ValidationTest, RefusalNamesTheLimit) {
  AcquireRequest request = GoodAcquire();
  request.ttl = Millis(50);

  const absl::Status status = Validate(request, {.max_ttl = kMaxTtl});
  EXPECT_EQ(status.message(),
            "ttl: has to be from 100ms to 1m (the server's lease.max_ttl), is 50ms");
}

}  // namespace
}  // namespace lockkeeper::core
