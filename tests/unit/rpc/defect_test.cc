// SPDX-License-Identifier: Apache-2.0
//
// An answer that only a defect can give is counted and logged, whichever way it goes to the client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/errors.h"
#include "support/rpc/error_reason.h"
#include "support/rpc/in_process_server.h"
#include "support/rpc/lock_client.h"
#include "support/rpc/lock_requests.h"
#include "support/rpc/session_caller.h"

namespace lockkeeper::rpc {
namespace {

using core::ErrorReason;
using support::SessionCaller;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kLeaseId(core::HexId::kLength, 'a');

class DefectTest : public testing::Test {
 protected:
  support::ScriptedStore& store() { return server_.store(); }

  void AnswerFences(const absl::Status& status) {
    store().on_fence = [this, status](const core::FenceRequest&, auto done) {
      store().AnswerLater<core::FenceAnswer>(std::move(done), status);
    };
  }

  bool Counted(int times) {
    const std::string line = "\nlockkeeper_invariant_violated_total " + std::to_string(times);
    return server_.metrics().Expose().find(line + "\n") != std::string::npos;
  }
  auto Logged() { return server_.log().LinesWith("event=invariant.violated"); }

  support::InProcessServer server_;
};

TEST_F(DefectTest, CallThatFailsByADefectIsCountedAndLogged) {
  AnswerFences(core::Error(ErrorReason::kInvariantViolated, "two holders"));
  support::LockClient client(server_.NewChannel());
  EXPECT_TRUE(Counted(0));

  EXPECT_EQ(client.Fence(support::FenceOf("a", 1)).reason, "INVARIANT_VIOLATED");

  EXPECT_TRUE(Counted(1));
  EXPECT_THAT(Logged(), ElementsAre(AllOf(HasSubstr("level=error"), HasSubstr("component=rpc"),
                                          HasSubstr("problem=\"two holders\""))));
}

TEST_F(DefectTest, StatusWithoutAReasonIsADefect) {
  AnswerFences(absl::UnknownError("whose is it?"));
  support::LockClient client(server_.NewChannel());

  EXPECT_EQ(client.Fence(support::FenceOf("a", 1)).reason, "INVARIANT_VIOLATED");

  EXPECT_TRUE(Counted(1));
  EXPECT_THAT(Logged(), ElementsAre(HasSubstr("whose is it?")));
}

TEST_F(DefectTest, OtherErrorsAreNone) {
  AnswerFences(core::Error(ErrorReason::kStoreUnavailable, "it is away"));
  support::LockClient client(server_.NewChannel());

  EXPECT_EQ(client.Fence(support::FenceOf("a", 1)).reason, "STORE_UNAVAILABLE");

  EXPECT_TRUE(Counted(0));
}

TEST_F(DefectTest, EachAnswerOfASessionCounts) {
  store().on_acquire = [this](const core::AcquireRequest& request, auto done) {
    core::Lease lease;
    lease.name = request.name;
    lease.lease_id = request.lease_id;
    lease.ttl = request.ttl;
    lease.remaining_ttl = request.ttl / 3;  // A heartbeat extends it.
    store().AnswerLater<core::AcquireOutcome>(std::move(done), core::AcquireOutcome(lease));
  };
  store().on_extend = [this](const core::ExtendRequest&, auto done) {
    store().AnswerLater<core::Lease>(std::move(done),
                                     core::Error(ErrorReason::kInvariantViolated, "another shape"));
  };
  SessionCaller session(server_.NewChannel());
  session.Open();
  session.Send({support::AcquireOperation(1, "a", kLeaseId)});
  ASSERT_TRUE(session.ReadResult()->has_acquire());
  EXPECT_TRUE(Counted(0));

  session.Send({support::ExtendOperation(2, "b", kLeaseId)});
  ASSERT_TRUE(session.ReadResult()->has_error());
  EXPECT_TRUE(Counted(1)) << "a result";

  v1::SessionRequest adopt;
  adopt.mutable_adopt()->set_name("c");
  adopt.mutable_adopt()->set_lease_id(kLeaseId);
  adopt.mutable_adopt()->set_fencing_token(1);
  session.Send(adopt);
  ASSERT_TRUE(session.Read()->adopt_result().has_error());
  EXPECT_TRUE(Counted(2)) << "an adoption";

  session.Heartbeat(7);
  ASSERT_EQ(session.Read()->heartbeat_result().not_extended_size(), 1);
  EXPECT_TRUE(Counted(3)) << "a heartbeat";
  EXPECT_THAT(Logged(), testing::Not(testing::IsEmpty()));
}

}  // namespace
}  // namespace lockkeeper::rpc
