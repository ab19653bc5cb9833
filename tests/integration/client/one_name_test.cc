// SPDX-License-Identifier: Apache-2.0
//
// Three daemons behind one name, as behind a headless Service: clients are spread over them, a
// daemon that goes takes nothing with it, and one that comes back is used again, because
// `server.max_connection_age` makes clients connect again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "integration/client/client_fixture.h"
#include "lockkeeper/client.h"
#include "os/random_bits.h"
#include "support/process/http_get.h"
#include "support/process/name_server.h"

namespace lockkeeper {
namespace {

using namespace std::chrono_literals;
using client::Spread;
using support::WaitUntil;
using testing::Each;
using testing::Gt;

class OneNameTest : public ClientAndDaemons, public testing::WithParamInterface<Spread> {
 protected:
  static constexpr size_t kDaemons = 3;
  static constexpr size_t kClients = 12;

  // All have one port, so each has an address of its own, which no other test has.
  OneNameTest() {
    const uint64_t net = os::RandomBits();
    const std::string begin =
        "127." + std::to_string(1 + net % 250) + "." + std::to_string(1 + net / 250 % 250) + ".";
    for (size_t i = 0; i < kDaemons; ++i) hosts_[i] = begin + std::to_string(i + 1);
    daemons_[0] = StartAged(hosts_[0] + ":0");
    const std::string address = daemons_[0]->GrpcAddress();
    port_ = address.substr(address.rfind(':'));
    for (size_t i = 1; i < kDaemons; ++i) daemons_[i] = StartAged(hosts_[i] + port_);
    names_.Publish({hosts_.begin(), hosts_.end()});
  }

  std::unique_ptr<support::DaemonProcess> StartAged(const std::string& listen) const {
    return StartDaemon(listen, {{"LOCKKEEPERD_SERVER_MAX_CONNECTION_AGE", "1s"}});
  }

  Client NewClient(Sessions sessions = Sessions::kUsed) const {
    const auto port = static_cast<uint16_t>(std::stoi(port_.substr(1)));
    return ClientOf({names_.TargetOf(port)}, sessions, GetParam());
  }

  // Clients with sessions, each with a lease.
  void HoldLeases() {
    for (size_t i = 0; i < kClients; ++i) {
      clients_.push_back(NewClient());
      held_.push_back(clients_.back().Acquire("held" + std::to_string(i), {.ttl = 9s}));
      ASSERT_TRUE(held_.back()) << held_.back().status();
    }
  }

  // Each client takes a lock and frees it.
  void UseLocks() {
    for (Client& each : clients_) {
      AcquireResult result = each.Acquire("used");
      ASSERT_TRUE(result) << result.status();
      ASSERT_EQ(result->Release().value(), ReleaseOutcome::kReleased);
    }
  }

  // A metric without labels of each daemon, or one whose labels begin so.
  std::vector<int> Read(const std::string& metric) const {
    std::vector<int> values;
    for (const auto& daemon : daemons_) {
      const std::string text = support::HttpGet(daemon->HttpAddress(), "/metrics").body;
      int sum = 0;
      const std::regex line("(^|\n)" + metric + "[^ \n]* ([0-9]+)");
      for (std::sregex_iterator at(text.begin(), text.end(), line); at != std::sregex_iterator();
           ++at) {
        sum += std::stoi((*at)[2]);
      }
      values.push_back(sum);
    }
    return values;
  }
  std::vector<int> OpenSessions() const { return Read("lockkeeper_sessions"); }

  std::array<std::string, kDaemons> hosts_;
  std::array<std::unique_ptr<support::DaemonProcess>, kDaemons> daemons_;
  std::string port_;  // With its colon.
  support::NameServer names_;
  std::vector<Client> clients_;
  std::vector<AcquireResult> held_;
};

INSTANTIATE_TEST_SUITE_P(Ways, OneNameTest,
                         testing::Values(Spread::kOneDaemon, Spread::kAllDaemons),
                         [](const auto& way) {
                           return way.param == Spread::kAllDaemons ? "AllInTurn" : "OneOfThem";
                         });

TEST_P(OneNameTest, SessionsAreSpreadOverAllDaemons) {
  HoldLeases();

  EXPECT_TRUE(WaitUntil([&] {
    UseLocks();
    return testing::Matches(Each(Gt(0)))(OpenSessions());
  })) << testing::PrintToString(OpenSessions());

  for (AcquireResult& each : held_) EXPECT_EQ(each->Release().value(), ReleaseOutcome::kReleased);
}

TEST_P(OneNameTest, UnaryCallsAreSpreadOverAllDaemons) {
  Client client = NewClient(Sessions::kNotUsed);

  EXPECT_TRUE(WaitUntil([&] {
    AcquireResult result = client.Acquire("used");
    EXPECT_TRUE(result) << result.status();
    return testing::Matches(Each(Gt(0)))(Read("lockkeeper_rpc_total.*rpc=\"Acquire\""));
  }));
}

TEST_P(OneNameTest, DaemonThatGoesIsMissedByNobodyAndIsUsedAgainWhenItIsBack) {
  HoldLeases();

  names_.Publish({hosts_[1], hosts_[2]});
  daemons_[0]->Signal(SIGTERM);
  while (daemons_[0]->Runs()) UseLocks();
  EXPECT_EQ(daemons_[0]->ExitCode(), 0);
  UseLocks();
  daemons_[0] = StartAged(hosts_[0] + port_);
  names_.Publish({hosts_.begin(), hosts_.end()});

  EXPECT_TRUE(WaitUntil([&] {
    UseLocks();
    return OpenSessions()[0] > 1;
  })) << testing::PrintToString(OpenSessions());
  for (AcquireResult& each : held_) {
    EXPECT_FALSE(each->lost());
    EXPECT_EQ(each->Release().value(), ReleaseOutcome::kReleased);
  }
}

}  // namespace
}  // namespace lockkeeper
