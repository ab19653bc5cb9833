// SPDX-License-Identifier: Apache-2.0
//
// Daemons that restore what they told their clients: two and more of them on a server that is
// replaced by a promoted one with the data of a moment before.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "redis/format/daemon_roll.h"
#include "redis/redis_store.h"
#include "redis/scripts.h"
#include "unit/redis/guard/node_guard_fixture.h"

namespace lockkeeper::redis {
namespace {

using namespace std::chrono_literals;
using core::ErrorReason;
using core::Lease;
using core::Micros;
using core::Millis;
using support::InFlight;

constexpr Millis kTtl = 30s;
constexpr Millis kIsolation = 2s;
// Granted again within this time after a failover.
constexpr Millis kSoon = 2s;

// A daemon's store.
struct RestoringDaemon {
  RestoringDaemon(RedisModel& server, ManualClock& clock, ManualExecutor& executor,
                  const RedisStoreOptions& options)
      : node(server, clock, executor), store(node, clock, executor, observer, options) {
    node.SeeIsolation(kIsolation);
  }

  const StoreTrust& trust() const { return observer.last; }

  FakeNode node;
  RecordingObserver observer;
  RedisStore store;
};

class RestoringTest : public NodeGuardTest {
 protected:
  RestoringTest() { server_.life().durable = false; }

  RestoringDaemon& Start() {
    const std::string id(16, static_cast<char>('1' + restoring_.size()));
    RedisStoreOptions options = support::StoreOptionsOf(id);
    options.restores = true;
    options.call_lifetime = call_lifetime_;
    restoring_.push_back(std::make_unique<RestoringDaemon>(server_, clock_, executor_, options));
    return *restoring_.back();
  }

  // All know each other: they have beaten a few times.
  void Settle() { executor_.AdvanceBy(3s); }

  static core::LeaseId Id(uint64_t number) { return core::LeaseId::FromBits(number, ~number); }
  core::Instant Deadline() const { return clock_.Now() + 1s; }

  template <typename T, typename Ask>
  absl::StatusOr<T> Await(Ask ask, Micros limit = 2s) {
    auto answer = std::make_shared<std::optional<absl::StatusOr<T>>>();
    ask([answer](absl::StatusOr<T> result) { *answer = std::move(result); });
    executor_.AdvanceUntil([&answer] { return answer->has_value(); }, limit);
    return answer->value_or(absl::InternalError("never answered"));
  }

  absl::StatusOr<core::AcquireAnswer> Acquire(RestoringDaemon& daemon, const std::string& lock,
                                              uint64_t id, Millis ttl = kTtl) {
    return Await<core::AcquireAnswer>([&](core::Done<core::AcquireAnswer> done) {
      daemon.store.locks().Acquire({.name = lock,
                                    .lease_id = Id(id),
                                    .attempt = 1,
                                    .ttl = ttl,
                                    .principal = "someone",
                                    .keeper = core::Keeper(1, id),
                                    .deadline = Deadline()},
                                   std::move(done));
    });
  }
  bool IsGranted(RestoringDaemon& daemon, const std::string& lock, uint64_t id, Millis ttl = kTtl) {
    const auto answer = Acquire(daemon, lock, id, ttl);
    return answer.ok() && std::holds_alternative<Lease>(*answer);
  }
  bool IsHeldByAnother(RestoringDaemon& daemon, const std::string& lock, uint64_t id) {
    const auto answer = Acquire(daemon, lock, id);
    return answer.ok() && std::holds_alternative<core::Contention>(*answer);
  }
  bool IsQuarantined(RestoringDaemon& daemon, const std::string& lock = "asked") {
    return core::ReasonOf(Acquire(daemon, lock, 999).status()) == ErrorReason::kStoreQuarantined;
  }

  absl::StatusOr<Lease> Extend(RestoringDaemon& daemon, const std::string& lock, uint64_t id,
                               Millis ttl = kTtl) {
    return Await<Lease>([&](core::Done<Lease> done) {
      daemon.store.locks().Extend({.name = lock,
                                   .lease_id = Id(id),
                                   .ttl = ttl,
                                   .principal = "someone",
                                   .deadline = Deadline()},
                                  std::move(done));
    });
  }

  bool Release(RestoringDaemon& daemon, const std::string& lock, uint64_t id) {
    const auto answer = Await<core::ReleaseAnswer>([&](core::Done<core::ReleaseAnswer> done) {
      daemon.store.locks().Release(
          {.name = lock, .lease_id = Id(id), .principal = "someone", .deadline = Deadline()},
          std::move(done));
    });
    return answer.ok() && answer->released();
  }

  // Another server, with the data of `snapshot`, takes the place of the one before. The daemons
  // but those in `gone` come to it.
  void Promote(support::Keyspace::Snapshot snapshot, const std::vector<RestoringDaemon*>& gone = {},
               Micros takes = 1s) {
    for (const auto& daemon : restoring_) daemon->node.GoAway(InFlight::kLost);
    executor_.AdvanceBy(takes);
    server_.RestoreSnapshot(std::move(snapshot));
    server_.Restart();
    server_.LoadCompiledScripts();
    server_.life().promoted = true;
    for (const auto& daemon : restoring_) {
      const bool is_gone = std::ranges::find(gone, daemon.get()) != gone.end();
      if (!is_gone) daemon->node.ComeBack();
    }
  }

  // Whether the daemon has noticed the failover, and the quarantine has ended within kSoon.
  bool EndsSoon(RestoringDaemon& daemon) {
    return executor_.AdvanceUntil(
        [&daemon] {
          return daemon.trust().epoch == 2 && daemon.trust().quarantine_left == Micros(0);
        },
        kSoon);
  }
  // Whether nothing is granted for as long as without anything that is restored.
  bool LastsAsLongAsWithout(RestoringDaemon& daemon, Millis longest = kTtl) {
    executor_.AdvanceBy(QuarantineOf(longest) + kIsolation - 2s);
    return IsQuarantined(daemon);
  }

  DaemonRoll Roll() { return ParseRoll(Run({"GET", "lk:daemons"}).text); }

  Millis call_lifetime_ = 2s;
  std::vector<std::unique_ptr<RestoringDaemon>> restoring_;
};

TEST_F(RestoringTest, QuarantineEndsAsSoonAsBothHaveRestored) {
  RestoringDaemon& one = Start();
  RestoringDaemon& two = Start();
  Settle();
  ASSERT_TRUE(IsGranted(one, "a", 1) && IsGranted(two, "b", 2));
  Settle();

  Promote(server_.TakeSnapshot());
  ASSERT_TRUE(EndsSoon(one));
  executor_.AdvanceBy(1100ms);

  EXPECT_EQ(two.trust().quarantine_left, Micros(0));
  EXPECT_THAT(one.observer.told, testing::Contains(testing::AnyOf("promoted 2", "epoch 2")));
  EXPECT_TRUE(IsGranted(one, "c", 3));
  EXPECT_TRUE(IsGranted(two, "d", 4));
  EXPECT_TRUE(IsHeldByAnother(two, "a", 5));
  EXPECT_TRUE(IsHeldByAnother(one, "b", 6));
  EXPECT_TRUE(Extend(one, "a", 1).ok());
}

TEST_F(RestoringTest, NothingIsGrantedBeforeAllHaveRestored) {
  RestoringDaemon& one = Start();
  RestoringDaemon& two = Start();
  Settle();
  ASSERT_TRUE(IsGranted(two, "b", 2));
  Settle();

  Promote(server_.TakeSnapshot(), {&two});
  EXPECT_TRUE(IsQuarantined(one));
  EXPECT_FALSE(EndsSoon(one));
  two.node.ComeBack();
  EXPECT_TRUE(EndsSoon(one));
  EXPECT_TRUE(IsHeldByAnother(one, "b", 3));
}

TEST_F(RestoringTest, QuarantineStaysWhenOneOfThemIsGone) {
  RestoringDaemon& one = Start();
  RestoringDaemon& two = Start();
  Settle();
  ASSERT_TRUE(IsGranted(two, "b", 2));
  Settle();

  Promote(server_.TakeSnapshot(), {&two});

  EXPECT_TRUE(IsQuarantined(one));
  EXPECT_TRUE(LastsAsLongAsWithout(one));
  executor_.AdvanceBy(4s);
  EXPECT_TRUE(IsGranted(one, "c", 3));
}

TEST_F(RestoringTest, LeaseThatThePromotedServerLacksIsClosedAgainUntilItsToldEnd) {
  RestoringDaemon& one = Start();
  RestoringDaemon& two = Start();
  Settle();
  ASSERT_TRUE(IsGranted(one, "c", 9));  // So that the scripts and the ceiling are known.
  const auto snapshot = server_.TakeSnapshot();
  ASSERT_TRUE(IsGranted(two, "b", 2));
  const core::Instant end = clock_.Now() + kTtl;
  ASSERT_THAT(Run({"GET", "lk:{b}"}).text, testing::Not(testing::IsEmpty()));

  Promote(snapshot);
  EXPECT_EQ(Run({"GET", "lk:{b}"}).text, "");
  ASSERT_TRUE(EndsSoon(one));

  EXPECT_TRUE(IsHeldByAnother(one, "b", 3));
  executor_.AdvanceBy(std::chrono::duration_cast<Micros>(end - clock_.Now()) - 5ms);
  EXPECT_TRUE(IsHeldByAnother(one, "b", 3));
  executor_.AdvanceBy(10ms);
  EXPECT_TRUE(IsGranted(one, "b", 3));
}

// The promoted server has the end of before.
TEST_F(RestoringTest, ExtendThatThePromotedServerLacksIsRestored) {
  RestoringDaemon& one = Start();
  RestoringDaemon& two = Start();
  Settle();
  ASSERT_TRUE(IsGranted(one, "a", 1));
  const auto snapshot = server_.TakeSnapshot();
  executor_.AdvanceBy(20s);
  ASSERT_TRUE(Extend(one, "a", 1).ok());
  executor_.AdvanceBy(500ms);

  Promote(snapshot);
  ASSERT_TRUE(EndsSoon(two));
  executor_.AdvanceBy(15s);

  EXPECT_TRUE(IsHeldByAnother(two, "a", 2)) << "longer than the grant was told";
  EXPECT_TRUE(Extend(one, "a", 1).ok());
}

// Its daemon knows that; the promoted server does not.
TEST_F(RestoringTest, LeaseThatWasReleasedIsNotRestored) {
  RestoringDaemon& one = Start();
  RestoringDaemon& two = Start();
  Settle();
  ASSERT_TRUE(IsGranted(one, "a", 1));
  const auto snapshot = server_.TakeSnapshot();
  ASSERT_TRUE(Release(one, "a", 1));

  Promote(snapshot);
  ASSERT_TRUE(EndsSoon(two));

  EXPECT_TRUE(IsGranted(two, "a", 2));
}

// Of this release the daemon that told the lease has not heard.
TEST_F(RestoringTest, LeaseThatAnotherDaemonReleasedStaysClosedUntilItsHolderReleasesAgain) {
  RestoringDaemon& one = Start();
  RestoringDaemon& two = Start();
  Settle();
  ASSERT_TRUE(IsGranted(one, "a", 1));
  const auto snapshot = server_.TakeSnapshot();
  ASSERT_TRUE(Release(two, "a", 1));

  Promote(snapshot);
  ASSERT_TRUE(EndsSoon(two));

  EXPECT_TRUE(IsHeldByAnother(two, "a", 2));
  EXPECT_TRUE(Release(two, "a", 1));
  EXPECT_TRUE(IsGranted(two, "a", 2));
}

TEST_F(RestoringTest, SingleDaemonWaitsOutTheQuarantine) {
  RestoringDaemon& one = Start();
  Settle();
  ASSERT_TRUE(IsGranted(one, "a", 1));
  Settle();

  Promote(server_.TakeSnapshot());

  EXPECT_TRUE(IsQuarantined(one));
  EXPECT_TRUE(LastsAsLongAsWithout(one));
}

// What it had told nobody restores.
TEST_F(RestoringTest, QuarantineStaysWhenOneHasLeftBefore) {
  RestoringDaemon& one = Start();
  RestoringDaemon& two = Start();
  RestoringDaemon& three = Start();
  Settle();
  ASSERT_TRUE(IsGranted(three, "a", 1));
  three.store.LeaveRoll();
  executor_.AdvanceBy(10ms);
  three.node.GoAway(InFlight::kLost);
  executor_.AdvanceBy(1s);
  ASSERT_EQ(Roll().Find(std::string(16, '3'))->state, RollEntry::State::kLeft);

  Promote(server_.TakeSnapshot(), {&three});

  EXPECT_TRUE(IsQuarantined(one));
  EXPECT_TRUE(IsQuarantined(two));
  EXPECT_TRUE(LastsAsLongAsWithout(one));
}

TEST_F(RestoringTest, WhomThePromotedServersRollLacksIsWaitedFor) {
  RestoringDaemon& one = Start();
  RestoringDaemon& two = Start();
  Settle();
  ASSERT_TRUE(IsGranted(one, "c", 9));
  const auto snapshot = server_.TakeSnapshot();
  RestoringDaemon& three = Start();
  Settle();
  ASSERT_TRUE(IsGranted(three, "a", 1));

  Promote(snapshot, {&three});
  EXPECT_TRUE(IsQuarantined(one));
  EXPECT_FALSE(EndsSoon(two));
  three.node.ComeBack();
  ASSERT_TRUE(EndsSoon(two));

  EXPECT_TRUE(IsHeldByAnother(two, "a", 2));
}

// A daemon may have begun meanwhile that it does not know of.
TEST_F(RestoringTest, DaemonsThatCameTooLateRestoreNothingThatCounts) {
  RestoringDaemon& one = Start();
  RestoringDaemon& two = Start();
  Settle();
  ASSERT_TRUE(IsGranted(one, "a", 1, 60s));
  Settle();

  Promote(server_.TakeSnapshot(), {}, StaleAfter(kIsolation) + 1s);

  EXPECT_TRUE(IsQuarantined(one));
  EXPECT_FALSE(EndsSoon(two));
  EXPECT_TRUE(LastsAsLongAsWithout(one, 55s));
}

TEST_F(RestoringTest, ForcedReleaseIsWaitedFor) {
  RestoringDaemon& one = Start();
  RestoringDaemon& two = Start();
  Settle();
  ASSERT_TRUE(IsGranted(one, "a", 1));
  const auto forced =
      Await<core::ForceReleaseAnswer>([&](core::Done<core::ForceReleaseAnswer> done) {
        two.store.admin().ForceRelease({.name = "a", .deadline = core::Instant::max()},
                                       std::move(done));
      });
  ASSERT_TRUE(forced.ok() && forced->released);
  Settle();

  Promote(server_.TakeSnapshot());

  EXPECT_FALSE(EndsSoon(one));
  EXPECT_TRUE(IsQuarantined(two));
}

// Both come onto the roll anew, and neither is known to one that may begin.
TEST_F(RestoringTest, DaemonsGoOnThoughTheRollIsGone) {
  RestoringDaemon& one = Start();
  RestoringDaemon& two = Start();
  Settle();
  for (const char* roll : {"", "no roll"}) {
    Run({"SET", "lk:daemons", roll});
    executor_.AdvanceBy(2500ms);
    EXPECT_TRUE(IsGranted(one, std::string("a") + roll, 1));
    EXPECT_TRUE(IsGranted(two, std::string("b") + roll, 2));
    EXPECT_EQ(Roll().entries.size(), 2U);
  }
}

TEST_F(RestoringTest, DaemonsThatStartAtOnceAfterAllHaveCrashedDoNotWaitForEachOther) {
  Start();
  Start();
  Settle();
  for (const auto& crashed : restoring_) crashed->node.GoAway(InFlight::kLost);
  executor_.AdvanceBy(1s);
  RestoringDaemon& three = Start();
  RestoringDaemon& four = Start();

  executor_.AdvanceBy(SilentAfter(kIsolation) + 1s);

  EXPECT_TRUE(IsGranted(three, "a", 1));
  EXPECT_TRUE(IsGranted(four, "b", 2));
}

// It is no data of a moment before.
TEST_F(RestoringTest, EmptiedStoreIsWaitedForAsLongAsEver) {
  RestoringDaemon& one = Start();
  RestoringDaemon& two = Start();
  Settle();
  ASSERT_TRUE(IsGranted(one, "a", 1));
  Run({"FLUSHALL"});
  EXPECT_TRUE(IsQuarantined(two));
  EXPECT_FALSE(EndsSoon(two));
}

TEST_F(RestoringTest, RestartOfTheSameServerIsWaitedForAsLongAsEver) {
  RestoringDaemon& one = Start();
  RestoringDaemon& two = Start();
  Settle();
  ASSERT_TRUE(IsGranted(one, "a", 1));
  server_.Restart();
  server_.LoadCompiledScripts();

  EXPECT_TRUE(IsQuarantined(two));
  EXPECT_FALSE(EndsSoon(two));
}

// In the first quarantine not all had been restored when the second server was lost.
TEST_F(RestoringTest, FailoverInAQuarantineIsWaitedForAsLongAsEver) {
  RestoringDaemon& one = Start();
  RestoringDaemon& two = Start();
  Settle();
  ASSERT_TRUE(IsGranted(one, "a", 1));
  Settle();
  Promote(server_.TakeSnapshot(), {&two});
  ASSERT_TRUE(IsQuarantined(one));
  executor_.AdvanceBy(1s);

  Promote(server_.TakeSnapshot());

  executor_.AdvanceBy(kSoon);
  EXPECT_EQ(one.trust().epoch, 3);
  EXPECT_TRUE(IsQuarantined(one));
  EXPECT_TRUE(IsQuarantined(two));
}

TEST_F(RestoringTest, DaemonBeginsOnceAnotherOneHasReadOfIt) {
  Start();
  Settle();
  RestoringDaemon& two = Start();
  EXPECT_TRUE(executor_.AdvanceUntil([&] { return IsGranted(two, "a", 1); }, 2s));
  const RollEntry* const first = Roll().Find(std::string(16, '1'));
  ASSERT_NE(first, nullptr);
}

TEST_F(RestoringTest, DaemonGrantsNothingBeforeOneOfTwoSilentOnesIsStale) {
  RestoringDaemon& one = Start();
  RestoringDaemon& two = Start();
  Settle();
  one.node.GoAway(InFlight::kLost);
  two.node.GoAway(InFlight::kLost);
  RestoringDaemon& three = Start();

  executor_.AdvanceBy(SilentAfter(kIsolation) - 3s);
  EXPECT_FALSE(IsGranted(three, "a", 1));
  executor_.AdvanceBy(2s);
  EXPECT_TRUE(IsGranted(three, "a", 1));
}

// Whatever it was told since may be missing where it is not known.
// store.request_timeout may be a minute: longer than calls are carried out after a beat.
TEST_F(RestoringTest, DaemonWhoseCallsMayTakeLongGrants) {
  call_lifetime_ = 60s;
  RestoringDaemon& one = Start();
  Settle();
  EXPECT_TRUE(IsGranted(one, "a", 1));
}

TEST_F(RestoringTest, DaemonWhoseBeatsAreNotAnsweredGrantsNothingMore) {
  RestoringDaemon& one = Start();
  Settle();
  one.node.SetNetwork([](support::Words words) {
    const bool is_beat = words.size() > 1 && words[1] == kMarkerScript.sha1;
    return support::Delivery{.reply_delay = is_beat ? Micros(1h) : Micros(0)};
  });
  executor_.AdvanceBy(5s);
  executor_.AdvanceBy(7s);
  EXPECT_FALSE(IsGranted(one, "a", 1));
  EXPECT_EQ(Run({"GET", "lk:{a}"}).text, "");
}

}  // namespace
}  // namespace lockkeeper::redis
