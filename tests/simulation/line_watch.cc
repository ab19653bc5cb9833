// SPDX-License-Identifier: Apache-2.0
#include "simulation/line_watch.h"

#include <charconv>
#include <span>

#include "redis/scripts.h"

namespace lockkeeper::simulation {
namespace {

// As redis/scripts/record.lua: common arguments, and the columns that matter here.
constexpr size_t kCommonArguments = 5;
constexpr size_t kKeysPerLockArgument = 3;
constexpr size_t kStateColumn = 2;
constexpr size_t kTokenColumn = 15;
constexpr size_t kLeaseIdColumn = 111;
constexpr size_t kIdLength = 32;
constexpr size_t kDaemonInRequest = 40;
constexpr size_t kDaemonLength = 16;
constexpr size_t kReplyWidth = 4;

int64_t Number(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

size_t ArgumentsOf(std::string_view script) {
  if (script == "acquire" || script == "withdraw" || script == "extend") return 3;
  if (script == "release") return 2;
  return 0;
}

}  // namespace

void LineWatch::Executed(const std::vector<std::string_view>& words, const redis::Reply& reply) {
  ++executed_;
  if (words[0] != "EVALSHA" || reply.type != redis::Reply::Type::kArray) return;
  for (const redis::ScriptSource& script : redis::AllScripts()) {
    if (script.sha1 == words[1]) return OnScript(script.name, words, reply);
  }
}

void LineWatch::OnScript(std::string_view name, const std::vector<std::string_view>& words,
                         const redis::Reply& reply) {
  const auto keys = static_cast<size_t>(Number(words[2]));
  const size_t arguments_at = 3 + keys;
  const auto keys_per_lock =
      static_cast<size_t>(Number(words[arguments_at + kKeysPerLockArgument]));
  const size_t count = ArgumentsOf(name);
  for (size_t i = 0; i < keys / keys_per_lock; ++i) {
    const auto lock = keys_.LockName(words[3 + i * keys_per_lock]);
    if (!lock) continue;
    if (count > 0) {
      const size_t first = arguments_at + kCommonArguments + i * count;
      OnOperation(name, *lock,
                  {words.begin() + static_cast<ptrdiff_t>(first),
                   words.begin() + static_cast<ptrdiff_t>(first + count)},
                  &reply.items[1 + i * kReplyWidth]);
    }
    LookAtRecord(*lock);
  }
}

void LineWatch::OnOperation(std::string_view script, const std::string& lock,
                            const std::vector<std::string_view>& arguments,
                            const redis::Reply* replies) {
  const std::string lease_id(arguments[0].substr(0, kIdLength));
  const int64_t outcome = replies[0].integer;
  if (script == "acquire" && outcome == 5) {
    const auto daemon =
        daemons_.find(std::string(arguments[0].substr(kDaemonInRequest, kDaemonLength)));
    judge_.Joined(lock, lease_id, replies[1].integer, daemon->second);
  }
  if (script == "acquire" && outcome == 3) judge_.Left(lock, lease_id);
  if (script == "extend" && (outcome == 1 || outcome == 2)) judge_.Left(lock, lease_id);
  if (script == "release" && outcome != 80) judge_.Left(lock, lease_id);
  if (script == "withdraw" && (outcome == 1 || outcome == 2)) judge_.Left(lock, lease_id);
}

void LineWatch::LookAtRecord(const std::string& lock) {
  const std::string key = keys_.RecordKey(lock);
  const std::vector<std::string_view> get = {"GET", key};
  const redis::Reply record = server_.Execute(get);
  if (record.type != redis::Reply::Type::kText || record.text.size() < kLeaseIdColumn) return;
  const char state = record.text[kStateColumn];
  const int64_t token = Number(std::string_view(record.text).substr(kTokenColumn, 16));
  int64_t& last = tokens_[lock];
  if (token == last || (state != 'H' && state != 'O')) return;
  last = token;
  const std::string lease_id = record.text.substr(kLeaseIdColumn, kIdLength);
  judge_.TurnGiven(lock, lease_id, token, clock_.Now());
}

int64_t LineWatch::KeysInStore() {
  const std::vector<std::string_view> size = {"DBSIZE"};
  return server_.Execute(size).integer;
}

}  // namespace lockkeeper::simulation
