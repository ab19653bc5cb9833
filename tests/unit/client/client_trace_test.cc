// SPDX-License-Identifier: Apache-2.0
//
// Whose trace the client's calls belong to.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "support/client/fake_lock_server.h"
#include "unit/client/client_fixture.h"

namespace lockkeeper {
namespace {

using namespace std::chrono_literals;
using support::FakeCall;

const TraceContext kOne{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "rojo=1"};
const TraceContext kOther{"00-11111111111111111111111111111111-2222222222222222-00", ""};
const TraceContext kNone{};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): as a program has it
thread_local TraceContext current;

class ClientTraceTest : public ClientTest {
 protected:
  Client NewTracedClient() {
    return NewClient({.trace_context = [this] {
      ++asked_;
      return current;
    }});
  }
  void TearDown() override { current = kNone; }

  // What the fence of a caller in this context carries.
  TraceContext CarriedOf(const TraceContext& context) {
    current = context;
    EXPECT_TRUE(NewTracedClient().Fence("report", 1).ok());
    return server_.fence.traces().back();
  }

  std::atomic<int> asked_ = 0;  // How often the client has asked whose trace it is.
};

INSTANTIATE_TEST_SUITE_P(Ways, ClientTraceTest, kBothWays, NameOfWay);

TEST_P(ClientTraceTest, EachCallCarriesTheContextOfItsCaller) {
  Client client = NewTracedClient();
  const std::map<std::string, TraceContext> contexts = {
      {"one", kOne}, {"other", kOther}, {"none", kNone}};
  std::latch all_ready(static_cast<std::ptrdiff_t>(contexts.size()));
  std::vector<std::jthread> callers;
  callers.reserve(contexts.size());
  for (const auto& [name, context] : contexts) {
    callers.emplace_back([&] {
      current = context;
      all_ready.arrive_and_wait();
      AcquireResult result = client.Acquire(name);
      ASSERT_TRUE(result) << result.status();
      EXPECT_TRUE(client.Fence(name, 1).ok());
      EXPECT_TRUE(result->Release().ok());
    });
  }
  callers.clear();

  const auto check = [&](const auto& rpc) {
    const auto seen = rpc.seen();
    const auto traces = rpc.traces();
    ASSERT_EQ(seen.size(), contexts.size());
    for (size_t i = 0; i < seen.size(); ++i) {
      EXPECT_EQ(traces[i], contexts.at(seen[i].name())) << seen[i].name();
    }
  };
  check(server_.acquire);
  check(server_.fence);
  check(server_.release);
}

TEST_P(ClientTraceTest, AllAttemptsOfACallAreOfOneContext) {
  Client client = NewTracedClient();
  const support::FakeError away{.code = grpc::StatusCode::UNAVAILABLE, .reason = ""};
  server_.acquire.NextError(away);
  server_.acquire.Next([this](const FakeCall&, const auto& request, auto* response) {
    const grpc::Status status = server_.HonestAcquire(request, response);
    response->mutable_lease()->set_offered(true);
    return status;
  });
  server_.release.NextError(away);
  current = kOne;

  AcquireResult result = client.Acquire("report", {.wait_timeout = 10s});
  ASSERT_TRUE(result) << result.status();
  EXPECT_EQ(asked_, 1);
  EXPECT_TRUE(result->Release().ok());

  EXPECT_EQ(asked_, 2);
  EXPECT_EQ(server_.acquire.traces(), std::vector({kOne, kOne}));
  EXPECT_EQ(server_.extend.traces(), std::vector({kOne})) << "the claim";
  EXPECT_EQ(server_.release.traces(), std::vector({kOne, kOne}));
}

TEST_P(ClientTraceTest, AdoptionAndReleaseByIdCarryIt) {
  Client client = NewTracedClient();
  AcquireResult result = client.Acquire("report");
  ASSERT_TRUE(result) << result.status();
  const std::string id = std::move(result).TakeLease().Detach();
  current = kOne;
  auto adopted = client.Adopt("report", id);
  ASSERT_TRUE(adopted.ok()) << adopted.status();
  EXPECT_EQ((*std::move(adopted)).Detach(), id);
  EXPECT_TRUE(client.Release("report", id).ok());

  EXPECT_EQ(server_.acquire.traces(), std::vector({kNone}));
  EXPECT_EQ(server_.extend.traces(), std::vector({kOne}));
  EXPECT_EQ(server_.release.traces(), std::vector({kOne}));
}

TEST_P(ClientTraceTest, RenewalBelongsToNobody) {
  GrantWhatIsToBeExtendedAtOnce();
  Client client = NewTracedClient();
  current = kOne;

  AcquireResult result = client.Acquire("report");
  ASSERT_TRUE(result) << result.status();
  ASSERT_TRUE(server_.extend.WaitForCalls(1));

  EXPECT_EQ(server_.extend.traces(), std::vector({kNone}));
}

TEST_P(ClientTraceTest, OnlyWhatTheServiceTakesIsSent) {
  EXPECT_EQ(CarriedOf(kOne), kOne);
  EXPECT_EQ(CarriedOf({std::string(64, '0'), std::string(512, 'a')}),
            (TraceContext{std::string(64, '0'), std::string(512, 'a')}));
  EXPECT_EQ(CarriedOf({std::string(65, '0'), "rojo=1"}), kNone);
  EXPECT_EQ(CarriedOf({kOne.traceparent, std::string(513, 'a')}),
            (TraceContext{kOne.traceparent, ""}));
  EXPECT_EQ(CarriedOf({"", "rojo=1"}), kNone);
  EXPECT_EQ(CarriedOf({"00\xff", "rojo=1"}), kNone);
  EXPECT_EQ(CarriedOf({kOne.traceparent, "rojo=\n"}), (TraceContext{kOne.traceparent, ""}));
}

TEST_P(ClientTraceTest, WithoutTheOptionNothingIsSent) {
  Client client = NewClient();
  current = kOne;

  EXPECT_TRUE(client.Fence("report", 1).ok());

  EXPECT_EQ(server_.fence.traces(), std::vector({kNone}));
}

}  // namespace
}  // namespace lockkeeper
