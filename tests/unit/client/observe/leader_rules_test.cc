// SPDX-License-Identifier: Apache-2.0
//
// The table and points 2 and 3 of client/README.md, "Observing a leader".
#include "observe/leader_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lockkeeper::client {
namespace {

using namespace std::chrono_literals;
using Kind = LockEvent::Kind;
using State = LockLook::State;
using Outcome = LeaderRules::Outcome;

const Outcome kNothing{};
const Outcome kChange{.changed = true};
const Outcome kLook{.look = true};

// The lease that has `token`.
Leader LeaseOf(int64_t token) {
  return {.fencing_token = token, .owner = "owner of " + std::to_string(token), .principal = "p"};
}

class LeaderRulesTest : public testing::Test {
 protected:
  Outcome On(Kind kind, int64_t token = 0) {
    return rules_.OnEvent({.kind = kind, .lease = LeaseOf(token)});
  }

  // A look that nothing overtakes.
  Outcome Look(State state, int64_t token = 0, std::optional<Duration> quarantine_left = {}) {
    rules_.OnLookSent();
    return Answer(state, token, quarantine_left);
  }
  Outcome Answer(State state, int64_t token = 0, std::optional<Duration> quarantine_left = {}) {
    return rules_.OnLook(
        {.state = state, .lease = LeaseOf(token), .quarantine_left = quarantine_left});
  }

  // Its token. 0: nobody leads.
  int64_t leader() const { return rules_.leader() ? rules_.leader()->fencing_token : 0; }

  LeaderRules rules_;
};

TEST_F(LeaderRulesTest, EventsAreTakenAsTheTableSays) {
  struct Row {
    Kind kind;
    int64_t token;
    Outcome outcome;
    int64_t leader;
  };
  const std::vector<Row> rows = {
      // Of the lease that leads.
      {Kind::kGranted, 5, kNothing, 5},
      {Kind::kOffered, 5, kNothing, 5},
      {Kind::kExtended, 5, kNothing, 5},
      {Kind::kEnded, 5, kChange, 0},
      {Kind::kLost, 5, kLook, 5},
      {Kind::kUnknown, 5, kLook, 5},
      {Kind::kUnrelated, 5, kNothing, 5},
      // Of a newer one.
      {Kind::kGranted, 6, kChange, 6},
      {Kind::kOffered, 6, kChange, 0},
      {Kind::kExtended, 6, kLook, 5},
      {Kind::kEnded, 6, kChange, 0},
      {Kind::kLost, 6, kLook, 5},
      {Kind::kUnknown, 6, kLook, 5},
      {Kind::kUnrelated, 6, kNothing, 5},
      // Of an older one.
      {Kind::kGranted, 4, kNothing, 5},
      {Kind::kOffered, 4, kNothing, 5},
      {Kind::kExtended, 4, kNothing, 5},
      {Kind::kEnded, 4, kNothing, 5},
      {Kind::kLost, 4, kNothing, 5},
      {Kind::kUnknown, 4, kNothing, 5},
      // Of one that is not known.
      {Kind::kGranted, 0, kLook, 5},
      {Kind::kOffered, 0, kLook, 5},
      {Kind::kExtended, 0, kLook, 5},
      {Kind::kEnded, 0, kLook, 5},
      {Kind::kLost, 0, kLook, 5},
      {Kind::kUnknown, 0, kLook, 5},
      {Kind::kUnrelated, 0, kNothing, 5},
      // Of the watch.
      {Kind::kStarted, 0, kLook, 5},
      {Kind::kMayMiss, 0, kLook, 5},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE("kind " + std::to_string(static_cast<int>(row.kind)) + " of token " +
                 std::to_string(row.token));
    rules_ = {};
    ASSERT_EQ(On(Kind::kGranted, 5), kChange);
    EXPECT_EQ(On(row.kind, row.token), row.outcome);
    EXPECT_EQ(leader(), row.leader);
  }
}

TEST_F(LeaderRulesTest, LeaderIsKnownForTheFirstTimeAlsoIfThereIsNone) {
  EXPECT_EQ(On(Kind::kEnded, 5), kChange);
  EXPECT_EQ(On(Kind::kEnded, 6), kNothing);

  rules_ = {};
  EXPECT_EQ(On(Kind::kOffered, 5), kChange);

  rules_ = {};
  EXPECT_EQ(On(Kind::kExtended, 5), kLook);
  EXPECT_EQ(Look(State::kNone), kChange);
  EXPECT_EQ(Look(State::kNone), kNothing);
  EXPECT_EQ(leader(), 0);
}

TEST_F(LeaderRulesTest, LeaderHasWhatTheGrantAndTheLookSay) {
  On(Kind::kGranted, 5);
  EXPECT_EQ(rules_.leader(), LeaseOf(5));

  Look(State::kHeld, 6);
  EXPECT_EQ(rules_.leader(), LeaseOf(6));
}

TEST_F(LeaderRulesTest, EndThatIsToldBeforeItsGrantCounts) {
  On(Kind::kEnded, 5);
  EXPECT_EQ(On(Kind::kGranted, 5), kNothing);
  EXPECT_EQ(On(Kind::kEnded, 5), kNothing);
  EXPECT_EQ(leader(), 0);
}

TEST_F(LeaderRulesTest, OfferLeadsOnceItIsGranted) {
  On(Kind::kGranted, 5);
  EXPECT_EQ(On(Kind::kOffered, 6), kChange);
  EXPECT_EQ(On(Kind::kEnded, 5), kNothing);
  EXPECT_EQ(On(Kind::kGranted, 6), kChange);
  EXPECT_EQ(leader(), 6);
  EXPECT_EQ(On(Kind::kOffered, 6), kNothing) << "told twice";
  EXPECT_EQ(leader(), 6);
}

TEST_F(LeaderRulesTest, OfferThatEndsIsNotGrantedAnyMore) {
  On(Kind::kOffered, 6);
  EXPECT_EQ(On(Kind::kEnded, 6), kNothing);
  EXPECT_EQ(On(Kind::kGranted, 6), kNothing);
  EXPECT_EQ(leader(), 0);
}

// FORCED has the raised token, which nobody is granted.
TEST_F(LeaderRulesTest, ForcedEndMakesAllThatIsToldOfTheLeaseOld) {
  On(Kind::kGranted, 5);
  EXPECT_EQ(On(Kind::kEnded, 6), kChange);
  EXPECT_EQ(On(Kind::kGranted, 5), kNothing);
  EXPECT_EQ(On(Kind::kGranted, 7), kChange);
  EXPECT_EQ(leader(), 7);
}

// It is the one that a client asked with, and nobody has checked it.
TEST_F(LeaderRulesTest, TokenOfALostOneIsNotRemembered) {
  On(Kind::kGranted, 5);
  rules_.OnLookSent();
  EXPECT_EQ(On(Kind::kLost, int64_t{1} << 53), kLook);
  EXPECT_EQ(On(Kind::kUnknown, int64_t{1} << 53), kLook);
  EXPECT_EQ(Answer(State::kHeld, 5), kNothing);
  EXPECT_EQ(On(Kind::kGranted, 6), kChange);
  EXPECT_EQ(leader(), 6);
}

TEST_F(LeaderRulesTest, ExtendOfALeaseThatIsNotKnownToLeadIsLookedAt) {
  EXPECT_EQ(On(Kind::kExtended, 5), kLook);
  EXPECT_EQ(On(Kind::kExtended, 5), kLook);
  EXPECT_EQ(Look(State::kHeld, 5), kChange);
  EXPECT_EQ(On(Kind::kExtended, 5), kNothing);
}

// Whatever comes first and how often: the newest lease counts, and of it the end.
TEST_F(LeaderRulesTest, EveryOrderOfTheEventsLeadsToTheSame) {
  using Event = std::pair<int64_t, Kind>;
  for (const bool newest_ends : {false, true}) {
    std::vector<Event> events = {{1, Kind::kGranted}, {1, Kind::kEnded}, {2, Kind::kOffered},
                                 {2, Kind::kGranted}, {2, Kind::kEnded}, {3, Kind::kGranted}};
    if (newest_ends) events.emplace_back(3, Kind::kEnded);
    std::sort(events.begin(), events.end());
    do {
      rules_ = {};
      for (const auto& [token, kind] : events) On(kind, token);
      for (const auto& [token, kind] : events) On(kind, token);
      ASSERT_EQ(leader(), newest_ends ? 0 : 3);
    } while (std::next_permutation(events.begin(), events.end()));
  }
}

TEST_F(LeaderRulesTest, LooksAreTakenAsPoint3Says) {
  struct Row {
    State state;
    int64_t token;
    Outcome outcome;
    int64_t leader;
  };
  const std::vector<Row> rows = {
      {State::kHeld, 5, kNothing, 5},     {State::kHeld, 6, kChange, 6},
      {State::kHeld, 4, kNothing, 5},  // Old.
      {State::kOffered, 6, kChange, 0},   {State::kOffered, 5, kChange, 0},
      {State::kOffered, 4, kChange, 0},   {State::kEnded, 6, kChange, 0},
      {State::kEnded, 5, kChange, 0},     {State::kEnded, 4, kChange, 0},
      {State::kNone, 0, kChange, 0},      {State::kUnproven, 4, kNothing, 5},
      {State::kUnproven, 5, kNothing, 5}, {State::kUnproven, 6, kNothing, 5},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE("state " + std::to_string(static_cast<int>(row.state)) + " of token " +
                 std::to_string(row.token));
    rules_ = {};
    On(Kind::kGranted, 5);
    EXPECT_EQ(Look(row.state, row.token), row.outcome);
    EXPECT_EQ(leader(), row.leader);
  }
}

TEST_F(LeaderRulesTest, DuringAQuarantineOnlyAHeldLockIsCertain) {
  for (const State state : {State::kNone, State::kOffered, State::kEnded, State::kUnproven}) {
    const int64_t token = state == State::kNone ? 0 : 5;
    rules_ = {};
    EXPECT_EQ(Look(state, token, 7s), Outcome{.look_after = 7s});
    EXPECT_EQ(On(Kind::kGranted, 5), kChange) << "it was not known yet";
    EXPECT_EQ(Look(state, token, 7s), Outcome{.look_after = 7s});
    EXPECT_EQ(leader(), 5);
  }
  EXPECT_EQ(Look(State::kHeld, 6, 7s), kChange);
  EXPECT_EQ(leader(), 6);
}

TEST_F(LeaderRulesTest, LeaseThatIsProvedAfterAQuarantineLeadsAgain) {
  Look(State::kUnproven, 5, 7s);
  EXPECT_EQ(On(Kind::kExtended, 5), kLook);
  EXPECT_EQ(Look(State::kHeld, 5, 6s), kChange);
  EXPECT_EQ(leader(), 5);
}

// A gap hid the end, and the record has gone since.
TEST_F(LeaderRulesTest, LockWithoutARecordIsLedByNobody) {
  On(Kind::kGranted, 5);
  EXPECT_EQ(On(Kind::kMayMiss), kLook);
  EXPECT_EQ(Look(State::kNone), kChange);
  EXPECT_EQ(On(Kind::kGranted, 5), kNothing) << "it comes late";
  EXPECT_EQ(On(Kind::kGranted, 6), kChange);
  EXPECT_EQ(leader(), 6);
}

TEST_F(LeaderRulesTest, GrantOfALeaseThatALookHasSeenEndIsOld) {
  Look(State::kEnded, 5);
  EXPECT_EQ(On(Kind::kGranted, 5), kNothing);
  EXPECT_EQ(leader(), 0);
}

TEST_F(LeaderRulesTest, LookThatWasSentAfterTheEndKnowsBetter) {
  On(Kind::kEnded, 5);
  EXPECT_EQ(Look(State::kHeld, 5), kChange);
  EXPECT_EQ(leader(), 5);
  EXPECT_EQ(On(Kind::kEnded, 5), kChange);
}

TEST_F(LeaderRulesTest, LookThatAnEventHasOvertakenDoesNotCount) {
  for (const auto& [kind, token] : std::vector<std::pair<Kind, int64_t>>{{Kind::kGranted, 6},
                                                                         {Kind::kOffered, 6},
                                                                         {Kind::kExtended, 6},
                                                                         {Kind::kEnded, 6},
                                                                         {Kind::kEnded, 5}}) {
    SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)));
    rules_ = {};
    On(Kind::kGranted, 5);
    rules_.OnLookSent();
    On(kind, token);
    const int64_t before = leader();

    EXPECT_EQ(Answer(State::kHeld, 7), kLook);
    EXPECT_EQ(leader(), before);
    EXPECT_EQ(Look(State::kHeld, 7), kChange) << "the next one counts";
  }
}

// Its look may have been answered before the grant.
TEST_F(LeaderRulesTest, LookThatTheGrantOfAnOfferHasOvertakenDoesNotCount) {
  On(Kind::kOffered, 5);
  rules_.OnLookSent();
  On(Kind::kGranted, 5);
  EXPECT_EQ(Answer(State::kOffered, 5), kLook);
  EXPECT_EQ(leader(), 5);
}

TEST_F(LeaderRulesTest, WhatComesTwiceOvertakesNothing) {
  On(Kind::kGranted, 5);
  rules_.OnLookSent();
  On(Kind::kGranted, 5);
  On(Kind::kOffered, 5);
  On(Kind::kExtended, 5);
  On(Kind::kGranted, 4);
  On(Kind::kEnded, 4);
  EXPECT_EQ(Answer(State::kHeld, 6), kChange);

  On(Kind::kEnded, 6);
  rules_.OnLookSent();
  On(Kind::kEnded, 6);
  EXPECT_EQ(Answer(State::kHeld, 7), kChange);
}

TEST_F(LeaderRulesTest, GrantThatDoesNotSayItsOwnerLeadsOnceALookHasFoundIt) {
  const LockEvent nameless{.kind = Kind::kGranted, .lease = {.fencing_token = 5}};
  EXPECT_EQ(rules_.OnEvent(nameless), (Outcome{.look = true}));
  EXPECT_EQ(Look(State::kHeld, 5), kChange);
  EXPECT_EQ(rules_.OnEvent(nameless), kNothing);
  EXPECT_EQ(rules_.leader(), LeaseOf(5)) << "it is not forgotten";
}

}  // namespace
}  // namespace lockkeeper::client
