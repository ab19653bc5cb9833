// SPDX-License-Identifier: Apache-2.0
//
// Histories by hand, for the tests of the simulator's judge: one lock, a few daemons, times in
// milliseconds since the beginning.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "simulation/judge.h"

namespace lockkeeper::simulation {

class JudgeHistory : public testing::Test {
 protected:
  static constexpr core::Millis kRetention{60'000};
  static constexpr int kTtl = 1'000;

  static Instant At(int64_t millis) {
    return Instant() + std::chrono::hours(1) + core::Millis(millis);
  }

  // Daemon `daemon`'s call number `call` for the lease id `id`, a letter.
  static Try TryOf(char id, int daemon = 1, int call = 1) {
    return {"a", std::string(32, id), DaemonId(daemon) + "000000000000000" + std::to_string(call)};
  }
  static std::string IdOf(char id) { return std::string(32, id); }
  static std::string DaemonId(int daemon) { return "000000000000000" + std::to_string(daemon); }

  // The store gives the lock to `to` as a lease for kTtl, or as an offer for a second.
  static Turn TurnOf(const Try& to, int64_t token, int64_t now, bool offered = false) {
    Turn turn;
    turn.to = to;
    turn.attempt = 1;
    turn.token = token;
    turn.offered = offered;
    turn.end = At(now + kTtl);
    turn.given_by = "of the one that released";
    return turn;
  }
  Turn Give(const Try& to, int64_t token, int64_t now, bool offered = false) {
    Turn turn = TurnOf(to, token, now, offered);
    judge_.TurnGiven(turn, At(now));
    return turn;
  }
  void Offer(const Try& to, int64_t token, int64_t now) { Give(to, token, now, true); }

  void Claim(char id, int64_t now) { judge_.Extended("a", IdOf(id), At(now + kTtl), At(now)); }
  void Release(char id, int64_t now) { judge_.Released("a", IdOf(id), At(now)); }

  // Daemon 1's holder gets the lock at 0 with token 1; then B, and C, of daemon 2, stand in line.
  void HolderAndTwoWaiters() {
    Give(TryOf('a'), 1, 0);
    judge_.Joined(TryOf('b', 2, 1), 10, At(10));
    judge_.Joined(TryOf('c', 2, 2), 11, At(11));
  }

  // The holder releases at 20, and B gets the offer, with token 2.
  void OfferToTheFirstWaiter() {
    HolderAndTwoWaiters();
    Release('a', 20);
    Offer(TryOf('b', 2, 1), 2, 20);
  }

  // What the judge found has to be one violation, and to speak of this.
  void ExpectOne(const std::string& text) {
    EXPECT_THAT(judge_.violations(), testing::ElementsAre(testing::HasSubstr(text)));
  }
  void ExpectNone() { EXPECT_THAT(judge_.violations(), testing::IsEmpty()); }

  Judge judge_{kRetention};
};

}  // namespace lockkeeper::simulation
