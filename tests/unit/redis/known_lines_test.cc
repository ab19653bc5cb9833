// SPDX-License-Identifier: Apache-2.0
// A script that has to see the line of a lock is called once, if the line is known.
#include "redis/known_lines.h"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/errors.h"
#include "gtest/gtest.h"
#include "redis/redis_store.h"
#include "redis/scripts.h"
#include "support/fake_node/fake_node.h"
#include "support/fake_node/lua_scripts.h"
#include "support/manual_clock.h"
#include "support/manual_executor.h"
#include "support/silent_guard_observer.h"
#include "support/trusting_guard.h"

namespace lockkeeper::redis {
namespace {

using namespace std::chrono_literals;

constexpr core::Millis kTtl{1'000};

TEST(KnownLinesTest, LineIsForgottenSomeTimeAfterItWasSeenLast) {
  KnownLines lines;
  const support::ManualClock clock;
  const core::Instant begin = clock.Now();
  EXPECT_EQ(lines.Find("a", begin), nullptr);

  lines.Saw("a", begin).unpark_from = 7;
  lines.Saw("b", begin);
  lines.Saw("a", begin + KnownLines::kKept);

  ASSERT_NE(lines.Find("a", begin + 2 * KnownLines::kKept - 1ms), nullptr);
  EXPECT_EQ(lines.Find("a", begin + 2 * KnownLines::kKept - 1ms)->unpark_from, 7);
  EXPECT_EQ(lines.Find("b", begin + 2 * KnownLines::kKept), nullptr);
  EXPECT_EQ(lines.Find("a", begin + 3 * KnownLines::kKept), nullptr);
}

class CallsOfLinesTest : public testing::Test {
 protected:
  // None of the calls that are counted is there to load a script.
  CallsOfLinesTest() {
    for (const ScriptSource& script : AllScripts()) {
      for (const size_t keys : {size_t{1}, size_t{2}}) {
        const std::vector<std::string_view> load = {"SCRIPT", "LOAD", script.ForKeys(keys).text};
        server_.Execute(load);
      }
    }
  }

  core::AcquireRequest AcquireOf(uint64_t id) {
    return {.name = "a",
            .lease_id = core::LeaseId::FromBits(id, id),
            .attempt = 1,
            .ttl = kTtl,
            .wait_timeout = 60s,
            .keeper = core::Keeper(1, id),
            .deadline = clock_.Now() + 1s};
  }

  // How many calls it takes until `start` is answered.
  template <typename T, typename Start>
  uint64_t CallsOf(Start start) {
    const uint64_t before = node_.requests();
    bool answered = false;
    start(core::Done<T>([&](absl::StatusOr<T> answer) {
      EXPECT_TRUE(answer.ok()) << answer.status();
      Note(answer);
      answered = true;
    }));
    EXPECT_TRUE(executor_.AdvanceUntil([&] { return answered; }, 1s));
    return node_.requests() - before;
  }
  uint64_t CallsOfStand(uint64_t id) {
    return CallsOf<core::AcquireOutcome>(
        [&](auto done) { line_of_locks_.Stand(AcquireOf(id), 0, std::move(done)); });
  }
  uint64_t CallsOfExtend(uint64_t id) {
    return CallsOf<core::Lease>([&](auto done) {
      locks_.Extend(
          {.name = "a", .lease_id = core::LeaseId::FromBits(id, id), .deadline = clock_.Now() + 1s},
          std::move(done));
    });
  }

  void Note(const absl::StatusOr<core::AcquireOutcome>& outcome) {
    const auto* const place = outcome.ok() ? std::get_if<core::Waiting>(&*outcome) : nullptr;
    if (place != nullptr) line_ = place->line;
  }
  template <typename T>
  void Note(const T&) {}

  int64_t line_ = 0;  // The last one that an acquire stood in.
  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  support::LuaScripts lua_;
  support::RedisModel server_{lua_, clock_};
  support::FakeNode node_{server_, clock_, executor_};
  support::SilentGuardObserver observer_;
  RedisStore redis_{node_,
                    clock_,
                    executor_,
                    observer_,
                    {.daemon_id = core::Hex16(1)},
                    std::make_unique<support::TrustingGuard>()};
  core::LockStore& locks_ = redis_.locks();
  core::WaitingLine& line_of_locks_ = redis_.line();
};

TEST_F(CallsOfLinesTest, AcquireThatHasToWaitIsOneCallOnceTheLockHasALine) {
  EXPECT_EQ(CallsOfStand(1), 1U) << "it is granted";
  EXPECT_EQ(CallsOfStand(2), 2U) << "the first that waits";

  EXPECT_EQ(CallsOfStand(3), 1U);

  executor_.AdvanceBy(2 * KnownLines::kKept);
  EXPECT_EQ(CallsOfStand(4), 2U) << "it is not known any more";
}

TEST_F(CallsOfLinesTest, ReleaseOfALockWithALineIsOneCall) {
  CallsOfStand(1);
  CallsOfStand(2);

  EXPECT_EQ(
      CallsOf<core::ReleaseAnswer>([&](auto done) {
        locks_.Release(
            {.name = "a", .lease_id = core::LeaseId::FromBits(1, 1), .deadline = clock_.Now() + 1s},
            std::move(done));
      }),
      1U);
}

TEST_F(CallsOfLinesTest, ClaimOfAnOfferThatWasToldIsOneCall) {
  CallsOfStand(1);
  CallsOfStand(2);
  EXPECT_EQ(CallsOfExtend(1), 1U);
  executor_.AdvanceBy(kTtl);
  CallsOf<core::PollAnswer>([&](auto done) {
    line_of_locks_.Poll({.name = "a", .line = line_, .deadline = clock_.Now() + 1s},
                        std::move(done));
  });

  EXPECT_EQ(CallsOfExtend(2), 1U);
}

}  // namespace
}  // namespace lockkeeper::redis
