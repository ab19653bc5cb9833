// SPDX-License-Identifier: Apache-2.0
#include "rpc/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "absl/time/clock.h"
#include "core/errors.h"
#include "support/manual_clock.h"
#include "support/rpc/captured_log.h"

namespace lockkeeper::rpc {
namespace {

using core::ErrorReason;
using core::Millis;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Millis kLong{20'000};
constexpr char kLeaseId[] = "00112233445566778899aabbccddeeff";

class GateTest : public testing::Test {
 protected:
  template <typename Message>
  absl::Status Admit(const Message& message, Arrival arrival = Arrival::kInTime) {
    Read(message, operation_);
    Caller caller(call_, request_ids_, arrival);
    return gate_.Admit(caller, operation_);
  }

  static v1::AcquireRequest Acquire(const std::string& name) {
    v1::AcquireRequest message;
    message.set_name(name);
    message.set_lease_id(kLeaseId);
    return message;
  }

  static admin::v1::ForceReleaseRequest ForceRelease(const std::string& name) {
    admin::v1::ForceReleaseRequest message;
    message.set_name(name);
    message.set_reason("stuck since noon");
    message.set_owner("ada@desk");
    return message;
  }

  support::CapturedLog output_;
  telemetry::Log log_{{}, output_};
  CurrentLimits limits_{{.max_ttl = Millis(60'000)}};
  access::AccessControl access_{std::make_shared<access::Rulebook>(), absl::Now};
  support::ManualClock clock_;
  Auditor auditor_{{log_, "rpc"}, nullptr};
  telemetry::Metrics metrics_{"test", "none"};
  Gate gate_{limits_, access_, clock_, auditor_, metrics_, 0x0123456789abcdef};
  RequestIds request_ids_{7};
  const grpc::CallbackServerContext call_;
  Operation operation_;
};

TEST_F(GateTest, CallsComeInUntilItIsClosed) {
  EXPECT_EQ(gate_.Enter(), Arrival::kInTime);
  gate_.Leave();
  EXPECT_EQ(gate_.Close(kLong), 0);
  EXPECT_EQ(gate_.Enter(), Arrival::kLate);
  gate_.Leave();
}

TEST_F(GateTest, OperationIsReadAndCheckedByTheLimitsOfItsTime) {
  v1::AcquireRequest asks = Acquire("n");
  asks.mutable_ttl()->set_seconds(60);
  ASSERT_TRUE(Admit(asks).ok());

  limits_.Replace({.max_ttl = Millis(20'000)});
  EXPECT_THAT(std::string(Admit(asks).message()), HasSubstr("from 100ms to 20s"));
  ASSERT_TRUE(Admit(Acquire("n")).ok());
  EXPECT_EQ(std::get<core::AcquireRequest>(operation_.request).ttl, Millis(20'000));

  limits_.Replace({.max_ttl = Millis(60'000), .default_ttl = Millis(50'000)});
  ASSERT_TRUE(Admit(asks).ok());
  ASSERT_TRUE(Admit(Acquire("n")).ok());
  EXPECT_EQ(std::get<core::AcquireRequest>(operation_.request).ttl, Millis(50'000));
}

TEST_F(GateTest, CloseTellsHowManyAreStillIn) {
  gate_.Enter();
  gate_.Enter();
  EXPECT_EQ(gate_.Close(Millis(0)), 2);
  gate_.Leave();
  gate_.Leave();
  EXPECT_EQ(gate_.Close(kLong), 0);
}

// However enter, leave and close meet: Close returns when those are out that were let in.
TEST_F(GateTest, CloseWaitsForTheLastToLeave) {
  for (int round = 0; round < 200; ++round) {
    Gate gate(limits_, access_, clock_, auditor_, metrics_, 1);
    std::atomic<int> working = 0;
    std::vector<std::thread> callers;
    callers.reserve(4);
    for (int i = 0; i < 4; ++i) {
      callers.emplace_back([&] {
        for (bool in_time = true; in_time;) {
          in_time = gate.Enter() == Arrival::kInTime;
          if (in_time) ++working;
          if (in_time) --working;
          gate.Leave();
        }
      });
    }
    EXPECT_EQ(gate.Close(kLong), 0);
    EXPECT_EQ(working.load(), 0);
    for (std::thread& caller : callers) caller.join();
  }
}

TEST_F(GateTest, AdmittedAcquiresHaveAKeeperThatNoOtherHas) {
  std::set<std::string> keepers;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(Admit(Acquire("n")).ok());
    keepers.emplace(std::get<core::AcquireRequest>(operation_.request).keeper.digits());
    keepers.emplace(gate_.NewHolder().digits());
  }
  EXPECT_THAT(keepers, testing::SizeIs(6));
}

TEST_F(GateTest, PrincipalIsTheCallersAndNobodyElses) {
  Read(Acquire("n"), operation_);
  auto& request = std::get<core::AcquireRequest>(operation_.request);
  request.principal = "somebody";
  Caller anonymous(call_, request_ids_, Arrival::kInTime);

  ASSERT_TRUE(gate_.Admit(anonymous, operation_).ok());

  EXPECT_EQ(request.principal, "");
}

TEST_F(GateTest, OperationBeyondALimitIsRejected) {
  const absl::Status status = Admit(Acquire("with{brace"));
  EXPECT_EQ(core::ReasonOf(status), ErrorReason::kInvalidField);
  EXPECT_EQ(core::FieldOf(status), "name");
}

// A client that is told to go elsewhere does so; that its request is malformed it hears there.
TEST_F(GateTest, LateOperationIsTurnedAwayBeforeItIsChecked) {
  const absl::Status status = Admit(Acquire("with{brace"), Arrival::kLate);
  EXPECT_EQ(core::ReasonOf(status), ErrorReason::kServerDraining);
}

TEST_F(GateTest, DaemonTellsOfItselfUntilItsEnd) {
  EXPECT_TRUE(Admit(admin::v1::GetServerInfoRequest(), Arrival::kLate).ok());
}

TEST_F(GateTest, RejectedForceReleaseIsAudited) {
  EXPECT_FALSE(Admit(ForceRelease("with{brace")).ok());
  EXPECT_FALSE(Admit(ForceRelease("n"), Arrival::kLate).ok());
  EXPECT_TRUE(Admit(ForceRelease("n")).ok());

  EXPECT_THAT(output_.LinesWith("event=audit.force_release_rejected "),
              ElementsAre(AllOf(HasSubstr("level=warn"), HasSubstr("lock_name=with{brace"),
                                HasSubstr("owner_id=ada@desk"),
                                HasSubstr("audit_reason=\"stuck since noon\""),
                                HasSubstr("request_id=0000000000000007-0"), HasSubstr("problem=")),
                          HasSubstr("stopping")));
}

// Whoever may send requests may not fill the disk with them.
TEST_F(GateTest, AuditRecordHoldsNoMoreOfATextThanIsAllowed) {
  admin::v1::ForceReleaseRequest message = ForceRelease(std::string(10'000, 'n'));
  message.set_reason(std::string(10'000, 'r'));
  message.set_owner(std::string(10'000, 'o'));
  EXPECT_FALSE(Admit(message).ok());

  const auto lines = output_.LinesWith("event=audit.force_release_rejected ");
  ASSERT_THAT(lines, testing::SizeIs(1));
  EXPECT_LT(lines[0].size(), 2'500U);
}

TEST_F(GateTest, OtherRejectedOperationsAreNotAudited) {
  EXPECT_FALSE(Admit(Acquire("with{brace")).ok());
  EXPECT_THAT(output_.LinesWith("audit."), IsEmpty());
}

}  // namespace
}  // namespace lockkeeper::rpc
