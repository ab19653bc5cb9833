// SPDX-License-Identifier: Apache-2.0
//
// The real scripts do the same on the in-process server as on real ones, so that what the simulator
// proves there holds here. Method: random lives of a few locks with lines of waiters from three
// daemons, of which one is dead; replies, records, lines and messages have to be equal after each
// step. LOCKKEEPER_CONFORMANCE_STEPS sets how many, a tenth of it.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "redis/format/lock_record.h"
#include "redis/format/record_columns.h"
#include "scripts/script_calls.h"
#include "scripts/twin_servers.h"
#include "support/random.h"

namespace lockkeeper::support {
namespace {

namespace column = redis::column;

using Strings = std::vector<std::string>;

constexpr int64_t kStepsByDefault = 100'000;
constexpr uint64_t kLocks = 3;
constexpr uint64_t kDaemons = 3;  // The last one hears nothing.

class ScriptConformanceTest : public testing::TestWithParam<std::string> {
 protected:
  ScriptConformanceTest() {
    EXPECT_TRUE(servers_.RunAll(LoadCommands()));
    for (uint64_t daemon = 1; daemon < kDaemons; ++daemon) {
      servers_.Subscribe(CommonArguments().channel + core::Hex16(daemon));
    }
  }

  core::AcquireRequest Request() {
    core::AcquireRequest request = ScriptAcquire(Id());
    request.attempt = Attempt();
    request.keeper = Keeper();
    request.ttl = core::Millis(random_.Between(100, 3'000));
    request.owner = "owner " + std::to_string(random_.Below(3));
    request.principal = Principal();
    if (random_.OneIn(3)) request.lock_delay = core::Millis(random_.Between(1, 2'000));
    if (random_.OneIn(3)) request.max_hold = core::Millis(random_.Between(100, 5'000));
    if (random_.OneIn(4)) request.hold_at_least = core::Millis(random_.Between(1, 5'000));
    if (random_.OneIn(2)) request.claim = core::ClaimMode::kByClient;
    if (random_.OneIn(2)) request.min_assurance = core::Assurance::kReplicas;
    if (random_.OneIn(3)) request.labels = {{"key", "value"}};
    return request;
  }

  // One of those that are in use now.
  core::LeaseId Id() { return ScriptId(first_id_ + random_.Below(8)); }
  int32_t Attempt() { return static_cast<int32_t>(random_.Below(4)); }
  std::string Principal() { return random_.OneIn(8) ? "p" : ""; }
  core::Keeper Keeper() { return {1 + random_.Below(kDaemons), random_.Below(3)}; }
  std::string Ttl() { return redis::Digits(random_.OneIn(2) ? 0 : random_.Between(100, 3'000), 8); }

  Strings PollArguments() {
    static const Strings kModes = {"W", "W", "W", "L", "H"};
    const int64_t now = servers_.Now().micros;
    const int64_t number = random_.OneIn(3) ? now : 1;
    const int64_t unpark_from = random_.OneIn(2) ? 0 : 1;
    return {core::Hex16(1 + random_.Below(kDaemons)), random_.Pick(kModes),
            redis::Digits(number, 16), redis::Digits(unpark_from, 16)};
  }

  // Half of them name the lease or the offer that the record has.
  Strings WithdrawArguments(const std::string& name) {
    const std::string scope(1, "LLUSRBCPT"[random_.Below(9)]);
    const std::string record = servers_.Run({"GET", KeysOfLock(name, 1)[0]}).text;
    std::optional<core::LeaseId> id;  // A short record has none where a long one has it.
    if (record.size() > column::kClaim.last) {
      id = core::LeaseId::Parse(column::kLeaseId.Of(record));
    }
    if (!id || random_.OneIn(2)) {
      return {redis::EncodeLeaseId(Id()), redis::Digits(Attempt(), 6),
              std::string(Keeper().digits()), scope, redis::Digits(servers_.Now().micros, 16)};
    }
    return {redis::EncodeLeaseId(*id), std::string(column::kAttempt.Of(record)),
            std::string(column::kKeeper.Of(record)), scope, std::string(column::kToken.Of(record))};
  }

  // One script and the arguments for one lock, drawn anew for each.
  Strings ArgumentsFor(const redis::ScriptSource& script, const std::string& name) {
    if (&script == &redis::kAcquireScript) {
      return AcquireArguments(Request(), random_.OneIn(2) ? 0 : 4);
    }
    if (&script == &redis::kExtendScript) {
      return {std::string(Id().digits()), Ttl(), Principal(),
              random_.OneIn(4) ? std::string(Keeper().digits()) : ""};
    }
    if (&script == &redis::kReleaseScript) return {redis::EncodeLeaseId(Id()), Principal()};
    if (&script == &redis::kWithdrawScript) return WithdrawArguments(name);
    if (&script == &redis::kFenceScript) {
      return {std::to_string(servers_.Now().micros - random_.Between(-5, 5)),
              random_.OneIn(2) ? "0" : "1"};
    }
    if (&script == &redis::kForceReleaseScript) return {random_.OneIn(2) ? "0" : "1"};
    if (&script == &redis::kPollScript) return PollArguments();
    return {};
  }

  Strings Call() {
    static const std::vector<const redis::ScriptSource*> kScripts = {
        &redis::kAcquireScript, &redis::kAcquireScript,      &redis::kAcquireScript,
        &redis::kExtendScript,  &redis::kReleaseScript,      &redis::kReleaseScript,
        &redis::kPollScript,    &redis::kPollScript,         &redis::kWithdrawScript,
        &redis::kFenceScript,   &redis::kForceReleaseScript, &redis::kInspectScript};
    const redis::ScriptSource& script = *random_.Pick(kScripts);
    const bool always_two = &script == &redis::kPollScript;
    const size_t keys_per_lock = always_two || random_.OneIn(2) ? 2 : 1;
    Strings keys;
    Strings arguments;
    for (uint64_t i = 1 + random_.Below(3); i > 0; --i) {
      const std::string name(1, static_cast<char>('a' + random_.Below(kLocks)));
      for (auto& key : KeysOfLock(name, keys_per_lock)) keys.push_back(std::move(key));
      for (auto& argument : ArgumentsFor(script, name)) arguments.push_back(std::move(argument));
    }
    CommonArguments common;
    if (random_.OneIn(4)) common.retention = "1000";  // Less than a line is kept.
    if (random_.OneIn(4)) {
      common.token_floor = std::to_string(servers_.Now().micros + random_.Between(-10, 10));
    }
    return CallOf(script, keys_per_lock, keys, arguments, common);
  }

  // Everything that the servers keep.
  Strings LooksInto(uint64_t lock) {
    const Strings keys = KeysOfLock(std::string(1, static_cast<char>('a' + lock)), 2);
    return {keys[0], keys[1]};
  }

  std::vector<Strings> Inspection() {
    std::vector<Strings> commands;
    for (uint64_t lock = 0; lock < kLocks; ++lock) {
      const Strings keys = LooksInto(lock);
      commands.push_back({"GET", keys[0]});
      commands.push_back({"PTTL", keys[0]});
      commands.push_back({"ZRANGEBYSCORE", keys[1], "-inf", "+inf", "WITHSCORES"});
      commands.push_back({"PTTL", keys[1]});
    }
    return commands;
  }

  uint64_t first_id_ = 0;
  SeededRandom random_;
  TwinServers servers_{GetParam()};
};

TEST_P(ScriptConformanceTest, ScriptsDoTheSameOnBothServers) {
  const int64_t steps = RepeatsFrom("LOCKKEEPER_CONFORMANCE_STEPS", kStepsByDefault) / 10;
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<Strings> commands = Inspection();
    commands.insert(commands.begin(), Call());
    if (random_.OneIn(100)) commands.insert(commands.begin(), {"DEL", "lk:{a}"});
    if (random_.OneIn(100)) commands.insert(commands.begin(), {"DEL", "lk:{b}:line"});
    if (random_.OneIn(300)) commands.insert(commands.begin(), {"SET", "lk:{c}", "garbage"});
    if (random_.OneIn(100)) commands.insert(commands.begin(), {"FLUSHALL"});
    ASSERT_TRUE(servers_.RunAll(commands)) << "in step " << step;
    ASSERT_TRUE(servers_.HeardTheSame()) << "in step " << step;
    if (random_.OneIn(10)) ++first_id_;
    servers_.AdvanceBy(core::Micros(random_.OneIn(10) ? random_.Between(0, 2'000'000)
                                                      : random_.Between(0, 50'000)));
  }
  EXPECT_GT(servers_.heard().size(), static_cast<size_t>(steps) / 400)
      << "hardly any offer was made: the test does not do what it is for";
}

INSTANTIATE_TEST_SUITE_P(Servers, ScriptConformanceTest, testing::ValuesIn(InstalledServers()));

}  // namespace
}  // namespace lockkeeper::support
