// SPDX-License-Identifier: Apache-2.0
//
// The in-process server answers as real ones do. Method: the same seeded random commands go to both
// at the same time of day; replies have to be equal. LOCKKEEPER_CONFORMANCE_STEPS sets how many.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scripts/twin_servers.h"
#include "support/random.h"

namespace lockkeeper::support {
namespace {

using core::Micros;
using Strings = std::vector<std::string>;

constexpr int64_t kStepsByDefault = 100'000;
constexpr size_t kCommandsAtOnce = 50;

int64_t Steps() { return RepeatsFrom("LOCKKEEPER_CONFORMANCE_STEPS", kStepsByDefault); }

class ModelConformanceTest : public testing::TestWithParam<std::string> {
 protected:
  std::string Key() {
    static const Strings kKeys = {
        "a", "b", "c", "lk:{a}", "lk:{a b}", "x*[y]\\?", std::string("\0", 1)};
    return random_.Pick(kKeys);
  }

  std::string Text() {
    if (random_.OneIn(8)) return "";
    return random_.Bytes(random_.Below(40));
  }

  // An integer, mostly: near zero, near the clock, large, or none at all.
  std::string Number() {
    static const Strings kOdd = {"",
                                 "x",
                                 "1 ",
                                 "01",
                                 "+1",
                                 "-0",
                                 "1.5",
                                 "1e3",
                                 "-",
                                 "9223372036854775807",
                                 "9223372036854775808",
                                 "-9223372036854775808",
                                 "9007199254740993"};
    if (random_.OneIn(6)) return random_.Pick(kOdd);
    return std::to_string(random_.Between(-20, 60));
  }

  // A point in time in milliseconds, mostly near the servers', but not in the very millisecond:
  // whether a key that is set to end in it is over already, versions of the server see differently.
  std::string Time() {
    if (random_.OneIn(8)) return Number();
    const int64_t distance = random_.Between(-3, 40);
    return std::to_string(servers_.Now().micros / 1000 + (distance == 0 ? 1 : distance));
  }

  Strings Command() {
    switch (random_.Below(3)) {
      case 0:
        return StringCommand();
      case 1:
        return SortedSetCommand();
      default:
        return KeyCommand();
    }
  }

  Strings StringCommand() {
    switch (random_.Below(9)) {
      case 0:
        return {"GET", Key()};
      case 1:
        return {"SET", Key(), Text()};
      case 4:
        return {"MGET", Key(), Key(), Key()};
      case 5:
        return {"SET", Key(), Text(), random_.OneIn(4) ? "nx" : "NX"};
      case 6:
        return {"SET", Key(), Text(), "PXAT", Time(), "NX"};
      case 7:
        return {"SET", Key(), Text(), random_.OneIn(4) ? "keepttl" : "KEEPTTL"};
      case 2:
        return {"SET", Key(), Text(), random_.OneIn(4) ? "pxat" : "PXAT", Time()};
      case 3:
        return {"GETRANGE", Key(), Number(), Number()};
      default:
        return {"SETRANGE", Key(), Number(), Text()};
    }
  }

  Strings KeyCommand() {
    switch (random_.Below(10)) {
      case 0:
        return {"HSET", Key(), Text(), Text(), Text(), Text()};
      case 1:
      case 2:
        return {"DEL", Key(), Key()};
      case 3:
        return {"EXISTS", Key(), Key(), Key()};
      case 4:
        return {"TYPE", Key()};
      case 5:
        return {"PEXPIREAT", Key(), Time()};
      case 6:
        return {"PTTL", Key()};
      case 7:
        return {"PUBLISH", random_.OneIn(2) ? "channel" : "nobody", Text()};
      case 8:
        return {"PUBSUB", random_.OneIn(2) ? "CHANNELS" : "channels", Pattern()};
      default:
        return {"TIME"};
    }
  }

  // Not what versions of the server read or write differently, such as hexadecimal numbers or 0.1.
  std::string Score() {
    static const Strings kOdd = {"inf",
                                 "-inf",
                                 "+inf",
                                 "nan",
                                 "1e3",
                                 "0.25",
                                 "(1",
                                 "((1",
                                 "x",
                                 "",
                                 "1 ",
                                 "-0",
                                 "1.",
                                 "4503599627370497",
                                 "9007199254740992",
                                 "9007199254740993",
                                 "-9007199254740994",
                                 "1e22"};
    if (random_.OneIn(4)) return random_.Pick(kOdd);
    return std::to_string(random_.Between(-3, 3));
  }

  std::string Member() { return std::string(1, static_cast<char>('a' + random_.Below(5))); }

  std::string Bound() { return (random_.OneIn(2) ? "(" : "") + Score(); }

  Strings SortedSetCommand() {
    switch (random_.Below(7)) {
      case 0:
      case 1:
        return {"ZADD", Key(), Score(), Member()};
      case 2:
        return {"ZADD", Key(), Score(), Member(), Score(), Member()};
      case 3:
        return {"ZREM", Key(), Member(), Member()};
      case 4:
        return {"ZSCORE", Key(), Member()};
      case 5:
        return {"ZCOUNT", Key(), Bound(), Bound()};
      default:
        return RangeCommand();
    }
  }

  Strings RangeCommand() {
    Strings command = {"ZRANGEBYSCORE", Key(), Bound(), Bound()};
    if (random_.OneIn(2)) command.emplace_back(random_.OneIn(8) ? "nosuchoption" : "withscores");
    if (random_.OneIn(2)) command.insert(command.end(), {"LIMIT", Number(), Number()});
    return command;
  }

  // Now and then a word more or less than there should be.
  Strings MaybeWrong(Strings command) {
    if (!random_.OneIn(20) || command.front() == "PUBSUB") return command;
    if (command.size() > 1 && random_.OneIn(2)) {
      command.pop_back();
    } else if (command.front() != "SET" && command.front() != "PEXPIREAT" &&
               command.front() != "ZADD") {
      command.push_back(Text());
    } else {
      command.back() = Text();
    }
    return command;
  }

  // A pattern made of what keys are made of and of what patterns know.
  std::string Pattern() {
    static const Strings kParts = {"a",  "b", "*", "?", "[",     "]",    "^", "-",   "\\",
                                   "lk", ":", "{", "}", "[a-c]", "[^x]", " ", "\\*", "y"};
    std::string pattern = random_.Pick(kParts);
    for (uint64_t i = random_.Below(7); i > 0; --i) pattern += random_.Pick(kParts);
    return pattern;
  }

  SeededRandom random_;
  TwinServers servers_{GetParam()};
};

TEST_P(ModelConformanceTest, CommandsAreAnsweredAsByARealServer) {
  servers_.Subscribe("channel");
  ASSERT_TRUE(servers_.RunAll({{"PUBSUB", "CHANNELS", "ch*"}}));
  for (int64_t step = 0; step < Steps();) {
    std::vector<Strings> commands;
    while (commands.size() < kCommandsAtOnce) commands.push_back(MaybeWrong(Command()));
    if (random_.OneIn(50)) commands.push_back({"FLUSHALL"});
    ASSERT_TRUE(servers_.RunAll(commands));
    step += static_cast<int64_t>(commands.size());
    servers_.AdvanceBy(Micros(random_.OneIn(3) ? 0 : random_.Between(1, 9'000)));
  }
}

TEST_P(ModelConformanceTest, ScanFindsTheSameKeys) {
  for (int64_t step = 0; step < Steps() / 100; ++step) {
    const std::string pattern = Pattern();
    const std::string count = std::to_string(random_.Between(1, 8));
    ASSERT_TRUE(servers_.RunAll({Command(), Command(), Command()}));
    std::vector<std::string_view> options = {"MATCH", pattern, "COUNT", count};
    if (random_.OneIn(4)) options.insert(options.end(), {"TYPE", "hash"});

    const TwinServers::Keys keys = servers_.ScanAll(options);
    ASSERT_EQ(keys.real, keys.model) << "pattern " << pattern;
    servers_.AdvanceBy(Micros(random_.Between(0, 9'000)));
  }
}

TEST_P(ModelConformanceTest, KeysAreCountedAlike) {
  for (int64_t step = 0; step < Steps() / 1000; ++step) {
    std::vector<Strings> commands;
    commands.reserve(22);
    for (int i = 0; i < 20; ++i) commands.push_back(Command());
    // A real server counts keys whose time is over until somebody touches them.
    commands.push_back(
        {"EXISTS", "a", "b", "c", "lk:{a}", "lk:{a b}", "x*[y]\\?", std::string("\0", 1)});
    commands.push_back({"DBSIZE"});
    ASSERT_TRUE(servers_.RunAll(commands));
    servers_.AdvanceBy(Micros(random_.Between(0, 30'000)));
  }
}

TEST_P(ModelConformanceTest, WhatIsRefusedIsRefusedInTheSameWords) {
  servers_.RunAll({{"NOSUCHCOMMAND"},
                   {"nosuchcommand", "a", "b c"},
                   {"GET"},
                   {"MGET"},
                   {"SET", "a", "b", "PXAT"},
                   {"SET", "a", "b", "NX", "PXAT"},
                   {"SET", "a", "b", "KEEPTTL", "PXAT", "99999999999999"},
                   {"SET", "a", "b", "PXAT", "99999999999999", "KEEPTTL"},
                   {"get", "a", "b"},
                   {"SCAN", "x"},
                   {"SCAN", "0", "COUNT"},
                   {"SCAN", "0", "COUNT", "0"},
                   {"SCAN", "0", "COUNT", "x"},
                   {"SCAN", "0", "NOSUCHOPTION", "1"},
                   {"EVALSHA", "ffffffffffffffffffffffffffffffffffffffff", "0"},
                   {"EVALSHA", "ffff", "x"},
                   {"EVALSHA", "ffff", "-1"},
                   {"EVALSHA", "ffff", "2", "a"},
                   {"EVALSHA", "ffff"}});
}

INSTANTIATE_TEST_SUITE_P(Servers, ModelConformanceTest, testing::ValuesIn(InstalledServers()));

}  // namespace
}  // namespace lockkeeper::support
