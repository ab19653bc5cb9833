// SPDX-License-Identifier: Apache-2.0
// What is recorded of operations, and what is refused while records cannot be.
#include "rpc/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "core/errors.h"
#include "rpc/gate.h"
#include "support/manual_clock.h"
#include "support/rpc/captured_log.h"

namespace lockkeeper::rpc {
namespace {

using core::ErrorReason;
using core::Millis;
using telemetry::Outcome;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kLeaseId[] = "00112233445566778899aabbccddeeff";

struct Disk {
  std::atomic<bool> is_broken = false;
  std::mutex mutex;
  std::string text;
};

class DiskSink final : public audit::Sink {
 public:
  explicit DiskSink(Disk& disk) : disk_(disk) {}
  audit::Written Write(std::string_view lines) override {
    if (disk_.is_broken) return {.bytes = 0, .problem = "broken"};
    const std::lock_guard lock(disk_.mutex);
    disk_.text += lines;
    return {.bytes = lines.size(), .problem = {}};
  }

 private:
  Disk& disk_;
};

class AuditorTest : public testing::Test {
 protected:
  // Of a trail that has nothing else to write, the lines so far.
  std::string Trail() {
    trail_.reset();
    return disk_.text;
  }

  template <typename Message>
  absl::Status Admit(const Message& message) {
    Read(message, operation_);
    return gate_.Admit(caller_, operation_);
  }
  template <typename Message>
  static Message Of(const std::string& name) {
    Message message;
    message.set_name(name);
    message.set_lease_id(kLeaseId);
    return message;
  }
  static core::Lease LeaseOf(const std::string& name) {
    core::Lease lease;
    lease.name = name;
    lease.lease_id = *core::LeaseId::Parse(kLeaseId);
    lease.token = {7};
    lease.ttl = Millis(5'000);
    lease.waited = Millis(250);
    lease.reassertion = "proof";
    return lease;
  }
  void Answered(Verb verb, const core::Lease* lease, Outcome outcome,
                const absl::Status& status = absl::OkStatus()) {
    Subject subject{.lock_name = "n", .owner = "ada", .lease_id = core::LeaseId::Parse(kLeaseId)};
    subject.Add(lease);
    auditor_.Answered(verb, caller_, subject, outcome, status);
  }

  Disk disk_;
  support::CapturedLog output_;
  telemetry::Log log_{{}, output_};
  telemetry::Metrics metrics_{"test", "none"};
  std::optional<audit::Trail> trail_{
      std::in_place, std::make_unique<DiskSink>(disk_),
      audit::TrailOptions{.required = true, .queue_max = 100, .retry_after = Millis(1)},
      telemetry::Logger(log_, "audit"), metrics_};
  access::AccessControl access_{std::make_shared<access::Rulebook>(), absl::Now};
  support::ManualClock clock_;
  Auditor auditor_{{log_, "rpc"}, &*trail_};
  CurrentLimits limits_{{.max_ttl = Millis(60'000)}};
  Gate gate_{limits_, access_, clock_, auditor_, metrics_, 1};
  RequestIds request_ids_{7};
  const grpc::CallbackServerContext call_;
  Caller caller_{call_, request_ids_, Arrival::kInTime};
  Operation operation_;
};

TEST_F(AuditorTest, GrantHasItsTokenAndNeverItsIdOrProof) {
  const core::Lease lease = LeaseOf("n");
  Answered(Verb::kAcquire, &lease, Outcome::kGranted);

  const std::string trail = Trail();
  EXPECT_THAT(
      trail,
      AllOf(HasSubstr(R"("verb":"acquire","outcome":"granted","lock":"n","fencing_token":7,)"),
            HasSubstr(R"("owner":"ada","ttl_ms":5000,"waited_ms":250})")));
  EXPECT_THAT(trail, AllOf(Not(HasSubstr("00112233")), Not(HasSubstr("proof"))));
}

TEST_F(AuditorTest, OfferAndCancelledGrantAreTold) {
  core::Lease lease = LeaseOf("n");
  lease.offered = true;
  Answered(Verb::kAcquire, &lease, Outcome::kCancelled);

  EXPECT_THAT(Trail(),
              AllOf(HasSubstr(R"("outcome":"cancelled")"), HasSubstr(R"("offered":true)")));
}

// The lock is free, whether its holder hears of it or not.
TEST_F(AuditorTest, ReleaseOfACallerThatHasLeftIsARelease) {
  Answered(Verb::kRelease, nullptr, Outcome::kCancelled);

  EXPECT_THAT(Trail(), HasSubstr(R"("verb":"release","outcome":"released","lock":"n")"));
}

TEST_F(AuditorTest, WhatChangesNothingHasNoRecord) {
  const core::Lease lease = LeaseOf("n");
  Answered(Verb::kExtend, &lease, Outcome::kExtended);
  Answered(Verb::kAcquire, nullptr, Outcome::kContention);
  Answered(Verb::kFence, nullptr, Outcome::kAdmitted);
  Answered(Verb::kAcquire, nullptr, Outcome::kError,
           core::Error(ErrorReason::kStoreUnavailable, "away"));
  Answered(Verb::kRelease, nullptr, Outcome::kError,
           core::Error(ErrorReason::kStoreUnavailable, "away"));
  EXPECT_EQ(core::ReasonOf(Admit(Of<v1::AcquireRequest>("with{brace"))),
            ErrorReason::kInvalidField);

  EXPECT_THAT(Trail(), IsEmpty());
}

TEST_F(AuditorTest, RejectedWatchSaysOfWhichLocks) {
  using Match = core::WatchFilter::Match;
  const absl::Status why = core::Error(ErrorReason::kPermissionDenied, "no");
  for (const auto& [match, text] : {std::pair(Match::kName, "n"), {Match::kPrefix, "team/"}}) {
    auditor_.Rejected(caller_, {WatchRequest{{match, text}}}, why, Rejection::kOfCaller);
  }

  EXPECT_THAT(Trail(), AllOf(HasSubstr(R"("verb":"watch","outcome":"error","lock":"n",)"),
                             HasSubstr(R"("prefix":"team/")")));
}

TEST_F(AuditorTest, GrantsAreRefusedWhileRecordsCannotBeWrittenAndNothingElse) {
  ASSERT_TRUE(Admit(Of<v1::AcquireRequest>("n")).ok());
  disk_.is_broken = true;
  const core::Lease lease = LeaseOf("n");
  Answered(Verb::kAcquire, &lease, Outcome::kGranted);
  while (!trail_->RefusesGrants()) std::this_thread::yield();

  const absl::Status refused = Admit(Of<v1::AcquireRequest>("n"));
  EXPECT_EQ(core::ReasonOf(refused), ErrorReason::kAuditUnavailable);
  EXPECT_TRUE(Admit(Of<v1::ExtendRequest>("n")).ok());
  EXPECT_TRUE(Admit(Of<v1::ReleaseRequest>("n")).ok());
  EXPECT_EQ(core::ReasonOf(Admit(Of<v1::AcquireRequest>("with{brace"))),
            ErrorReason::kInvalidField);

  disk_.is_broken = false;
  while (trail_->RefusesGrants()) std::this_thread::yield();
  EXPECT_TRUE(Admit(Of<v1::AcquireRequest>("n")).ok());
  const std::string trail = Trail();
  EXPECT_THAT(trail, HasSubstr(R"("outcome":"granted")"));
  EXPECT_THAT(trail, Not(HasSubstr("AUDIT_UNAVAILABLE")));
}

TEST_F(AuditorTest, WithoutATrailNothingIsRefused) {
  Auditor without({log_, "rpc"}, nullptr);
  EXPECT_TRUE(without.CheckGrant().ok());
  without.Answered(Verb::kRelease, caller_, {}, Outcome::kReleased, absl::OkStatus());
  EXPECT_THAT(Trail(), IsEmpty());
}

}  // namespace
}  // namespace lockkeeper::rpc
