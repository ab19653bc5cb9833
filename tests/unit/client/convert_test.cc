// SPDX-License-Identifier: Apache-2.0
#include "transport/convert.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace lockkeeper::client {
namespace {

using namespace std::chrono_literals;

google::protobuf::Duration Proto(int64_t seconds, int32_t nanos) {
  google::protobuf::Duration duration;
  duration.set_seconds(seconds);
  duration.set_nanos(nanos);
  return duration;
}

TEST(ConvertTest, DurationsKeepTheirNanoseconds) {
  EXPECT_EQ(FromProto(ToProto(29'650ms + 7ns)), 29'650ms + 7ns);
  EXPECT_EQ(FromProto(ToProto(0s)), 0s);
}

TEST(ConvertTest, NonsenseDurationsOfAServerAreBounded) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(FromProto(Proto(-5, -5)), 0s);
  EXPECT_EQ(FromProto(Proto(kMax, 0)), 24h);
  EXPECT_LT(FromProto(Proto(1, std::numeric_limits<int32_t>::max())), 2s);
}

TEST(ConvertTest, ResponseWithoutLeaseIsNeverAGrant) {
  EXPECT_TRUE(absl::IsInternal(FromProto(v1::AcquireResponse()).status()));

  v1::AcquireResponse contention;
  contention.mutable_contention();
  const auto answer = FromProto(contention);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(std::get<Contention>(*answer).reason, ContentionReason::kHeld);
}

TEST(ConvertTest, ClosedLockIsNotTakenForAHeldOne) {
  v1::Contention contention;
  contention.set_reason(v1::CONTENTION_REASON_CLOSED);
  EXPECT_EQ(FromProto(contention).reason, ContentionReason::kClosed);
}

TEST(ConvertTest, UnknownEnumValuesOfANewerServerAreTheSafeOnes) {
  v1::Contention contention;
  contention.set_reason(static_cast<v1::ContentionReason>(77));
  EXPECT_EQ(FromProto(contention).reason, ContentionReason::kHeld);

  v1::ReleaseResponse release;
  release.set_reason(static_cast<v1::NotReleasedReason>(77));
  EXPECT_EQ(FromProto(release), ReleaseOutcome::kNotHolder);

  v1::FenceResponse fence;
  fence.set_verdict(static_cast<v1::Verdict>(77));
  EXPECT_FALSE(FromProto(fence).admitted());
  EXPECT_FALSE(FromProto(v1::FenceResponse()).admitted());

  v1::Lease lease;
  lease.set_assurance(static_cast<v1::Assurance>(77));
  EXPECT_EQ(FromProto(lease).grant.assurance, Assurance::kQuorum);
}

TEST(ConvertTest, RequestCarriesEveryOption) {
  const v1::AcquireRequest request = ToProto("report",
                                             {.ttl = 10s,
                                              .wait_timeout = 5s,
                                              .labels = {{"app", "billing"}},
                                              .lock_delay = 2s,
                                              .max_hold = 60s,
                                              .hold_at_least = 1h,
                                              .min_assurance = Assurance::kDisk},
                                             "host/1");

  EXPECT_EQ(request.name(), "report");
  EXPECT_EQ(FromProto(request.ttl()), 10s);
  EXPECT_EQ(request.owner(), "host/1");
  EXPECT_EQ(request.labels().at("app"), "billing");
  EXPECT_EQ(FromProto(request.lock_delay()), 2s);
  EXPECT_EQ(FromProto(request.max_hold()), 60s);
  EXPECT_EQ(FromProto(request.hold_at_least()), 1h);
  EXPECT_TRUE(request.confirm());
  EXPECT_EQ(request.min_assurance(), v1::ASSURANCE_DISK);
}

TEST(ConvertTest, DefaultsAreLeftToTheServer) {
  const v1::AcquireRequest request = ToProto("report", {}, "");

  EXPECT_FALSE(request.has_ttl());
  EXPECT_FALSE(request.has_lock_delay());
  EXPECT_FALSE(request.has_max_hold());
  EXPECT_FALSE(request.has_hold_at_least());
  EXPECT_FALSE(request.confirm()) << "without a wait there is no offer to claim";
}

TEST(ConvertTest, EventsThatMeanTheSameForALeaderAreTheSame) {
  using Kind = LockEvent::Kind;
  const std::vector<Kind> kinds = {
      Kind::kUnknown,   Kind::kStarted,   Kind::kMayMiss, Kind::kGranted,
      Kind::kOffered,   Kind::kExtended,  Kind::kEnded,   Kind::kEnded,
      Kind::kLost,      Kind::kEnded,     Kind::kEnded,   Kind::kUnrelated,
      Kind::kUnrelated, Kind::kUnrelated, Kind::kMayMiss, Kind::kUnknown};
  admin::v1::LockEvent event;
  event.set_fencing_token(7);
  event.set_owner("alice");
  event.set_principal("mtls:alice");
  for (size_t i = 0; i < kinds.size(); ++i) {
    event.set_kind(static_cast<admin::v1::LockEventKind>(i));
    EXPECT_EQ(FromProto(event).kind, kinds[i]) << i;
  }
  EXPECT_EQ(FromProto(event).lease,
            (Leader{.fencing_token = 7, .owner = "alice", .principal = "mtls:alice"}));
}

TEST(ConvertTest, LookKeepsWhatIsMissing) {
  admin::v1::GetLockResponse response;
  EXPECT_EQ(FromProto(response).state, LockLook::State::kNone);
  EXPECT_EQ(FromProto(response).quarantine_left, std::nullopt);

  response.mutable_quarantine_left()->set_seconds(7);
  response.mutable_lock()->set_fencing_token(5);
  response.mutable_lock()->set_owner("alice");
  using State = LockLook::State;
  const std::vector<State> states = {State::kUnproven, State::kHeld,     State::kOffered,
                                     State::kEnded,    State::kUnproven, State::kUnproven};
  for (size_t i = 0; i < states.size(); ++i) {
    response.mutable_lock()->set_state(static_cast<admin::v1::LockState>(i));
    EXPECT_EQ(FromProto(response).state, states[i]) << i;
  }
  EXPECT_EQ(FromProto(response).lease, (Leader{.fencing_token = 5, .owner = "alice"}));
  EXPECT_EQ(FromProto(response).quarantine_left, 7s);
}

}  // namespace
}  // namespace lockkeeper::client
