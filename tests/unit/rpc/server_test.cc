// SPDX-License-Identifier: Apache-2.0
#include "rpc/server.h"

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <thread>

#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "support/rpc/health_client.h"
#include "support/rpc/in_process_server.h"
#include "support/rpc/lock_client.h"
#include "support/rpc/lock_requests.h"
#include "support/rpc/reflection_client.h"

namespace lockkeeper::rpc {
namespace {

using support::CheckHealth;
using support::Serving;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::MatchesRegex;

class ServerTest : public testing::Test {
 protected:
  static void Up(telemetry::StoreStatus& status) { status.reachable = true; }
  static void Away(telemetry::StoreStatus& status) { status.reachable = false; }

  bool Answers(const std::string& address) {
    const auto stub = admin::v1::AdminService::NewStub(
        grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    admin::v1::GetServerInfoResponse response;
    return stub->GetServerInfo(&context, {}, &response).ok();
  }

  support::InProcessServer server_;
  support::TemporaryDirectory directory_;
};

TEST_F(ServerTest, ListensOnAllAddressesAndTellsThePorts) {
  const auto second = Server::Start(
      {{.host = "127.0.0.1"}, {.host = "::1"}, {.path = directory_.Path("s")}}, server_.Deps());

  ASSERT_TRUE(second.ok()) << second.status();
  std::vector<std::string> addresses;
  for (const auto& address : (*second)->addresses()) addresses.push_back(address.ToString());
  EXPECT_THAT(addresses,
              ElementsAre(MatchesRegex("127\\.0\\.0\\.1:[1-9][0-9]+"),
                          MatchesRegex("\\[::1\\]:[1-9][0-9]+"), "unix:" + directory_.Path("s")));
  for (const std::string& address : addresses) EXPECT_TRUE(Answers(address)) << address;
}

TEST_F(ServerTest, TakenPortIsNamed) {
  const auto first = Server::Start({{.host = "127.0.0.1"}}, server_.Deps());
  ASSERT_TRUE(first.ok());
  const config::ListenAddress taken = (*first)->addresses().front();

  const auto second = Server::Start({{.host = "127.0.0.1"}, taken}, server_.Deps());

  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(second.status().message(),
            "cannot listen on " + taken.ToString() + ": Address already in use");
}

TEST_F(ServerTest, AddressOfAnotherMachineIsNamed) {
  const auto server = Server::Start({{.host = "203.0.113.1"}}, server_.Deps());

  EXPECT_EQ(server.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(server.status().message(),
            "cannot listen on 203.0.113.1:0: Cannot assign requested address");
}

TEST_F(ServerTest, NameWithoutAddressIsNamed) {
  const auto server = Server::Start({{.host = "host.invalid"}}, server_.Deps());

  EXPECT_EQ(server.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(server.status().message()),
              testing::StartsWith("cannot listen on host.invalid:0: "));
}

TEST_F(ServerTest, UnixSocketInUseIsRefusedAndKeepsServing) {
  const config::ListenAddress address = server_.server().addresses().front();

  const auto second = Server::Start({address}, server_.Deps());

  EXPECT_THAT(std::string(second.status().message()), HasSubstr("in use by another daemon"));
  EXPECT_TRUE(Answers(address.ToString()));
}

TEST_F(ServerTest, ShutdownRemovesTheUnixSocket) {
  const auto second = Server::Start({{.path = directory_.Path("s")}}, server_.Deps());
  ASSERT_TRUE(second.ok());

  (*second)->Shutdown(core::Millis(1'000));

  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(ServerTest, ShutdownAnswersWhatIsInFlightAndRefusesTheRest) {
  std::promise<core::Done<core::AcquireOutcome>> pending;
  server_.store().on_acquire = [&](const core::AcquireRequest&, auto done) {
    pending.set_value(std::move(done));
  };
  const std::string address = server_.server().addresses().front().ToString();
  support::LockClient client(address);
  ASSERT_TRUE(client.GetServerInfo().status.ok());  // Connected before the end.
  auto in_flight =
      std::async(std::launch::async, [&] { return client.Acquire(support::AcquireOf("n")); });
  auto done = pending.get_future().get();
  std::thread ender([&] { server_.server().Shutdown(core::Millis(20'000)); });

  support::Answer<v1::ReleaseResponse> refused;
  do {
    refused = client.Release(support::ReleaseOf("n", std::string(32, 'a')));
  } while (refused.reason != "SERVER_DRAINING");
  server_.loop().RunAndWait([&] { std::move(done)(core::AcquireOutcome(core::Contention{})); });

  EXPECT_TRUE(in_flight.get().response.has_contention());
  ender.join();
}

TEST_F(ServerTest, HealthFollowsTheStoreUnderAllNames) {
  const auto channel = server_.NewChannel();
  for (const std::string name :
       {"", "lockkeeper.v1.LockService", "lockkeeper.admin.v1.AdminService", "store"}) {
    EXPECT_EQ(CheckHealth(channel, name), Serving::kNotServing) << name;
    server_.health().ReportStore(Up);
    EXPECT_EQ(CheckHealth(channel, name), Serving::kServing) << name;
    server_.health().ReportStore(Away);
    EXPECT_EQ(CheckHealth(channel, name), Serving::kNotServing) << name;
  }
  EXPECT_EQ(CheckHealth(channel, "lockkeeper.v1.Other"), Serving::kUnknownName);
}

TEST_F(ServerTest, StoreThatGrantsNothingNewIsNotServingButTheServicesAre) {
  const auto channel = server_.NewChannel();
  server_.health().ReportStore(Up);

  server_.health().ReportStore([](telemetry::StoreStatus& status) { status.grants = false; });

  EXPECT_EQ(CheckHealth(channel, "store"), Serving::kNotServing);
  for (const std::string name :
       {"", "lockkeeper.v1.LockService", "lockkeeper.admin.v1.AdminService"}) {
    EXPECT_EQ(CheckHealth(channel, name), Serving::kServing) << name;
  }
  server_.health().ReportStore([](telemetry::StoreStatus& status) { status.grants = true; });
  EXPECT_EQ(CheckHealth(channel, "store"), Serving::kServing);
}

TEST_F(ServerTest, HealthIsNotServingWhileDraining) {
  const auto channel = server_.NewChannel();
  server_.health().ReportStore(Up);
  server_.health().StartDraining();
  EXPECT_EQ(CheckHealth(channel, ""), Serving::kNotServing);
  EXPECT_EQ(CheckHealth(channel, "store"), Serving::kNotServing);
}

TEST_F(ServerTest, ReflectionListsTheServices) {
  EXPECT_THAT(support::ListServices(server_.NewChannel()),
              IsSupersetOf({"grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection",
                            "lockkeeper.admin.v1.AdminService", "lockkeeper.v1.LockService"}));
}

}  // namespace
}  // namespace lockkeeper::rpc
