// SPDX-License-Identifier: Apache-2.0
#include "rpc/call_gate.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace lockkeeper::rpc {
namespace {

using core::Millis;

constexpr Millis kLong{20'000};

TEST(CallGateTest, CallsComeInUntilItIsClosed) {
  CallGate gate;
  EXPECT_TRUE(gate.Enter());
  gate.Leave();
  EXPECT_EQ(gate.Close(kLong), 0);
  EXPECT_FALSE(gate.Enter());
  gate.Leave();
}

TEST(CallGateTest, CloseTellsHowManyAreStillIn) {
  CallGate gate;
  gate.Enter();
  gate.Enter();
  EXPECT_EQ(gate.Close(Millis(0)), 2);
  gate.Leave();
  gate.Leave();
  EXPECT_EQ(gate.Close(kLong), 0);
}

// However enter, leave and close meet: Close returns when those are out that were let in.
TEST(CallGateTest, CloseWaitsForTheLastToLeave) {
  for (int round = 0; round < 200; ++round) {
    CallGate gate;
    std::atomic<int> working = 0;
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i) {
      callers.emplace_back([&] {
        for (bool admitted = true; admitted;) {
          admitted = gate.Enter();
          if (admitted) ++working;
          if (admitted) --working;
          gate.Leave();
        }
      });
    }
    EXPECT_EQ(gate.Close(kLong), 0);
    EXPECT_EQ(working.load(), 0);
    for (std::thread& caller : callers) caller.join();
  }
}

}  // namespace
}  // namespace lockkeeper::rpc
