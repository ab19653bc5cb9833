// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "lockkeeper/v1/lock_service.grpc.pb.h"
#include "support/rpc/deadline.h"
#include "support/rpc/in_process_server.h"

namespace lockkeeper::rpc {
namespace {

using core::AcquireOutcome;
using core::ErrorReason;
using core::Lease;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr char kLeaseId[] = "00112233445566778899aabbccddeeff";

std::string ReasonOf(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return "no details";
  google::rpc::ErrorInfo info;
  for (const auto& any : details.details()) {
    if (any.UnpackTo(&info)) return info.reason();
  }
  return "no ErrorInfo";
}

Lease LeaseFor(const core::AcquireRequest& request) {
  return {.name = request.name,
          .lease_id = request.lease_id,
          .token = {7},
          .ttl = request.ttl,
          .remaining_ttl = request.ttl};
}

class LockServiceTest : public testing::Test {
 protected:
  LockServiceTest() : stub_(v1::LockService::NewStub(server_.NewChannel())) {}

  support::ScriptedStore& store() { return server_.store(); }

  // Grants whatever is asked, and remembers it.
  void GrantAll() {
    store().on_acquire = [this](const core::AcquireRequest& request, auto done) {
      acquired_.push_back(request);
      store().AnswerLater<AcquireOutcome>(std::move(done), AcquireOutcome(LeaseFor(request)));
    };
  }

  static v1::AcquireRequest AcquireRequest(const std::string& name = "n") {
    v1::AcquireRequest request;
    request.set_name(name);
    request.set_lease_id(kLeaseId);
    return request;
  }

  grpc::Status Acquire(const v1::AcquireRequest& request) {
    grpc::ClientContext context;
    return stub_->Acquire(&context, request, &acquire_response_);
  }

  support::InProcessServer server_;
  std::unique_ptr<v1::LockService::Stub> stub_;
  v1::AcquireResponse acquire_response_;
  std::vector<core::AcquireRequest> acquired_;  // Read it when the calls are answered.
};

TEST_F(LockServiceTest, AcquireOfAFreeLockAnswersTheLease) {
  GrantAll();

  ASSERT_TRUE(Acquire(AcquireRequest()).ok());

  ASSERT_TRUE(acquire_response_.has_lease());
  EXPECT_EQ(acquire_response_.lease().lease_id(), kLeaseId);
  EXPECT_EQ(acquire_response_.lease().fencing_token(), 7);
  ASSERT_THAT(acquired_, SizeIs(1));
  EXPECT_EQ(acquired_[0].name, "n");
  EXPECT_EQ(acquired_[0].principal, "");
}

TEST_F(LockServiceTest, AcquireOfAHeldLockAnswersContention) {
  store().on_acquire = [this](const core::AcquireRequest&, auto done) {
    store().AnswerLater<AcquireOutcome>(
        std::move(done), AcquireOutcome(core::Contention{.holder_owner = "somebody"}));
  };

  ASSERT_TRUE(Acquire(AcquireRequest()).ok());

  EXPECT_FALSE(acquire_response_.has_lease());
  EXPECT_EQ(acquire_response_.contention().holder_owner(), "somebody");
}

TEST_F(LockServiceTest, BadFieldIsRefusedBeforeTheStoreHearsOfIt) {
  GrantAll();

  const grpc::Status status = Acquire(AcquireRequest("with{brace"));

  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("name"));
  EXPECT_EQ(ReasonOf(status), "INVALID_FIELD");
  EXPECT_THAT(acquired_, SizeIs(0));
}

TEST_F(LockServiceTest, StoreErrorKeepsItsReason) {
  store().on_acquire = [this](const core::AcquireRequest&, auto done) {
    store().AnswerLater<AcquireOutcome>(std::move(done),
                                        core::Error(ErrorReason::kLeaseEnded, "used up"));
  };

  const grpc::Status status = Acquire(AcquireRequest());

  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), "LEASE_ENDED");
  EXPECT_EQ(status.error_message(), "used up");
}

TEST_F(LockServiceTest, EachAcquireHasItsOwnKeeper) {
  GrantAll();

  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Acquire(AcquireRequest()).ok());

  std::set<std::string> keepers;
  for (const auto& request : acquired_) {
    EXPECT_EQ(request.keeper.digits().substr(0, 16), core::Hex16(support::kTestDaemonId));
    keepers.emplace(request.keeper.digits());
  }
  EXPECT_THAT(keepers, SizeIs(3));
}

TEST_F(LockServiceTest, MinAssuranceReachesTheStore) {
  GrantAll();
  v1::AcquireRequest request = AcquireRequest();
  request.set_min_assurance(v1::ASSURANCE_QUORUM);
  store().on_withdraw = [this](const core::WithdrawRequest&, auto done) {
    store().AnswerLater<core::WithdrawResult>(std::move(done), core::WithdrawResult::kWithdrawn);
  };

  const grpc::Status status = Acquire(request);

  EXPECT_EQ(ReasonOf(status), "ASSURANCE_NOT_REACHED") << "the lease does not have it";
  EXPECT_EQ(acquired_.at(0).min_assurance, core::Assurance::kQuorum);
}

TEST_F(LockServiceTest, DeadlineReachesTheStoreOnTheMonotonicClock) {
  GrantAll();
  grpc::ClientContext context;
  support::SetDeadline(context, std::chrono::seconds(10));
  const core::Instant before = server_.loop().Now();

  ASSERT_TRUE(stub_->Acquire(&context, AcquireRequest(), &acquire_response_).ok());

  // The domain keeps a part of it back for the reply and a withdrawal.
  EXPECT_GT(acquired_.at(0).deadline, before);
  EXPECT_LT(acquired_.at(0).deadline, before + std::chrono::seconds(10));
}

TEST_F(LockServiceTest, ExtendAnswersTheLeaseOrThatItIsLost) {
  store().on_extend = [this](const core::ExtendRequest& request, auto done) {
    if (request.name == "lost") {
      return store().AnswerLater<Lease>(std::move(done),
                                        core::Error(ErrorReason::kLeaseLost, "it ended"));
    }
    store().AnswerLater<Lease>(std::move(done),
                               Lease{.name = request.name, .token = {9}, .ttl = request.ttl});
  };
  v1::ExtendRequest request;
  request.set_name("held");
  request.set_lease_id(kLeaseId);
  request.mutable_ttl()->set_seconds(12);
  v1::ExtendResponse response;

  grpc::ClientContext first;
  ASSERT_TRUE(stub_->Extend(&first, request, &response).ok());
  EXPECT_EQ(response.lease().fencing_token(), 9);
  EXPECT_EQ(response.lease().ttl().seconds(), 12);

  request.set_name("lost");
  grpc::ClientContext second;
  EXPECT_EQ(ReasonOf(stub_->Extend(&second, request, &response)), "LEASE_LOST");
}

TEST_F(LockServiceTest, ReleaseOfAForeignLeaseIsAnAnswer) {
  store().on_release = [this](const core::ReleaseRequest&, auto done) {
    store().AnswerLater<core::ReleaseAnswer>(
        std::move(done), core::ReleaseAnswer{core::NotReleasedReason::kNotHolder});
  };
  v1::ReleaseRequest request;
  request.set_name("n");
  request.set_lease_id(kLeaseId);
  v1::ReleaseResponse response;
  grpc::ClientContext context;

  ASSERT_TRUE(stub_->Release(&context, request, &response).ok());

  EXPECT_FALSE(response.released());
  EXPECT_EQ(response.reason(), v1::NOT_RELEASED_REASON_NOT_HOLDER);
}

TEST_F(LockServiceTest, FenceAnswersTheVerdict) {
  store().on_fence = [this](const core::FenceRequest& request, auto done) {
    store().AnswerLater<core::FenceAnswer>(
        std::move(done),
        core::FenceAnswer{
            request.token.value == 5 ? core::Verdict::kAdmitted : core::Verdict::kStale, {5}});
  };
  v1::FenceRequest request;
  request.set_name("n");
  request.set_fencing_token(5);
  v1::FenceResponse response;

  grpc::ClientContext first;
  ASSERT_TRUE(stub_->Fence(&first, request, &response).ok());
  EXPECT_EQ(response.verdict(), v1::VERDICT_ADMITTED);

  request.set_fencing_token(4);
  grpc::ClientContext second;
  ASSERT_TRUE(stub_->Fence(&second, request, &response).ok());
  EXPECT_EQ(response.verdict(), v1::VERDICT_STALE);
  EXPECT_EQ(response.newest_fencing_token(), 5);
}

TEST_F(LockServiceTest, RequestBeyondTheSizeLimitIsRefused) {
  GrantAll();
  v1::AcquireRequest request = AcquireRequest();
  request.set_owner(std::string(64 * 1024, 'o'));

  EXPECT_EQ(Acquire(request).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(acquired_, SizeIs(0));
}

TEST_F(LockServiceTest, AnswerIsInTheLogUnderTheCallersRequestId) {
  GrantAll();
  v1::AcquireRequest request = AcquireRequest();
  request.set_owner("host-1");
  grpc::ClientContext context;
  context.AddMetadata("x-request-id", "req 4711");

  ASSERT_TRUE(stub_->Acquire(&context, request, &acquire_response_).ok());

  const std::vector<std::string> lines = server_.log().LinesWith("rpc.answered");
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("request_id=\"req 4711\""));
  EXPECT_THAT(lines[0], HasSubstr("rpc=Acquire"));
  EXPECT_THAT(lines[0], HasSubstr("owner_id=host-1"));
  EXPECT_THAT(lines[0], HasSubstr("lock_name=n"));
  EXPECT_THAT(lines[0], HasSubstr("outcome=granted"));
  EXPECT_THAT(lines[0], HasSubstr("lease_id_prefix=00112233"));
  EXPECT_THAT(lines[0], Not(HasSubstr(kLeaseId)));
}

TEST_F(LockServiceTest, MissingOrOverlongRequestIdIsReplaced) {
  GrantAll();
  grpc::ClientContext context;
  context.AddMetadata("x-request-id", std::string(129, 'r'));

  ASSERT_TRUE(stub_->Acquire(&context, AcquireRequest(), &acquire_response_).ok());
  ASSERT_TRUE(Acquire(AcquireRequest()).ok());

  const std::vector<std::string> lines = server_.log().LinesWith("rpc.answered");
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0], HasSubstr("request_id=0123456789abcdef-0 "));
  EXPECT_THAT(lines[1], HasSubstr("request_id=0123456789abcdef-1 "));
}

TEST_F(LockServiceTest, AnswersAreCountedByRpcAndOutcome) {
  GrantAll();

  ASSERT_TRUE(Acquire(AcquireRequest()).ok());
  ASSERT_FALSE(Acquire(AcquireRequest("")).ok());

  const std::string metrics = server_.metrics().Expose();
  EXPECT_THAT(metrics, HasSubstr("outcome=\"granted\",rpc=\"Acquire\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("outcome=\"error\",rpc=\"Acquire\"} 1"));
}

}  // namespace
}  // namespace lockkeeper::rpc
