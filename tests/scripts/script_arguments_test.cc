// SPDX-License-Identifier: Apache-2.0
//
// Each script alone, on a real server and the in-process one: wrong arguments are refused before
// anything is written, good ones are answered in the promised shape for 1 to 32 locks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scripts/script_calls.h"
#include "scripts/twin_servers.h"
#include "support/reply_text.h"

namespace lockkeeper::support {
namespace {

using redis::Reply;
using testing::StartsWith;
using Strings = std::vector<std::string>;

constexpr size_t kWordsBeforeKeys = 3;
constexpr size_t kMarkerKeys = 1;  // After those of the locks.
constexpr size_t kLocksMax = 32;

class ScriptArgumentsTest : public testing::TestWithParam<std::string> {
 protected:
  ScriptArgumentsTest() { EXPECT_TRUE(servers_.RunAll(LoadCommands())); }

  Reply Run(const Strings& call) { return servers_.Run({call.begin(), call.end()}); }

  // A held lock of Id(1), and a store in which nothing else is.
  void HoldLock() {
    Run({"FLUSHALL"});
    const ScriptShape acquire = ScriptShapes().front();
    ASSERT_EQ(Run(CallOf(acquire, "a")).items.at(1).integer, 1);
    record_ = Run({"GET", "lk:{a}"}).text;
    kept_for_ = Run({"PTTL", "lk:{a}"}).integer;
  }

  void ExpectRefused(const Strings& call) {
    EXPECT_THAT(Describe(Run(call)), StartsWith("!LOCKKEEPER_ARGUMENTS "));
    EXPECT_EQ(Run({"GET", "lk:{a}"}).text, record_);
    EXPECT_EQ(Run({"PTTL", "lk:{a}"}).integer, kept_for_);
    EXPECT_EQ(Run({"DBSIZE"}).integer, 1);
  }

  TwinServers servers_{GetParam()};
  std::string record_;
  int64_t kept_for_ = 0;
};

TEST_P(ScriptArgumentsTest, ArgumentTooManyIsRefused) {
  for (const ScriptShape& shape : ScriptShapes()) {
    SCOPED_TRACE(shape.script->name);
    HoldLock();
    Strings call = CallOf(shape, "a");
    call.push_back("x");
    ExpectRefused(call);
  }
}

TEST_P(ScriptArgumentsTest, ArgumentsTooFewAreRefused) {
  for (const ScriptShape& shape : ScriptShapes()) {
    SCOPED_TRACE(shape.script->name);
    HoldLock();
    Strings call = CallOf(shape, "a");
    while (call.size() > kWordsBeforeKeys + shape.keys_per_lock + kMarkerKeys) {
      call.pop_back();
      ExpectRefused(call);
    }
  }
}

TEST_P(ScriptArgumentsTest, ArgumentOfAWrongLengthIsRefused) {
  for (const ScriptShape& shape : ScriptShapes()) {
    SCOPED_TRACE(shape.script->name);
    HoldLock();
    const Strings good = CallOf(shape, "a");
    const size_t first = good.size() - shape.arguments.size();
    for (size_t i = first; i < good.size(); ++i) {
      const bool any_length = shape.script->name != "inspect" &&
                              ((shape.script->name == "acquire" && i > first) ||
                               (shape.script->name == "extend" && i >= first + 2) ||
                               (shape.script->name == "release" && i == first + 1) ||
                               (shape.script->name == "reassert" && i >= first + 6) ||
                               (shape.script->name == "fence" && i == first));
      if (any_length) continue;
      Strings call = good;
      call[i] += "0";
      ExpectRefused(call);
      call[i] = good[i].substr(1);
      ExpectRefused(call);
    }
  }
}

TEST_P(ScriptArgumentsTest, CommonArgumentsThatAreNoneAreRefused) {
  for (const ScriptShape& shape : ScriptShapes()) {
    SCOPED_TRACE(shape.script->name);
    HoldLock();
    ExpectRefused(CallOf(shape, "a", {.token_floor = "x"}));
    ExpectRefused(CallOf(shape, "a", {.token_floor = ""}));
    ExpectRefused(CallOf(shape, "a", {.retention = "1 minute"}));
    ExpectRefused(CallOf(shape, "a", {.epoch = "1"}));
    for (const std::string keys_per_lock : {"0", "3", "-1", "1.5", "x", ""}) {
      Strings call = CallOf(shape, "a");
      call[kWordsBeforeKeys + shape.keys_per_lock + kMarkerKeys + 3] = keys_per_lock;
      ExpectRefused(call);
    }
  }
}

TEST_P(ScriptArgumentsTest, KeyWithoutItsSecondIsRefused) {
  for (const ScriptShape& shape : ScriptShapes()) {
    SCOPED_TRACE(shape.script->name);
    HoldLock();
    ExpectRefused(CallOf(*shape.script, 2, {"lk:{a}"}, shape.arguments));
    ExpectRefused(CallOf(*shape.script, 2, {"lk:{a}", "lk:{a}:line", "lk:{b}"}, shape.arguments));
  }
}

TEST_P(ScriptArgumentsTest, CallWithoutTheKeyOfTheMarkerIsRefused) {
  for (const ScriptShape& shape : ScriptShapes()) {
    SCOPED_TRACE(shape.script->name);
    HoldLock();
    Strings call = CallOf(*shape.script, shape.keys_per_lock, {}, {});
    call.erase(call.begin() + kWordsBeforeKeys);
    call[2] = "0";
    ExpectRefused(call);
  }
}

TEST_P(ScriptArgumentsTest, EachOfManyLocksIsAnsweredInOrder) {
  for (const ScriptShape& shape : ScriptShapes()) {
    for (size_t count = 1; count <= kLocksMax; ++count) {
      Run({"FLUSHALL"});
      Strings keys;
      Strings arguments;
      for (size_t i = 0; i < count; ++i) {
        for (const auto& key : KeysOfLock(std::to_string(i), shape.keys_per_lock)) {
          keys.push_back(key);
        }
        arguments.insert(arguments.end(), shape.arguments.begin(), shape.arguments.end());
        if (i % 3 == 1) Run({"SET", KeysOfLock(std::to_string(i), 1).front(), "garbage"});
      }
      const Reply reply = Run(CallOf(*shape.script, shape.keys_per_lock, keys, arguments));
      ASSERT_EQ(reply.items.size(), 1 + count * shape.reply_width) << shape.script->name;
      EXPECT_EQ(reply.items[0].integer, servers_.Now().micros);
      for (size_t i = 0; i < count; ++i) {
        const Reply& outcome = reply.items[1 + i * shape.reply_width];
        EXPECT_EQ(outcome.integer == 90, i % 3 == 1) << shape.script->name << " " << i;
      }
    }
  }
}

TEST_P(ScriptArgumentsTest, SameLockManyTimesIsAnsweredInOrder) {
  Strings keys(kLocksMax, "lk:{a}");
  Strings arguments;
  for (uint64_t i = 0; i < kLocksMax; ++i) {
    for (auto& argument : AcquireArguments(ScriptAcquire(ScriptId(i % 2)), 0)) {
      arguments.push_back(std::move(argument));
    }
  }
  const Reply reply = Run(CallOf(redis::kAcquireScript, 1, keys, arguments));

  ASSERT_EQ(reply.items.size(), 1 + 4 * kLocksMax);
  for (size_t i = 0; i < kLocksMax; ++i) {
    EXPECT_EQ(reply.items[1 + 4 * i].integer, i % 2 == 0 ? 1 : 3) << i;
  }
}

TEST_P(ScriptArgumentsTest, NoLocksAreAnsweredWithTheTimeAlone) {
  for (const ScriptShape& shape : ScriptShapes()) {
    const Reply reply = Run(CallOf(*shape.script, shape.keys_per_lock, {}, {}));
    EXPECT_EQ(Describe(reply), "[" + std::to_string(servers_.Now().micros) + "]");
  }
}

// Digits beyond 2^53 are not those that were meant.
TEST_P(ScriptArgumentsTest, HighestFloorIsGrantedExactlyAndNoneAboveIt) {
  const Strings arguments = AcquireArguments(ScriptAcquire(ScriptId(1)), 0);

  const Reply highest = Run(
      CallOf(redis::kAcquireScript, 1, {"lk:{a}"}, arguments, {.token_floor = "9007199254740991"}));
  EXPECT_EQ(highest.items.at(1).integer, 1);
  EXPECT_EQ(highest.items.at(2).integer, 9'007'199'254'740'991);
  EXPECT_EQ(Run({"GET", "lk:{a}"}).text.substr(15, 16), "9007199254740991");

  for (const std::string floor : {"9007199254740992", "9007199254740993", "1e300"}) {
    const Reply beyond =
        Run(CallOf(redis::kAcquireScript, 1, {"lk:{b}"}, arguments, {.token_floor = floor}));
    EXPECT_EQ(beyond.items.at(1).integer, 90) << floor;
  }
  EXPECT_EQ(Run({"EXISTS", "lk:{b}"}).integer, 0);
}

INSTANTIATE_TEST_SUITE_P(Servers, ScriptArgumentsTest, testing::ValuesIn(InstalledServers()));

}  // namespace
}  // namespace lockkeeper::support
