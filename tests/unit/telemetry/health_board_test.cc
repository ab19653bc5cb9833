// SPDX-License-Identifier: Apache-2.0
#include "telemetry/health_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "support/telemetry/recorded_log.h"

namespace lockkeeper::telemetry {
namespace {

using core::Assurance;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

auto Up(Assurance assurance = Assurance::kDisk) {
  return [assurance](StoreStatus& status) {
    status.reachable = true;
    status.problem = "";
    status.server_version = "7.0.15";
    status.assurance = assurance;
  };
}

auto Down(std::string problem) {
  return [problem = std::move(problem)](StoreStatus& status) {
    status.reachable = false;
    status.problem = problem;
  };
}

// The guard has looked and found this epoch, in a quarantine or not.
auto Guarded(bool grants, int64_t epoch = 1, core::NodeTime quarantine_end = {}) {
  return [=](StoreStatus& status) {
    status.looked = true;
    status.grants = grants;
    status.epoch = epoch;
    status.quarantine_end = quarantine_end;
  };
}

void NotLooked(StoreStatus& status) { status.looked = status.grants = false; }

class HealthBoardTest : public testing::Test {
 protected:
  bool Exposes(const std::string& line) {
    return ("\n" + metrics_.Expose()).find("\n" + line + "\n") != std::string::npos;
  }

  support::RecordedLog log_;
  Metrics metrics_{"1.0", "abc"};
};

TEST_F(HealthBoardTest, ServesNotBeforeTheStoreIsReached) {
  HealthBoard board(log_.logger(), metrics_);

  EXPECT_FALSE(board.Current().serving());
  EXPECT_EQ(board.Current().problem(), "store away: not connected yet");
  EXPECT_TRUE(Exposes("lockkeeper_store_up 0"));
  EXPECT_THAT(log_.Take(), IsEmpty());

  board.ReportStore(Up());

  EXPECT_TRUE(board.Current().serving());
  EXPECT_EQ(board.Current().problem(), "");
  EXPECT_EQ(board.Current().store.server_version, "7.0.15");
  EXPECT_EQ(board.Current().store.assurance, Assurance::kDisk);
  EXPECT_TRUE(Exposes("lockkeeper_store_up 1"));
  EXPECT_THAT(log_.Take(), ElementsAre(AllOf(HasSubstr("level=info"), HasSubstr("event=store.up"),
                                             EndsWith("server_version=7.0.15 assurance=disk"))));
}

TEST_F(HealthBoardTest, StoreThatIsNotDurableIsWarnedOf) {
  HealthBoard board(log_.logger(), metrics_);

  board.ReportStore(Up(Assurance::kMemory));

  EXPECT_THAT(log_.Take(),
              ElementsAre(HasSubstr("event=store.up"),
                          AllOf(HasSubstr("level=warn"), HasSubstr("event=store.not_durable"),
                                EndsWith("assurance=memory"))));

  // Not again with each new connection, but when it becomes so.
  board.ReportStore(Down("connection refused"));
  board.ReportStore(Up(Assurance::kMemory));
  EXPECT_THAT(log_.Take(), ElementsAre(HasSubstr("event=store.down"), HasSubstr("event=store.up")));
  board.ReportStore(Up(Assurance::kDisk));
  board.ReportStore(Up(Assurance::kMemory));
  EXPECT_THAT(log_.Take(), ElementsAre(HasSubstr("event=store.not_durable")));
}

TEST_F(HealthBoardTest, NotesSayWhatIsGivenUpAndThatTheStoreForgets) {
  HealthBoard board(log_.logger(), metrics_);
  EXPECT_TRUE(board.Current().notes().empty());
  board.ReportGivenUp({"store.quarantine is off"});
  board.ReportStore(Up(Assurance::kDisk));
  EXPECT_THAT(board.Current().notes(), testing::ElementsAre("store.quarantine is off"));
  board.ReportStore(Up(Assurance::kMemory));
  EXPECT_THAT(board.Current().notes(),
              testing::ElementsAre("store.quarantine is off", HasSubstr("`appendfsync always`")));
  board.ReportStore(Down("connection refused"));
  EXPECT_EQ(board.Current().notes().size(), 1u) << "whether it forgets is not known";
}

TEST_F(HealthBoardTest, ServesNotBeforeTheGuardHasLooked) {
  HealthBoard board(log_.logger(), metrics_);
  board.ReportStore(NotLooked);
  board.ReportStore(Up());

  EXPECT_FALSE(board.Current().serving());
  EXPECT_FALSE(board.Current().granting());
  EXPECT_THAT(board.Current().problem(), HasSubstr("not looked"));

  board.ReportStore(Guarded(false));

  EXPECT_TRUE(board.Current().serving()) << "holders go on in a quarantine";
  EXPECT_EQ(board.Current().problem(), "");
}

TEST_F(HealthBoardTest, StoreThatNothingIsKnownOfIsNotCalledAway) {
  HealthBoard board(log_.logger(), metrics_);

  board.ReportGivenUp({"store.quarantine is off"});
  board.ReportStore(NotLooked);

  EXPECT_THAT(log_.Take(), IsEmpty());
}

TEST_F(HealthBoardTest, StoreThatIsAwayFromTheStartIsLogged) {
  HealthBoard board(log_.logger(), metrics_);

  board.ReportStore(Down("connection refused"));

  EXPECT_THAT(log_.Take(), ElementsAre(AllOf(HasSubstr("level=warn"), HasSubstr("event=store.down"),
                                             EndsWith("problem=\"connection refused\""))));
  EXPECT_EQ(board.Current().problem(), "store away: connection refused");
}

TEST_F(HealthBoardTest, ChangesAreLoggedOnceHoweverOftenTheyAreReported) {
  HealthBoard board(log_.logger(), metrics_);

  for (int i = 0; i < 3; ++i) board.ReportStore(Up());
  for (int i = 0; i < 100; ++i) board.ReportStore(Down("connection refused"));
  for (int i = 0; i < 3; ++i) board.ReportStore(Up());

  EXPECT_THAT(log_.Take(), ElementsAre(HasSubstr("event=store.up"), HasSubstr("event=store.down"),
                                       HasSubstr("event=store.up")));
}

TEST_F(HealthBoardTest, AlternatingProblemsAreLimited) {
  HealthBoard board(log_.logger(), metrics_);

  for (int i = 0; i < 100; ++i) board.ReportStore(Down(i % 2 == 0 ? "refused" : "loading"));
  EXPECT_THAT(log_.Take(),
              ElementsAre(HasSubstr("event=store.down"), HasSubstr("event=store.still_down")));
  EXPECT_EQ(board.Current().store.problem, "loading");

  log_.Advance(std::chrono::seconds(10));
  board.ReportStore(Down("refused"));
  EXPECT_THAT(log_.Take(), ElementsAre(EndsWith("problem=refused suppressed=98")));
}

TEST_F(HealthBoardTest, DrainingEndsServing) {
  HealthBoard board(log_.logger(), metrics_);
  board.ReportStore(Up());

  board.StartDraining();

  EXPECT_FALSE(board.Current().serving());
  EXPECT_TRUE(board.Current().store.reachable);
  EXPECT_THAT(board.Current().problem(), HasSubstr("draining"));
  EXPECT_TRUE(Exposes("lockkeeper_draining 1"));

  board.ReportStore(Down("refused"));
  board.ReportStore(Up());
  EXPECT_TRUE(board.Current().draining);
}

TEST_F(HealthBoardTest, LoopThatStandsStillServesAndGrantsNothing) {
  HealthBoard board(log_.logger(), metrics_);
  board.ReportStore(Up());
  log_.Take();

  board.ReportLoop(false);
  board.ReportLoop(false);

  EXPECT_FALSE(board.Current().serving());
  EXPECT_FALSE(board.Current().granting());
  EXPECT_THAT(board.Current().problem(), HasSubstr("loop stands still"));
  EXPECT_TRUE(Exposes("lockkeeper_event_loop_stuck 1"));
  EXPECT_TRUE(Exposes("lockkeeper_store_up 1"));
  EXPECT_THAT(log_.Take(), ElementsAre(AllOf(HasSubstr("level=error"), HasSubstr("loop.stuck"))));

  board.ReportLoop(true);

  EXPECT_TRUE(board.Current().serving());
  EXPECT_TRUE(Exposes("lockkeeper_event_loop_stuck 0"));
  EXPECT_THAT(log_.Take(), ElementsAre(HasSubstr("event=loop.turns_again")));
}

TEST_F(HealthBoardTest, StoreThatGrantsNothingNewServesHolders) {
  HealthBoard board(log_.logger(), metrics_);
  board.ReportStore(Up());
  EXPECT_TRUE(board.Current().granting());
  EXPECT_TRUE(Exposes("lockkeeper_store_granting 1"));

  board.ReportStore(Guarded(false, 7, {1'700'000'000'500'000}));

  EXPECT_TRUE(board.Current().serving());
  EXPECT_FALSE(board.Current().granting());
  EXPECT_TRUE(Exposes("lockkeeper_store_granting 0"));
  EXPECT_TRUE(Exposes("lockkeeper_store_epoch 7"));
  EXPECT_TRUE(Exposes("lockkeeper_store_quarantine_end_seconds 1700000000.5"));

  board.ReportStore(Guarded(true, 7));
  EXPECT_TRUE(board.Current().granting());
  EXPECT_TRUE(Exposes("lockkeeper_store_granting 1"));

  board.ReportStore(Down("refused"));
  EXPECT_FALSE(board.Current().granting()) << "a store that is away grants nothing";
  EXPECT_TRUE(Exposes("lockkeeper_store_granting 0"));
}

TEST_F(HealthBoardTest, ListenersHearThePresentAndEachChange) {
  HealthBoard board(log_.logger(), metrics_);
  std::vector<std::string> heard;
  const auto listen = [&heard](const Health& health) {
    heard.push_back(health.serving() ? "serving" : health.problem());
  };

  const HealthSubscription first = board.Subscribe(listen);
  board.ReportStore(Up());
  board.ReportStore(Up());
  const HealthSubscription second = board.Subscribe(listen);
  board.ReportStore(Down("refused"));
  board.StartDraining();
  board.StartDraining();

  EXPECT_THAT(heard, ElementsAre("store away: not connected yet", "serving", "serving",
                                 "store away: refused", "store away: refused",
                                 HasSubstr("draining"), HasSubstr("draining")));
}

// What was measured of a store says nothing of the one that comes back.
TEST_F(HealthBoardTest, LooksCountWhileTheStoreIsThere) {
  HealthBoard board(log_.logger(), metrics_);
  int heard = 0;
  const HealthSubscription subscription = board.Subscribe([&](const Health&) { ++heard; });
  const StoreLook look{.latency = core::Micros(300), .clock_ahead = core::Micros(-2'000)};

  board.ReportLook(look);
  EXPECT_FALSE(board.LastLook());

  board.ReportStore(Up());
  board.ReportLook(look);
  ASSERT_TRUE(board.LastLook());
  EXPECT_EQ(board.LastLook()->latency, core::Micros(300));
  EXPECT_EQ(board.LastLook()->clock_ahead, core::Micros(-2'000));
  EXPECT_EQ(heard, 2) << "a look is no change";

  board.ReportStore(Down("refused"));
  board.ReportStore(Up());
  EXPECT_FALSE(board.LastLook());
}

TEST_F(HealthBoardTest, ListenersHearNothingAfterTheirSubscription) {
  HealthBoard board(log_.logger(), metrics_);
  int heard_by_first = 0;
  int heard_by_second = 0;
  std::optional<HealthSubscription> first =
      board.Subscribe([&](const Health&) { ++heard_by_first; });
  HealthSubscription second = board.Subscribe([&](const Health&) { ++heard_by_second; });
  const HealthSubscription moved = std::move(second);

  board.ReportStore(Up());
  first.reset();
  board.ReportStore(Down("refused"));

  EXPECT_EQ(heard_by_first, 2);
  EXPECT_EQ(heard_by_second, 3);
}

// Goal: the last thing that a listener hears is how it is, whichever thread was last.
TEST_F(HealthBoardTest, ListenersHearChangesOfManyThreadsInOrder) {
  constexpr size_t kThreads = 4;
  HealthBoard board(log_.logger(), metrics_);
  Health last;
  const HealthSubscription subscription =
      board.Subscribe([&last](const Health& health) { last = health; });

  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&board] {
      for (int i = 0; i < 500; ++i)
        i % 2 == 0 ? board.ReportStore(Down("away")) : board.ReportStore(Up());
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_TRUE(board.Current().serving());
  EXPECT_EQ(last, board.Current());
}

}  // namespace
}  // namespace lockkeeper::telemetry
