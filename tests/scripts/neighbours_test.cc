// SPDX-License-Identifier: Apache-2.0
//
// Locks of one call: a bad one fails for itself wherever it stands, and a lock that stands there
// more than once is seen by each operation as the one before left it. On a real server and the
// in-process one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "redis/format/lock_record.h"
#include "scripts/script_calls.h"
#include "scripts/twin_servers.h"

namespace lockkeeper::support {
namespace {

using redis::Reply;
using testing::ElementsAre;
using Strings = std::vector<std::string>;

constexpr int64_t kGranted = 1;
constexpr int64_t kReleased = 1;
constexpr int64_t kContention = 3;
constexpr int64_t kVoid = 4;
constexpr int64_t kCorrupt = 90;
constexpr size_t kAcquireWidth = 4;
constexpr size_t kReleaseWidth = 4;

class NeighboursTest : public testing::TestWithParam<std::string> {
 protected:
  NeighboursTest() { EXPECT_TRUE(servers_.RunAll(LoadCommands())); }

  Reply Run(const Strings& call) { return servers_.Run({call.begin(), call.end()}); }

  static std::string Key(const std::string& name) { return KeysOfLock(name, 1).front(); }

  // What one call answers for each of these locks, first.
  std::vector<int64_t> Call(const redis::ScriptSource& script, size_t keys_per_lock,
                            const Strings& names, const Strings& arguments, size_t width) {
    Strings keys;
    for (const std::string& name : names) {
      for (auto& key : KeysOfLock(name, keys_per_lock)) keys.push_back(std::move(key));
    }
    const Reply reply = Run(CallOf(script, keys_per_lock, keys, arguments));
    EXPECT_EQ(reply.items.size(), 1 + width * names.size()) << script.name;
    std::vector<int64_t> outcomes;
    for (size_t i = 1; i < reply.items.size(); i += width) {
      outcomes.push_back(reply.items[i].type == Reply::Type::kText ? 0 : reply.items[i].integer);
    }
    return outcomes;
  }

  // What a script says of the terms of the lease of the lock with this number.
  static std::string TermsIn(const Reply& reply, size_t number) {
    const Reply& told = reply.items.at(4 + 4 * number);
    return told.type == Reply::Type::kInteger ? std::to_string(told.integer) : told.text;
  }

  static std::string Terms(int64_t ttl, int64_t lock_delay, int64_t max_hold_end) {
    std::string terms = std::to_string(ttl);
    if (lock_delay == 0 && max_hold_end == 0) return terms;
    return terms + " " + std::to_string(lock_delay) + " " + std::to_string(max_hold_end) + " 0";
  }

  // Each for a lease id of its own.
  std::vector<int64_t> Acquire(size_t keys_per_lock, const Strings& names,
                               const std::vector<uint64_t>& ids) {
    Strings arguments;
    for (const uint64_t id : ids) {
      for (auto& argument : AcquireArguments(ScriptAcquire(ScriptId(id)), 0)) {
        arguments.push_back(std::move(argument));
      }
    }
    return Call(redis::kAcquireScript, keys_per_lock, names, arguments, kAcquireWidth);
  }

  std::vector<int64_t> Release(size_t keys_per_lock, const Strings& names,
                               const std::vector<uint64_t>& ids) {
    Strings arguments;
    for (const uint64_t id : ids) {
      arguments.push_back(redis::EncodeLeaseId(ScriptId(id)));
      arguments.emplace_back();
    }
    return Call(redis::kReleaseScript, keys_per_lock, names, arguments, kReleaseWidth);
  }

  TwinServers servers_{GetParam()};
};

// Where the bad ones stand among five locks.
const std::vector<std::vector<size_t>> kBadPlaces = {{0},    {2},    {4},          {0, 1},
                                                     {3, 4}, {0, 4}, {0, 1, 2, 3}, {0, 1, 2, 3, 4}};

class BadNeighboursTest : public NeighboursTest {
 protected:
  // `spoil(key)` spoils a record, `look(key)` shows whether it was left as it was.
  template <typename Spoil, typename Look>
  void ExpectBadOnesFailAlone(Spoil spoil, Look look) {
    const Strings names = {"a", "b", "c", "d", "e"};
    for (const ScriptShape& shape : ScriptShapes()) {
      for (const auto& places : kBadPlaces) {
        for (size_t keys_per_lock = shape.keys_per_lock; keys_per_lock <= 2; ++keys_per_lock) {
          SCOPED_TRACE(std::string(shape.script->name) + " " + std::to_string(places.size()));
          Run({"FLUSHALL"});
          Acquire(1, names, {1, 1, 1, 1, 1});
          std::vector<bool> bad(names.size());
          for (const size_t place : places) {
            spoil(Key(names[place]));
            bad[place] = true;
          }
          Strings arguments;
          for (size_t i = 0; i < names.size(); ++i) {
            arguments.insert(arguments.end(), shape.arguments.begin(), shape.arguments.end());
          }
          const std::string before = look(Key(names[places.front()]));
          const auto outcomes =
              Call(*shape.script, keys_per_lock, names, arguments, shape.reply_width);
          ASSERT_EQ(outcomes.size(), names.size());
          for (size_t i = 0; i < names.size(); ++i) {
            EXPECT_EQ(outcomes[i] == kCorrupt, bad[i]) << i;
          }
          EXPECT_EQ(look(Key(names[places.front()])), before);
        }
      }
    }
  }
};

TEST_P(BadNeighboursTest, ValueOfAnotherTypeFailsAlone) {
  ExpectBadOnesFailAlone(
      [this](const std::string& key) {
        Run({"DEL", key});
        Run({"HSET", key, "field", "value"});
      },
      [this](const std::string& key) { return Run({"TYPE", key}).text; });
}

TEST_P(BadNeighboursTest, GarbageFailsAlone) {
  ExpectBadOnesFailAlone([this](const std::string& key) { Run({"SET", key, "garbage"}); },
                         [this](const std::string& key) { return Run({"GET", key}).text; });
}

// A first grant does not look at the key before it writes.
TEST_P(NeighboursTest, FirstGrantLeavesValuesOfAnotherTypeAlone) {
  for (const size_t keys_per_lock : {1, 2}) {
    Run({"FLUSHALL"});
    Run({"HSET", Key("b"), "field", "value"});
    Run({"ZADD", Key("d"), "1", "member"});

    EXPECT_THAT(Acquire(keys_per_lock, {"a", "b", "c", "d", "a"}, {1, 2, 3, 4, 5}),
                ElementsAre(kGranted, kCorrupt, kGranted, kCorrupt, kContention));
    EXPECT_EQ(Run({"TYPE", Key("b")}).text, "hash");
    EXPECT_EQ(Run({"TYPE", Key("d")}).text, "zset");
  }
}

// Columns that are no numbers are noticed in the middle of an operation.
TEST_P(NeighboursTest, DamagedNumbersFailAlone) {
  constexpr size_t kToken = 15;
  for (const size_t keys_per_lock : {1, 2}) {
    Run({"FLUSHALL"});
    Acquire(1, {"a", "b", "c"}, {1, 2, 3});
    Release(1, {"a", "b", "c"}, {1, 2, 3});
    Run({"SETRANGE", Key("b"), std::to_string(kToken), "x"});

    EXPECT_THAT(Acquire(keys_per_lock, {"a", "b", "a", "b", "c", "a"}, {4, 5, 6, 7, 8, 4}),
                ElementsAre(kGranted, kCorrupt, kContention, kCorrupt, kGranted, kGranted));
  }
}

TEST_P(NeighboursTest, LaterOperationsSeeWhatEarlierOnesWrote) {
  for (const size_t keys_per_lock : {1, 2}) {
    Run({"FLUSHALL"});
    EXPECT_THAT(Acquire(keys_per_lock, {"a", "b", "a", "b", "a"}, {1, 2, 3, 2, 1}),
                ElementsAre(kGranted, kGranted, kContention, kGranted, kGranted));
    EXPECT_THAT(Release(keys_per_lock, {"a", "b", "a", "a"}, {1, 2, 1, 4}),
                ElementsAre(kReleased, kReleased, kReleased, kContention));
    EXPECT_THAT(Acquire(keys_per_lock, {"a", "a", "a", "b", "a"}, {1, 4, 5, 5, 6}),
                ElementsAre(kVoid, kVoid, kGranted, kGranted, kContention));
  }
}

// Leases of one call with other terms than the one before them.
TEST_P(NeighboursTest, EachLeaseHasItsOwnTerms) {
  core::AcquireRequest plain = ScriptAcquire(ScriptId(1));
  core::AcquireRequest longer = plain;
  longer.ttl = core::Millis(60'000);
  core::AcquireRequest delayed = plain;
  delayed.lock_delay = core::Millis(2'000);
  core::AcquireRequest bounded = plain;
  bounded.max_hold = core::Millis(10'000);
  Strings keys;
  Strings arguments;
  for (const core::AcquireRequest& request : {plain, longer, delayed, plain, bounded, plain}) {
    keys.push_back(Key(std::to_string(keys.size())));
    for (auto& argument : AcquireArguments(request, 0)) arguments.push_back(std::move(argument));
  }
  const Reply reply = Run(CallOf(redis::kAcquireScript, 1, keys, arguments));

  const int64_t now = servers_.Now().micros;
  const std::vector<int64_t> lasting = {30'000, 60'000, 30'000, 30'000, 10'000, 30'000};
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::string record = Run({"GET", keys[i]}).text;
    const int64_t lease_end = now + lasting[i] * 1000;
    const int64_t delay = i == 2 ? 2'000 : 0;
    EXPECT_EQ(reply.items.at(3 + 4 * i).integer, lasting[i] * 1000) << i;
    EXPECT_EQ(TermsIn(reply, i), Terms(i == 1 ? 60'000 : 30'000, delay, i == 4 ? lease_end : 0));
    EXPECT_EQ(record.substr(32, 16), std::to_string(lease_end)) << i;
    EXPECT_EQ(record.substr(49, 16), std::to_string(lease_end + delay * 1000)) << i;
    EXPECT_EQ(record.substr(83, 16), i == 4 ? std::to_string(lease_end) : std::string(16, '0'))
        << i;
    EXPECT_EQ(Run({"PTTL", keys[i]}).integer, lasting[i] + delay + 60'000) << i;
  }
}

// Extends of one call that come to something else than the one before them.
TEST_P(NeighboursTest, EachExtendHasItsOwnTerms) {
  core::AcquireRequest plain = ScriptAcquire(ScriptId(1));
  core::AcquireRequest longer = plain;
  longer.ttl = core::Millis(60'000);
  core::AcquireRequest delayed = plain;
  delayed.lock_delay = core::Millis(2'000);
  core::AcquireRequest bounded = plain;
  bounded.max_hold = core::Millis(35'000);
  Strings keys;
  Strings acquires;
  Strings extends;
  const Strings ttls = {"00040000", "00040000", "00040000", "00040000", "00050000", "00000000"};
  for (const core::AcquireRequest& request : {plain, longer, delayed, bounded, plain, plain}) {
    extends.emplace_back(request.lease_id.digits());
    extends.push_back(ttls[keys.size()]);
    extends.emplace_back();
    extends.emplace_back();
    keys.push_back(Key(std::to_string(keys.size())));
    for (auto& argument : AcquireArguments(request, 0)) acquires.push_back(std::move(argument));
  }
  Run(CallOf(redis::kAcquireScript, 1, keys, acquires));
  servers_.AdvanceBy(std::chrono::seconds(1));
  const Reply reply = Run(CallOf(redis::kExtendScript, 1, keys, extends));

  const int64_t now = servers_.Now().micros;
  const std::vector<int64_t> lasting = {40'000, 59'000, 40'000, 34'000, 50'000, 30'000};
  const std::vector<int64_t> asked = {40'000, 40'000, 40'000, 40'000, 50'000, 30'000};
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::string record = Run({"GET", keys[i]}).text;
    const int64_t lease_end = now + lasting[i] * 1000;
    const int64_t delay = i == 2 ? 2'000 : 0;
    EXPECT_EQ(reply.items.at(3 + 4 * i).integer, lasting[i] * 1000) << i;
    EXPECT_EQ(TermsIn(reply, i), Terms(asked[i], delay, i == 3 ? lease_end : 0));
    EXPECT_EQ(record.substr(32, 16), std::to_string(lease_end)) << i;
    EXPECT_EQ(record.substr(49, 16), std::to_string(lease_end + delay * 1000)) << i;
    EXPECT_EQ(Run({"PTTL", keys[i]}).integer, lasting[i] + delay + 60'000) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Servers, NeighboursTest, testing::ValuesIn(InstalledServers()));
INSTANTIATE_TEST_SUITE_P(Servers, BadNeighboursTest, testing::ValuesIn(InstalledServers()));

}  // namespace
}  // namespace lockkeeper::support
