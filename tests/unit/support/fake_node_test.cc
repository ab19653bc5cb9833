// SPDX-License-Identifier: Apache-2.0
//
// The in-process node keeps the contract of redis::Node, also while the test breaks its network.
#include "support/fake_node/fake_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "core/errors.h"
#include "redis/scripts.h"
#include "support/manual_executor.h"

namespace lockkeeper::support {
namespace {

using core::ErrorReason;
using core::Micros;
using redis::Command;
using redis::Reply;
using testing::ElementsAre;

constexpr Micros kReplyTimeout{1000};

class FakeNodeTest : public testing::Test {
 protected:
  struct Outcome {
    std::optional<absl::StatusOr<Reply>> reply;
  };

  redis::ReplyDone Into(Outcome& outcome) {
    return [&outcome](absl::StatusOr<Reply> reply) {
      EXPECT_FALSE(outcome.reply) << "a request was answered twice";
      outcome.reply = std::move(reply);
    };
  }

  static Command SetCommand(std::string_view key, std::string_view value) {
    Command command(3);
    command.Word("SET").Word(key).Word(value);
    return command;
  }

  // A call of fence.lua, which answers {now, 4, 0} for a lock without a record.
  static Command FenceCommand() {
    Command command(16);
    command.Word("EVALSHA").Word(redis::kFenceScript.sha1).Number(2).Word("lk:{a}");
    command.Word("lk:store");
    command.Number(0)
        .Number(1000)
        .Word("0000000001")
        .Number(1)
        .Word("channel:")
        .Word("")
        .Word("0000000000000000")
        .Word("0000000000000000")
        .Word("9999999999999999")
        .Number(1)
        .Number(0);
    return command;
  }

  std::string ValueOf(std::string_view key) {
    const std::vector<std::string_view> words = {"GET", key};
    return server_.Execute(words).text;
  }

  static std::optional<ErrorReason> ReasonOf(const Outcome& outcome) {
    return core::ReasonOf(outcome.reply->status());
  }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  LuaScripts lua_;
  RedisModel server_{lua_, clock_};
  FakeNode node_{server_, clock_, executor_, {.connections = 2, .reply_timeout = kReplyTimeout}};
};

TEST_F(FakeNodeTest, RequestIsAnsweredOnceAndNeverAtOnce) {
  Outcome set;
  node_.Send({}, SetCommand("a", "1"), Into(set));

  EXPECT_FALSE(set.reply);
  EXPECT_EQ(ValueOf("a"), "");
  executor_.RunUntilIdle();
  ASSERT_TRUE(set.reply);
  EXPECT_EQ((*set.reply)->text, "OK");
  EXPECT_EQ(ValueOf("a"), "1");
}

TEST_F(FakeNodeTest, UnknownScriptIsLoadedAndRunAgain) {
  Outcome first;
  Outcome second;
  node_.Run({0}, redis::kFenceScript, FenceCommand(), Into(first));
  executor_.RunUntilIdle();
  EXPECT_EQ(node_.requests(), 3U);
  server_.ForgetScripts();
  node_.Run({0}, redis::kFenceScript, FenceCommand(), Into(second));
  executor_.RunUntilIdle();

  ASSERT_TRUE(first.reply && second.reply);
  EXPECT_EQ((*first.reply)->items.at(1).integer, 4);
  EXPECT_EQ((*second.reply)->items.at(1).integer, 4);
}

TEST_F(FakeNodeTest, LaneKeepsItsOrderWhateverTheDelays) {
  Outcome slow;
  Outcome fast;
  node_.PlanNext({.request_delay = Micros(500)});
  node_.Run({0}, redis::kFenceScript, SetCommand("a", "first"), Into(slow));
  node_.Run({0}, redis::kFenceScript, SetCommand("a", "second"), Into(fast));

  executor_.RunUntilIdle();
  EXPECT_FALSE(fast.reply);
  executor_.AdvanceBy(Micros(500));

  EXPECT_TRUE(slow.reply && fast.reply);
  EXPECT_EQ(ValueOf("a"), "second");
}

TEST_F(FakeNodeTest, LanesDoNotWaitForEachOther) {
  Outcome slow;
  Outcome fast;
  node_.PlanNext({.request_delay = Micros(500)});
  node_.Run({0}, redis::kFenceScript, SetCommand("a", "slow"), Into(slow));
  node_.Run({1}, redis::kFenceScript, SetCommand("a", "fast"), Into(fast));

  executor_.RunUntilIdle();
  EXPECT_TRUE(fast.reply);
  EXPECT_EQ(ValueOf("a"), "fast");
  executor_.AdvanceBy(Micros(500));
  EXPECT_EQ(ValueOf("a"), "slow");
}

TEST_F(FakeNodeTest, LostRequestIsNotExecutedAndItsOutcomeIsUnknown) {
  Outcome lost;
  node_.PlanNext({.fate = Fate::kRequestLost});
  node_.Send({}, SetCommand("a", "1"), Into(lost));

  executor_.AdvanceBy(kReplyTimeout - Micros(1));
  EXPECT_FALSE(lost.reply);
  executor_.AdvanceBy(Micros(1));

  ASSERT_TRUE(lost.reply);
  EXPECT_EQ(ReasonOf(lost), ErrorReason::kOutcomeUnknown);
  EXPECT_EQ(ValueOf("a"), "");
}

TEST_F(FakeNodeTest, LostReplyIsExecutedAndItsOutcomeIsUnknown) {
  Outcome lost;
  node_.PlanNext({.fate = Fate::kReplyLost});
  node_.Send({}, SetCommand("a", "1"), Into(lost));

  executor_.AdvanceBy(kReplyTimeout);

  ASSERT_TRUE(lost.reply);
  EXPECT_EQ(ReasonOf(lost), ErrorReason::kOutcomeUnknown);
  EXPECT_EQ(ValueOf("a"), "1");
}

TEST_F(FakeNodeTest, LossTakesWhatFollowsOnItsLaneUntilItIsNoticed) {
  Outcome lost;
  Outcome behind;
  Outcome later;
  node_.PlanNext({.fate = Fate::kRequestLost});
  node_.Run({0}, redis::kFenceScript, SetCommand("a", "lost"), Into(lost));
  node_.Run({0}, redis::kFenceScript, SetCommand("a", "behind"), Into(behind));
  executor_.AdvanceBy(kReplyTimeout);
  node_.Run({0}, redis::kFenceScript, SetCommand("a", "later"), Into(later));
  executor_.RunUntilIdle();

  EXPECT_EQ(ReasonOf(lost), ErrorReason::kOutcomeUnknown);
  EXPECT_EQ(ReasonOf(behind), ErrorReason::kOutcomeUnknown);
  ASSERT_TRUE(later.reply);
  EXPECT_TRUE(later.reply->ok());
  EXPECT_EQ(ValueOf("a"), "later");
}

// What a daemon gave up may still sit in a socket: it is executed after what came later.
TEST_F(FakeNodeTest, RequestThatWasGivenUpMayBeExecutedLater) {
  Outcome given_up;
  Outcome later;
  node_.PlanNext({.request_delay = 3 * kReplyTimeout});
  node_.Run({0}, redis::kFenceScript, SetCommand("a", "given up"), Into(given_up));
  executor_.AdvanceBy(kReplyTimeout);
  EXPECT_EQ(ReasonOf(given_up), ErrorReason::kOutcomeUnknown);
  node_.Run({0}, redis::kFenceScript, SetCommand("a", "later"), Into(later));
  executor_.RunUntilIdle();
  EXPECT_EQ(ValueOf("a"), "later");

  executor_.AdvanceBy(3 * kReplyTimeout);
  EXPECT_EQ(ValueOf("a"), "given up");
}

TEST_F(FakeNodeTest, NodeThatIsAwayRefusesUntilItComesBack) {
  Outcome under_way;
  Outcome refused;
  Outcome again;
  node_.PlanNext({.request_delay = Micros(10)});
  node_.Send({}, SetCommand("a", "1"), Into(under_way));
  node_.GoAway(InFlight::kLost);
  EXPECT_EQ(node_.assurance(), core::Assurance::kNone);
  node_.Send({}, SetCommand("a", "2"), Into(refused));
  EXPECT_FALSE(refused.reply);
  executor_.AdvanceBy(Micros(10));

  EXPECT_EQ(ReasonOf(under_way), ErrorReason::kOutcomeUnknown);
  EXPECT_EQ(ReasonOf(refused), ErrorReason::kStoreUnavailable);
  EXPECT_EQ(ValueOf("a"), "");

  node_.ComeBack();
  node_.Send({}, SetCommand("a", "3"), Into(again));
  executor_.RunUntilIdle();
  EXPECT_TRUE(again.reply->ok());
  EXPECT_EQ(ValueOf("a"), "3");
}

TEST_F(FakeNodeTest, ErrorRepliesOfTheServerAreReplies) {
  server_.RefuseWrites("READONLY You can't write against a read only replica.");
  Outcome set;
  Outcome script;
  node_.Send({}, SetCommand("a", "1"), Into(set));
  node_.Run({0}, redis::kFenceScript, FenceCommand(), Into(script));
  executor_.RunUntilIdle();

  EXPECT_EQ((*set.reply)->type, Reply::Type::kError);
  EXPECT_EQ((*script.reply)->type, Reply::Type::kError);
}

TEST_F(FakeNodeTest, ClockOfTheServerRunsWithTheExecutorsAndCanBeSet) {
  const core::NodeTime before = server_.clock().Now();
  executor_.AdvanceBy(Micros(5));
  EXPECT_EQ(server_.clock().Now().micros, before.micros + 5);
  server_.clock().StepBy(-std::chrono::hours(1));
  EXPECT_EQ(server_.clock().Now().micros, before.micros + 5 - 3'600'000'000);
}

}  // namespace
}  // namespace lockkeeper::support
