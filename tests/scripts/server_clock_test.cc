// SPDX-License-Identifier: Apache-2.0
//
// The clock of a real server obeys the test: what all tests with real servers and exact times
// stand on.
#include "support/clock/server_clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "support/process/redis_server.h"

namespace lockkeeper::support {
namespace {

using core::NodeTime;

class ServerClockTest : public testing::TestWithParam<std::string> {
 protected:
  NodeTime Time() const {
    const redis::Reply reply = server_.Run({"TIME"});
    return {std::stoll(reply.items.at(0).text) * 1'000'000 + std::stoll(reply.items.at(1).text)};
  }

  static NodeTime MachineTime() {
    using std::chrono::system_clock;
    const auto now = system_clock::now().time_since_epoch();
    return {std::chrono::duration_cast<core::Micros>(now).count()};
  }

  ServerClock clock_;
  RedisServer server_{{.program = GetParam(), .environment = clock_.environment()}};
};

TEST_P(ServerClockTest, RunsWithTheMachinesUntilItIsSet) {
  const NodeTime before = MachineTime();
  const NodeTime time = Time();

  EXPECT_GE(time, before);
  EXPECT_LE(time, MachineTime());
}

TEST_P(ServerClockTest, SteppedClockRunsOnFromWhereItWasSet) {
  clock_.StepBy(-std::chrono::hours(1));

  const NodeTime before{MachineTime().micros - 3'600'000'000};
  const NodeTime time = Time();
  EXPECT_GE(time, before);
  EXPECT_LT(time.micros, before.micros + 60'000'000);
}

TEST_P(ServerClockTest, StandingClockMovesByStepsOnly) {
  clock_.StandStillAt({1'700'000'000'000'001});
  EXPECT_EQ(Time().micros, 1'700'000'000'000'001);
  EXPECT_EQ(Time().micros, 1'700'000'000'000'001);

  clock_.StepBy(core::Micros(41));
  EXPECT_EQ(Time().micros, 1'700'000'000'000'042);
}

TEST_P(ServerClockTest, KeyExpiresWhenTheClockIsSetForward) {
  server_.Run({"SET", "key", "value", "PX", "60000"});

  clock_.StepBy(std::chrono::seconds(61));

  EXPECT_EQ(server_.Run({"GET", "key"}).type, redis::Reply::Type::kNil);
}

INSTANTIATE_TEST_SUITE_P(Servers, ServerClockTest, testing::ValuesIn(InstalledServers()));

}  // namespace
}  // namespace lockkeeper::support
