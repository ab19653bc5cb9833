// SPDX-License-Identifier: Apache-2.0
//
// What a heartbeat of a session brings of proofs.
#include <gmock/gmock.h>

#include "unit/core/session_fixture.h"

namespace lockkeeper::core {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

TEST_F(SessionTest, HeartbeatBringsTheProofsOfTheLeasesThatItExtends) {
  for (const char* name : {"a", "b", "c"}) Hold(name);
  Pass(seconds(11));
  StartHeartbeat();
  Lease extended = Granted("a"), at_max_hold = Granted("b"), given_up = Granted("c");
  extended.reassertion = "proof of a";
  at_max_hold.reassertion = "proof of b";
  at_max_hold.remaining_ttl = kTtl / 3;
  given_up.reassertion = "proof of c";
  session_->Run({9, Release("c")});
  store_.extends.Answer(extended);
  store_.extends.Answer(at_max_hold);
  store_.extends.Answer(given_up);

  ASSERT_TRUE(beaten_);
  ASSERT_EQ(beaten_->proofs.size(), 2U);
  EXPECT_EQ(beaten_->proofs[0].lease_id, extended.lease_id);
  EXPECT_EQ(beaten_->proofs[0].reassertion, "proof of a");
  EXPECT_EQ(beaten_->proofs[1].reassertion, "proof of b") << "its end has moved too";
  EXPECT_THAT(NotExtendedNames(), ElementsAre("b"));
}

}  // namespace
}  // namespace lockkeeper::core
