// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "support/rpc/in_process_server.h"

namespace lockkeeper::rpc {
namespace {

using core::ErrorReason;
using testing::HasSubstr;
using testing::SizeIs;

class AdminServiceTest : public testing::Test {
 protected:
  AdminServiceTest() : stub_(admin::v1::AdminService::NewStub(server_.NewChannel())) {}

  support::ScriptedStore& store() { return server_.store(); }

  admin::v1::ForceReleaseRequest ForceReleaseRequest() const {
    admin::v1::ForceReleaseRequest request;
    request.set_name("n");
    request.set_reason("stuck since noon");
    request.set_owner("ada@desk");
    return request;
  }

  admin::v1::EndQuarantineRequest EndQuarantineRequest() const {
    admin::v1::EndQuarantineRequest request;
    request.set_epoch(7);
    request.set_reason("all jobs are stopped");
    request.set_accept_two_holders(true);
    request.set_owner("ada@desk");
    return request;
  }

  support::InProcessServer server_;
  std::unique_ptr<admin::v1::AdminService::Stub> stub_;
  grpc::ClientContext context_;
};

TEST_F(AdminServiceTest, GetLockAnswersTheRecord) {
  store().on_get = [this](const std::string& name, auto done) {
    store().AnswerLater<std::optional<core::LockInfo>>(
        std::move(done), std::optional(core::LockInfo{.name = name, .token = {5}}));
  };
  admin::v1::GetLockRequest request;
  request.set_name("n");
  admin::v1::GetLockResponse response;

  ASSERT_TRUE(stub_->GetLock(&context_, request, &response).ok());

  EXPECT_EQ(response.lock().name(), "n");
  EXPECT_EQ(response.lock().fencing_token(), 5);
}

TEST_F(AdminServiceTest, GetLockAnswersTheLeasesThatHaveEnded) {
  store().on_get = [this](const std::string& name, auto done) {
    store().AnswerLater<std::optional<core::LockInfo>>(
        std::move(done), std::optional(core::LockInfo{
                             .name = name,
                             .history = {{{7}, "ada", core::LeaseEnd::kExpired, {1'500'000}},
                                         {{6}, "", core::LeaseEnd::kForced, {1'000'000}}}}));
  };
  admin::v1::GetLockRequest request;
  request.set_name("n");
  admin::v1::GetLockResponse response;

  ASSERT_TRUE(stub_->GetLock(&context_, request, &response).ok());

  ASSERT_EQ(response.history_size(), 2);
  EXPECT_EQ(response.history(0).fencing_token(), 7);
  EXPECT_EQ(response.history(0).owner(), "ada");
  EXPECT_EQ(response.history(0).end(), admin::v1::LEASE_END_EXPIRED);
  EXPECT_EQ(response.history(0).end_time().seconds(), 1);
  EXPECT_EQ(response.history(0).end_time().nanos(), 500'000'000);
  EXPECT_EQ(response.history(1).end(), admin::v1::LEASE_END_FORCED);
}

TEST_F(AdminServiceTest, GetLockWithoutARecordAnswersNoLock) {
  store().on_get = [this](const std::string&, auto done) {
    store().AnswerLater<std::optional<core::LockInfo>>(std::move(done),
                                                       std::optional<core::LockInfo>());
  };
  admin::v1::GetLockRequest request;
  request.set_name("n");
  admin::v1::GetLockResponse response;

  ASSERT_TRUE(stub_->GetLock(&context_, request, &response).ok());

  EXPECT_FALSE(response.has_lock());
}

// What has no record may be held all the same, by somebody whose lease the store has forgotten.
TEST_F(AdminServiceTest, AnswersSayThatAQuarantineRuns) {
  store().on_get = [this](const std::string&, auto done) {
    store().AnswerLater<std::optional<core::LockInfo>>(std::move(done),
                                                       std::optional<core::LockInfo>());
  };
  store().on_list = [this](const core::ListRequest&, auto done) {
    store().AnswerLater<core::LockPage>(std::move(done), core::LockPage{});
  };
  admin::v1::GetLockRequest get;
  get.set_name("n");
  admin::v1::GetLockResponse got;
  admin::v1::ListLocksResponse listed;
  const auto ask = [&](bool grants) {
    server_.health().ReportStore([&](telemetry::StoreStatus& status) {
      status.grants = grants;
      status.quarantine_over = server_.Deps().clock.Now() + std::chrono::hours(1);
    });
    grpc::ClientContext get_context;
    grpc::ClientContext list_context;
    ASSERT_TRUE(stub_->GetLock(&get_context, get, &got).ok());
    ASSERT_TRUE(stub_->ListLocks(&list_context, {}, &listed).ok());
  };

  ask(/*grants=*/false);

  EXPECT_THAT(got.quarantine_left().seconds(),
              testing::AllOf(testing::Gt(3500), testing::Le(3600)));
  EXPECT_THAT(listed.quarantine_left().seconds(), testing::Gt(3500));

  ask(/*grants=*/true);

  EXPECT_FALSE(got.has_quarantine_left());
  EXPECT_FALSE(listed.has_quarantine_left());
}

TEST_F(AdminServiceTest, ListLocksAnswersAPage) {
  store().on_list = [this](const core::ListRequest& request, auto done) {
    store().AnswerLater<core::LockPage>(
        std::move(done), core::LockPage{{{.name = request.prefix + "1"}}, "more", 0});
  };
  admin::v1::ListLocksRequest request;
  request.set_prefix("jobs/");
  admin::v1::ListLocksResponse response;

  ASSERT_TRUE(stub_->ListLocks(&context_, request, &response).ok());

  ASSERT_EQ(response.locks_size(), 1);
  EXPECT_EQ(response.locks(0).name(), "jobs/1");
  EXPECT_EQ(response.next_page_token(), "more");
}

TEST_F(AdminServiceTest, ListLocksLeavesOutTheLocksOfOtherPrincipals) {
  store().on_list = [this](const core::ListRequest&, auto done) {
    store().AnswerLater<core::LockPage>(
        std::move(done),
        core::LockPage{
            {{.name = "a", .principal = "ci"}, {.name = "b", .principal = "cig"}, {.name = "c"}},
            "more"});
  };
  const auto names_of = [this](const std::string& principal) {
    admin::v1::ListLocksRequest request;
    request.set_holder_principal(principal);
    admin::v1::ListLocksResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(stub_->ListLocks(&context, request, &response).ok());
    EXPECT_EQ(response.next_page_token(), "more");
    std::string names;
    for (const admin::v1::Lock& lock : response.locks()) names += lock.name();
    return names;
  };

  EXPECT_EQ(names_of("ci"), "a");
  EXPECT_EQ(names_of("anonymous"), "c");
  EXPECT_EQ(names_of("nobody"), "");
  EXPECT_EQ(names_of(""), "abc");
}

TEST_F(AdminServiceTest, ListLocksRejectsAPrincipalThatNobodyCanHave) {
  admin::v1::ListLocksRequest request;
  request.set_holder_principal(std::string(257, 'p'));
  admin::v1::ListLocksResponse response;

  const grpc::Status status = stub_->ListLocks(&context_, request, &response);

  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("holder_principal: "));
  EXPECT_THAT(status.error_message(), HasSubstr("256"));
}

TEST_F(AdminServiceTest, ListContendedLocksAnswersWhatWasWaitedFor) {
  server_.loop().RunAndWait([this] {
    for (const char* name : {"jobs/1", "jobs/2", "jobs/2", "other"}) {
      server_.contended().OnWaitEnded(name, {}, core::WaitEnd::kTimedOut, core::Millis(1'500));
    }
  });
  admin::v1::ListContendedLocksRequest request;
  request.set_prefix("jobs/");
  admin::v1::ListContendedLocksResponse response;

  ASSERT_TRUE(stub_->ListContendedLocks(&context_, request, &response).ok());

  ASSERT_EQ(response.locks_size(), 2);
  EXPECT_EQ(response.locks(0).name(), "jobs/2");
  EXPECT_EQ(response.locks(0).waits(), 2);
  EXPECT_EQ(response.locks(0).waited().seconds(), 3);
  EXPECT_EQ(response.locks(1).name(), "jobs/1");
  EXPECT_EQ(response.daemon_id(), core::Hex16(support::kTestDaemonId));
  EXPECT_TRUE(response.has_window());
  EXPECT_FALSE(response.approximate());
}

TEST_F(AdminServiceTest, ForceReleaseLeavesAnAuditRecord) {
  store().on_force_release = [this](const core::ForceReleaseRequest&, auto done) {
    store().AnswerLater<core::ForceReleaseAnswer>(
        std::move(done), core::ForceReleaseAnswer{true, {8}, core::Millis(1'500), "host-1"});
  };
  context_.AddMetadata("x-request-id", "ticket-17");
  admin::v1::ForceReleaseResponse response;

  ASSERT_TRUE(stub_->ForceRelease(&context_, ForceReleaseRequest(), &response).ok());

  EXPECT_TRUE(response.released());
  EXPECT_EQ(response.fencing_token(), 8);
  EXPECT_EQ(response.holder_owner(), "host-1");
  const auto lines = server_.log().LinesWith("event=audit.force_release ");
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("level=info"));
  EXPECT_THAT(lines[0], HasSubstr("request_id=ticket-17"));
  EXPECT_THAT(lines[0], HasSubstr("peer=unix:"));
  EXPECT_THAT(lines[0], HasSubstr("lock_name=n"));
  EXPECT_THAT(lines[0], HasSubstr("owner_id=ada@desk"));
  EXPECT_THAT(lines[0], HasSubstr("audit_reason=\"stuck since noon\""));
  EXPECT_THAT(lines[0], HasSubstr("holder_owner=host-1"));
  EXPECT_THAT(lines[0], HasSubstr("fencing_token=8"));
  EXPECT_THAT(lines[0], HasSubstr("closed_for_ms=1500"));
  EXPECT_THAT(lines[0], HasSubstr("outcome=force_released"));
}

TEST_F(AdminServiceTest, AuditTellsThatThereWasNoLeaseToEnd) {
  store().on_force_release = [this](const core::ForceReleaseRequest&, auto done) {
    store().AnswerLater<core::ForceReleaseAnswer>(
        std::move(done),
        core::ForceReleaseAnswer{
            .released = false, .token = {7}, .closed_for = core::Millis(1500), .holder_owner = ""});
  };
  admin::v1::ForceReleaseResponse response;

  ASSERT_TRUE(stub_->ForceRelease(&context_, ForceReleaseRequest(), &response).ok());

  EXPECT_FALSE(response.released());
  EXPECT_THAT(server_.log().LinesWith("event=audit.force_release "), SizeIs(0));
  const auto lines = server_.log().LinesWith("event=audit.force_release_found_none ");
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("lock_name=n"));
  EXPECT_THAT(lines[0], HasSubstr("owner_id=ada@desk"));
  EXPECT_THAT(lines[0], HasSubstr("audit_reason=\"stuck since noon\""));
  EXPECT_THAT(lines[0], HasSubstr("closed_for_ms=1500"));
  EXPECT_THAT(lines[0], HasSubstr("outcome=not_released"));
}

TEST_F(AdminServiceTest, ForceReleaseOfUnknownOutcomeIsAuditedToo) {
  store().on_force_release = [this](const core::ForceReleaseRequest&, auto done) {
    store().AnswerLater<core::ForceReleaseAnswer>(
        std::move(done), core::Error(ErrorReason::kOutcomeUnknown, "no reply"));
  };
  admin::v1::ForceReleaseResponse response;

  EXPECT_EQ(stub_->ForceRelease(&context_, ForceReleaseRequest(), &response).error_code(),
            grpc::StatusCode::UNAVAILABLE);

  const auto lines = server_.log().LinesWith("event=audit.force_release_failed ");
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("lock_name=n"));
  EXPECT_THAT(lines[0], HasSubstr("owner_id=ada@desk"));
  EXPECT_THAT(lines[0], HasSubstr("problem=\"no reply\""));
}

TEST_F(AdminServiceTest, RejectedForceReleaseIsAuditedOnce) {
  admin::v1::ForceReleaseRequest request = ForceReleaseRequest();
  request.set_name("with{brace");
  admin::v1::ForceReleaseResponse response;

  EXPECT_EQ(stub_->ForceRelease(&context_, request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);

  const auto lines = server_.log().LinesWith("event=audit.");
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("event=audit.force_release_rejected"));
  EXPECT_THAT(lines[0], HasSubstr("peer=unix:"));
}

TEST_F(AdminServiceTest, EndOfAQuarantineLeavesAnAuditRecord) {
  store().on_end_quarantine = [this](const core::EndQuarantineRequest& request, auto done) {
    EXPECT_EQ(request.epoch, 7);
    store().AnswerLater<core::EndQuarantineAnswer>(
        std::move(done), core::EndQuarantineAnswer{true, 7, core::Millis(20'500)});
  };
  admin::v1::EndQuarantineResponse response;

  ASSERT_TRUE(stub_->EndQuarantine(&context_, EndQuarantineRequest(), &response).ok());

  EXPECT_TRUE(response.ended());
  EXPECT_EQ(response.epoch(), 7);
  EXPECT_EQ(response.quarantine_left().seconds(), 20);
  const auto lines = server_.log().LinesWith("event=audit.");
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("event=audit.end_quarantine "));
  EXPECT_THAT(lines[0], HasSubstr("peer=unix:"));
  EXPECT_THAT(lines[0], HasSubstr("owner_id=ada@desk"));
  EXPECT_THAT(lines[0], HasSubstr("epoch=7"));
  EXPECT_THAT(lines[0], HasSubstr("audit_reason=\"all jobs are stopped\""));
  EXPECT_THAT(lines[0], HasSubstr("quarantine_ms=20500"));
  EXPECT_THAT(lines[0], HasSubstr("outcome=quarantine_ended"));
}

TEST_F(AdminServiceTest, AuditTellsThatThereWasNoQuarantineToEnd) {
  store().on_end_quarantine = [this](const core::EndQuarantineRequest&, auto done) {
    store().AnswerLater<core::EndQuarantineAnswer>(std::move(done),
                                                   core::EndQuarantineAnswer{.epoch = 8});
  };
  admin::v1::EndQuarantineResponse response;

  ASSERT_TRUE(stub_->EndQuarantine(&context_, EndQuarantineRequest(), &response).ok());

  EXPECT_FALSE(response.ended());
  EXPECT_EQ(response.epoch(), 8);
  const auto lines = server_.log().LinesWith("event=audit.");
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("event=audit.end_quarantine_found_none "));
  EXPECT_THAT(lines[0], HasSubstr("outcome=no_quarantine"));
}

TEST_F(AdminServiceTest, EndOfAQuarantineThatFailedIsAuditedToo) {
  store().on_end_quarantine = [this](const core::EndQuarantineRequest&, auto done) {
    store().AnswerLater<core::EndQuarantineAnswer>(
        std::move(done), core::Error(ErrorReason::kOutcomeUnknown, "no reply"));
  };
  admin::v1::EndQuarantineResponse response;

  EXPECT_EQ(stub_->EndQuarantine(&context_, EndQuarantineRequest(), &response).error_code(),
            grpc::StatusCode::UNAVAILABLE);

  const auto lines = server_.log().LinesWith("event=audit.end_quarantine_failed ");
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("problem=\"no reply\""));
}

TEST_F(AdminServiceTest, QuarantineIsNotEndedByOneWhoDoesNotSayWhichOrWhyOrAcceptTheRisk) {
  const auto rejected = [this](auto change) {
    admin::v1::EndQuarantineRequest request = EndQuarantineRequest();
    change(request);
    grpc::ClientContext context;
    admin::v1::EndQuarantineResponse response;
    return stub_->EndQuarantine(&context, request, &response).error_code() ==
           grpc::StatusCode::INVALID_ARGUMENT;
  };

  EXPECT_TRUE(rejected([](auto& request) { request.clear_accept_two_holders(); }));
  EXPECT_TRUE(rejected([](auto& request) { request.clear_epoch(); }));
  EXPECT_TRUE(rejected([](auto& request) { request.clear_reason(); }));
  EXPECT_THAT(server_.log().LinesWith("event=audit.end_quarantine_rejected "), SizeIs(3));
}

TEST_F(AdminServiceTest, ServerInfoTellsFactsAndHealth) {
  server_.health().ReportStore([](telemetry::StoreStatus& status) {
    status.reachable = true;
    status.problem = "";
    status.server_version = "7.0.15";
    status.assurance = core::Assurance::kDisk;
  });
  admin::v1::GetServerInfoResponse response;

  ASSERT_TRUE(stub_->GetServerInfo(&context_, {}, &response).ok());

  EXPECT_EQ(response.version(), "1.2.3");
  EXPECT_EQ(response.daemon_id(), "0123456789abcdef");
  EXPECT_EQ(response.start_time().seconds(), 1'700'000'000);
  EXPECT_FALSE(response.draining());
  EXPECT_EQ(response.store().kind(), "redis");
  EXPECT_EQ(response.store().address(), "127.0.0.1:6379");
  EXPECT_TRUE(response.store().reachable());
  EXPECT_EQ(response.store().problem(), "");
  EXPECT_EQ(response.store().server_version(), "7.0.15");
  EXPECT_EQ(response.store().assurance(), v1::ASSURANCE_DISK);
  EXPECT_EQ(response.max_ttl().seconds(), 60);
  EXPECT_EQ(response.record_retention().seconds(), 300);
}

TEST_F(AdminServiceTest, DrainAsksTheDaemonToStopOnceAndLeavesAuditRecords) {
  admin::v1::DrainRequest request;
  request.set_reason("new kernel");
  request.set_owner("ada@desk");
  admin::v1::DrainResponse response;

  ASSERT_TRUE(stub_->Drain(&context_, request, &response).ok());

  EXPECT_TRUE(response.started());
  EXPECT_EQ(response.daemon_id(), "0123456789abcdef");
  EXPECT_EQ(response.drain_timeout().seconds(), 20);
  EXPECT_EQ(server_.asked_to_stop(), 1);
  const auto lines = server_.log().LinesWith("event=audit.drain ");
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("level=info"));
  EXPECT_THAT(lines[0], HasSubstr("owner_id=ada@desk"));
  EXPECT_THAT(lines[0], HasSubstr("audit_reason=\"new kernel\""));

  grpc::ClientContext again;
  ASSERT_TRUE(stub_->Drain(&again, request, &response).ok());

  EXPECT_FALSE(response.started());
  EXPECT_EQ(server_.asked_to_stop(), 1);
  EXPECT_THAT(server_.log().LinesWith("event=audit.drain_found_draining "), SizeIs(1));
}

TEST_F(AdminServiceTest, DrainOfADaemonThatASignalStopsStartsNothing) {
  server_.health().StartDraining();
  admin::v1::DrainRequest request;
  request.set_reason("new kernel");
  admin::v1::DrainResponse response;

  ASSERT_TRUE(stub_->Drain(&context_, request, &response).ok());

  EXPECT_FALSE(response.started());
  EXPECT_EQ(server_.asked_to_stop(), 0);
}

TEST_F(AdminServiceTest, DrainWithoutAReasonIsRejectedAndLeavesARecord) {
  admin::v1::DrainResponse response;

  const grpc::Status status = stub_->Drain(&context_, {}, &response);

  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("reason: "));
  EXPECT_EQ(server_.asked_to_stop(), 0);
  EXPECT_THAT(server_.log().LinesWith("event=audit.drain_rejected "), SizeIs(1));
}

TEST_F(AdminServiceTest, ServerInfoTellsWhatTheDaemonDoesAndIsSetTo) {
  server_.view().certificates = {{"server", 1'800'000'000}};
  server_.view().refused = {{"access", "policy.yaml:3: no such verb"}};
  server_.metrics().sessions().Set(3);
  server_.metrics().session_leases().Set(12);
  server_.metrics().waiters().Set(5);
  const int64_t before = absl::ToUnixSeconds(server_.access().Now());
  admin::v1::GetServerInfoResponse response;

  ASSERT_TRUE(stub_->GetServerInfo(&context_, {}, &response).ok());

  EXPECT_GE(response.current_time().seconds(), before);
  EXPECT_LE(response.current_time().seconds(), absl::ToUnixSeconds(server_.access().Now()));
  EXPECT_GT(response.uptime().seconds() + response.uptime().nanos(), 0);
  EXPECT_LT(response.uptime().seconds(), 600);
  ASSERT_THAT(response.grpc_addresses(), SizeIs(1));
  EXPECT_EQ(response.grpc_addresses(0), server_.server().addresses().front().ToString());
  EXPECT_EQ(response.http_address(), "127.0.0.1:7601");
  EXPECT_EQ(response.sessions(), 3);
  EXPECT_EQ(response.session_leases(), 12);
  EXPECT_EQ(response.waiters(), 5);
  ASSERT_THAT(response.certificates(), SizeIs(1));
  EXPECT_EQ(response.certificates(0).name(), "server");
  EXPECT_EQ(response.certificates(0).expire_time().seconds(), 1'800'000'000);
  ASSERT_THAT(response.refused_files(), SizeIs(1));
  EXPECT_EQ(response.refused_files(0).files(), "access");
  EXPECT_EQ(response.refused_files(0).problem(), "policy.yaml:3: no such verb");
  EXPECT_EQ(response.store().settings().at("store.key_prefix"), "lk:");
  EXPECT_FALSE(response.policy().restricts());
  EXPECT_EQ(response.policy().tokens(), 0);
}

TEST_F(AdminServiceTest, ServerInfoTellsWhatTheLastLookAtTheStoreHasMeasured) {
  server_.health().ReportStore([](telemetry::StoreStatus& status) { status.reachable = true; });
  server_.health().ReportLook(
      {.latency = core::Micros(1'500), .clock_ahead = core::Micros(-2'250'000)});
  admin::v1::GetServerInfoResponse response;

  ASSERT_TRUE(stub_->GetServerInfo(&context_, {}, &response).ok());

  EXPECT_EQ(response.store().latency().nanos(), 1'500'000);
  EXPECT_EQ(response.store().clock_ahead().seconds(), -2);
  EXPECT_EQ(response.store().clock_ahead().nanos(), -250'000'000);
}

TEST_F(AdminServiceTest, ServerInfoSaysSinceWhenUntilWhenAndWhyNothingIsGranted) {
  server_.health().ReportStore([](telemetry::StoreStatus& status) {
    status.reachable = true;
    status.problem = "";
  });
  admin::v1::GetServerInfoResponse response;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(stub_->GetServerInfo(&context, {}, &response).ok());
  }
  EXPECT_EQ(response.store().grant_problem(), "");
  EXPECT_FALSE(response.store().has_quarantine_end_time());
  EXPECT_FALSE(response.store().has_quarantine_left());
  EXPECT_FALSE(response.store().has_last_loss_time());

  server_.health().ReportStore([this](telemetry::StoreStatus& status) {
    status.grants = false;
    status.epoch = 3;
    status.quarantine_end = {1'700'000'040'000'000};
    status.quarantine_over = server_.loop().Now() + std::chrono::hours(2);
    status.loss = "emptied";
    status.loss_detail = "Redis was emptied";
    status.noticed = {1'700'000'010'000'000};
  });
  ASSERT_TRUE(stub_->GetServerInfo(&context_, {}, &response).ok());

  const admin::v1::StoreInfo& store = response.store();
  EXPECT_TRUE(store.reachable());
  EXPECT_EQ(store.epoch(), 3);
  EXPECT_THAT(store.grant_problem(), testing::HasSubstr("Redis was emptied"));
  EXPECT_EQ(store.quarantine_end_time().seconds(), 1'700'000'040);
  EXPECT_GT(store.quarantine_left().seconds(), 3'600);
  EXPECT_LE(store.quarantine_left().seconds(), 7'200);
  EXPECT_EQ(store.last_loss(), "emptied");
  EXPECT_EQ(store.last_loss_detail(), "Redis was emptied");
  EXPECT_EQ(store.last_loss_time().seconds(), 1'700'000'010);
}

TEST_F(AdminServiceTest, ServerInfoSaysWhyTheStoreIsAwayAndThatItDrains) {
  server_.health().ReportStore(
      [](telemetry::StoreStatus& status) { status.problem = "connection refused"; });
  server_.health().StartDraining();
  admin::v1::GetServerInfoResponse response;

  ASSERT_TRUE(stub_->GetServerInfo(&context_, {}, &response).ok());

  EXPECT_FALSE(response.store().reachable());
  EXPECT_EQ(response.store().problem(), "connection refused");
  EXPECT_TRUE(response.draining());
}

}  // namespace
}  // namespace lockkeeper::rpc
