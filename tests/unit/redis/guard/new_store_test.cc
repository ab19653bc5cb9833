// SPDX-License-Identifier: Apache-2.0
//
// When the guard of a daemon takes a store without a marker for a new one: not while another daemon
// may know it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "redis/guard/node_guard.h"
#include "support/guard_options.h"
#include "unit/redis/guard/node_guard_fixture.h"

namespace lockkeeper::redis {
namespace {

using namespace std::chrono_literals;
using support::InFlight;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr core::Millis kWait{3'000};
// Between looks, and what the last one takes.
constexpr core::Millis kLook{60};

class NewStoreTest : public NodeGuardTest {
 protected:
  std::unique_ptr<Guarded> Daemon(char digit, int scans_max = 1'000) {
    NodeGuardOptions options = support::GuardOptionsOf(std::string(16, digit));
    options.new_store.own_channel = Guarded::ChannelOf(options);
    options.new_store.wait = kWait;
    options.new_store.scans_max = scans_max;
    return std::make_unique<Guarded>(server_, clock_, executor_, options);
  }

  bool Permits(Guarded& daemon) { return daemon.guard.Permits({0}, 0ms); }

  // How long it takes until the daemon permits calls, with steps of a look.
  core::Instant::duration TimeToPermit(Guarded& daemon, core::Millis limit = 10s) {
    const core::Instant from = clock_.Now();
    EXPECT_TRUE(executor_.AdvanceUntil([&] { return Permits(daemon); }, limit));
    return clock_.Now() - from;
  }
};

TEST_F(NewStoreTest, SingleDaemonOfALongRunningServerWaitsForNobody) {
  server_.Subscribe("lk:other", [](std::string_view) {});
  const auto daemon = Daemon('1');

  EXPECT_LT(TimeToPermit(*daemon), kLook);

  EXPECT_THAT(daemon->observer.told, ElementsAre("first use"));
  EXPECT_THAT(daemon->observer.waiting, testing::Each(IsEmpty()));
}

TEST_F(NewStoreTest, MarkerThatIsThereCostsNoWait) {
  const auto one = Daemon('1');
  TimeToPermit(*one);
  server_.Restart();
  const auto two = Daemon('2');

  EXPECT_LT(TimeToPermit(*two), kLook);
}

// The daemon that knew the store is slow to look at it again.
TEST_F(NewStoreTest, StoreThatALivingDaemonKnewIsNotNew) {
  const auto knows = Daemon('1');
  ASSERT_TRUE(executor_.AdvanceUntil([&] { return knows->guard.Permits({0}, 9s); }, 1s));
  knows->node.GoAway(InFlight::kLost);
  Run({"FLUSHALL"});
  const auto newcomer = Daemon('2');

  EXPECT_FALSE(executor_.AdvanceUntil([&] { return Permits(*newcomer); }, 2s));
  knows->node.ComeBack();
  TimeToPermit(*newcomer, 900ms);

  EXPECT_THAT(knows->observer.told, ElementsAre("first use", "emptied 2"));
  EXPECT_THAT(newcomer->observer.told, IsEmpty());
  EXPECT_EQ(newcomer->guard.trust().epoch, 2);
  EXPECT_GT(newcomer->guard.Permit().grants_from, server_.clock().Now());
}

// After a restart the others have to connect again: their channels are not there yet.
TEST_F(NewStoreTest, ServerThatHasJustStartedIsGivenTime) {
  const auto knows = Daemon('1');
  TimeToPermit(*knows);
  knows->node.GoAway(InFlight::kLost);
  knows->node.StopListening();
  server_.RestartEmpty();
  const auto newcomer = Daemon('2');

  EXPECT_FALSE(executor_.AdvanceUntil([&] { return Permits(*newcomer); }, 2s));
  knows->node.ComeBack();
  knows->node.ListenAgain();
  TimeToPermit(*newcomer, 900ms);

  EXPECT_THAT(knows->observer.told, ElementsAre("first use", "emptied 2"));
  EXPECT_THAT(newcomer->observer.told, IsEmpty());
}

TEST_F(NewStoreTest, SingleDaemonOfAServerThatHasJustStartedWaitsUntilItIsUpForLongEnough) {
  server_.RestartEmpty();
  executor_.AdvanceBy(1s);
  const auto daemon = Daemon('1');

  const auto waited = TimeToPermit(*daemon);

  EXPECT_GE(waited, 2s);
  EXPECT_LT(waited, 2s + 2 * kLook);
  EXPECT_THAT(daemon->observer.told, ElementsAre("first use"));
}

TEST_F(NewStoreTest, ServerThatDoesNotTellItsAgeIsWatchedForAsLong) {
  server_.life().started = {};
  const auto daemon = Daemon('1');

  const auto waited = TimeToPermit(*daemon);

  EXPECT_GE(waited, kWait);
  EXPECT_LT(waited, kWait + 2 * kLook);
}

TEST_F(NewStoreTest, ClockThatWasSetBackCostsNoMoreThanTheWait) {
  server_.clock().StepBy(-2h);
  const auto daemon = Daemon('1');

  EXPECT_LT(TimeToPermit(*daemon), kWait + 2 * kLook);
}

TEST_F(NewStoreTest, DaemonsThatStartTogetherAgreeAfterTheWait) {
  const auto one = Daemon('1');
  const auto two = Daemon('2');

  EXPECT_GE(TimeToPermit(*one), kWait);
  EXPECT_LT(TimeToPermit(*two), 2 * kLook);

  EXPECT_EQ(one->guard.stamp(), two->guard.stamp());
  EXPECT_EQ(one->observer.told.size() + two->observer.told.size(), 1U);
}

// For want of rights, say.
TEST_F(NewStoreTest, ServerThatDoesNotTellWhoListensIsWatchedForAsLong) {
  server_.Forbid("PUBSUB");
  const auto daemon = Daemon('1');

  EXPECT_GE(TimeToPermit(*daemon), kWait);
}

TEST_F(NewStoreTest, LooksThatAreFarApartProveNothing) {
  const auto knows = Daemon('1');
  TimeToPermit(*knows);
  knows->node.GoAway(InFlight::kLost);
  Run({"FLUSHALL"});
  const auto newcomer = Daemon('2');
  executor_.AdvanceBy(1s);
  newcomer->node.GoAway(InFlight::kLost);
  executor_.AdvanceBy(5s);
  newcomer->node.ComeBack();

  executor_.AdvanceBy(1s);
  EXPECT_FALSE(Permits(*newcomer)) << "what it saw before it was away does not count";
  knows->node.ComeBack();
  TimeToPermit(*newcomer, 1s);

  EXPECT_THAT(newcomer->observer.told, IsEmpty());
}

TEST_F(NewStoreTest, SaysWhyCallsAreHeldBack) {
  server_.RestartEmpty();
  const auto daemon = Daemon('1');
  executor_.AdvanceBy(200ms);
  EXPECT_FALSE(Permits(*daemon));

  const std::string why =
      "is empty: in 3s it counts as new, unless another daemon reports that it held data";
  EXPECT_EQ(daemon->guard.HeldBackBecause(), "the store " + why);
  EXPECT_THAT(daemon->observer.waiting, ElementsAre(why)) << "told once";
  TimeToPermit(*daemon);

  EXPECT_EQ(daemon->guard.HeldBackBecause(), "");
  EXPECT_EQ(daemon->observer.waiting.back(), "");
}

TEST_F(NewStoreTest, RecordsWithoutAMarkerAreALossAfterTheWaitToo) {
  server_.RestartEmpty();
  Run({"SET", "lk:{report}", "a record"});
  const auto daemon = Daemon('1');

  TimeToPermit(*daemon);

  EXPECT_THAT(daemon->observer.told, ElementsAre("marker_missing 1"));
}

// There may be records among those that were not looked at. It says so, and not that there are
// some.
TEST_F(NewStoreTest, KeysOfOthersThatAreTooManyToSearchAreALossOfTheirOwn) {
  for (int i = 0; i < 1'500; ++i) Run({"SET", "other:" + std::to_string(i), ""});
  const auto daemon = Daemon('1', 1);

  TimeToPermit(*daemon);

  EXPECT_THAT(daemon->observer.told, ElementsAre("not_searched 1"));
}

TEST_F(NewStoreTest, KeysOfOthersThatWereAllSearchedAreNoLoss) {
  for (int i = 0; i < 1'500; ++i) Run({"SET", "other:" + std::to_string(i), ""});
  const auto daemon = Daemon('1', 2);

  TimeToPermit(*daemon);

  EXPECT_THAT(daemon->observer.told, ElementsAre("first use"));
}

TEST_F(NewStoreTest, MayEndAtAnyMoment) {
  for (int turns = 0; turns < 12; ++turns) {
    auto daemon = Daemon('1');
    EXPECT_FALSE(Permits(*daemon));
    for (int i = 0; i < turns; ++i) executor_.RunTurn();
    daemon.reset();
    executor_.RunUntilIdle();
    Run({"FLUSHALL"});
  }
}

}  // namespace
}  // namespace lockkeeper::redis
