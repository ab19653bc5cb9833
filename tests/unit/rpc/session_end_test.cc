// SPDX-License-Identifier: Apache-2.0
//
// The loop's thread and gRPC's all have a part in a session's end.
#include <gtest/gtest.h>

#include <cstddef>
#include <deque>

#include "support/rpc/in_process_server.h"
#include "support/rpc/session_caller.h"

namespace lockkeeper::rpc {
namespace {

using support::SessionCaller;

constexpr size_t kRounds = 100;
constexpr size_t kSessions = 16;

class SessionEndTest : public testing::Test {
 protected:
  // Waits until all of `count` sessions have ended.
  void WaitForEnds(size_t count) {
    while (Ends() < count) server_.loop().RunAndWait([] {});
  }
  size_t Ends() { return server_.log().LinesWith("rpc=Session").size(); }

  support::InProcessServer server_;
};

// Goal: nobody touches a session that another thread has ended. Method: many that break at once,
// so that the loop's thread and gRPC's come to their ends together; whoever locks a mutex that
// is gone crashes soon.
TEST_F(SessionEndTest, BrokenSessionsEndOnceEach) {
  const auto channel = server_.NewChannel();
  for (size_t round = 1; round <= kRounds; ++round) {
    std::deque<SessionCaller> sessions;
    for (size_t i = 0; i < kSessions; ++i) sessions.emplace_back(channel).Open();

    for (SessionCaller& session : sessions) session.Break();

    sessions.clear();
    WaitForEnds(round * kSessions);
  }
  EXPECT_EQ(Ends(), kRounds * kSessions);
}

}  // namespace
}  // namespace lockkeeper::rpc
