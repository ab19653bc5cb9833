// SPDX-License-Identifier: Apache-2.0
#include "support/fake_node/commands.h"

#include <array>
#include <cctype>
#include <charconv>

#include "absl/container/flat_hash_map.h"

namespace lockkeeper::support {
namespace {

using enum CommandKind;

constexpr std::array kCommands = {
    CommandSpec{"GET", 2, kRead, 1, 1, Get},
    CommandSpec{"MGET", -2, kRead, 1, -1, MGet},
    CommandSpec{"SET", -3, kWriteGrowing, 1, 1, Set},
    CommandSpec{"GETRANGE", 4, kRead, 1, 1, GetRange},
    CommandSpec{"SETRANGE", 4, kWriteGrowing, 1, 1, SetRange},
    CommandSpec{"HSET", -4, kWriteGrowing, 1, 1, HSet},
    CommandSpec{"ZADD", -4, kWriteGrowing, 1, 1, ZAdd},
    CommandSpec{"ZREM", -3, kWrite, 1, 1, ZRem},
    CommandSpec{"ZSCORE", 3, kRead, 1, 1, ZScore},
    CommandSpec{"ZCOUNT", 4, kRead, 1, 1, ZCount},
    CommandSpec{"ZRANGEBYSCORE", -4, kRead, 1, 1, ZRangeByScore},
    CommandSpec{"DEL", -2, kWrite, 1, -1, Del},
    CommandSpec{"EXISTS", -2, kRead, 1, -1, Exists},
    CommandSpec{"TYPE", 2, kRead, 1, 1, Type},
    CommandSpec{"PEXPIREAT", 3, kWrite, 1, 1, PExpireAt},
    CommandSpec{"PTTL", 2, kRead, 1, 1, PTtl},
    CommandSpec{"SCAN", -2, kRead, 0, 0, Scan},
    CommandSpec{"DBSIZE", 1, kRead, 0, 0, DbSize},
    CommandSpec{"FLUSHALL", -1, kWrite, 0, 0, FlushAll},
    CommandSpec{"TIME", 1, kRead, 0, 0, Time},
    CommandSpec{"PUBLISH", 3, kPubSub, 0, 0, nullptr},
    CommandSpec{"PUBSUB", -2, kPubSub, 0, 0, nullptr},
    CommandSpec{"EVAL", -3, kScripting, 0, 0, nullptr},
    CommandSpec{"EVALSHA", -3, kScripting, 0, 0, nullptr},
    CommandSpec{"SCRIPT", -2, kScripting, 0, 0, nullptr},
};

}  // namespace

bool IsKeyword(std::string_view word, std::string_view keyword) {
  if (word.size() != keyword.size()) return false;
  for (size_t i = 0; i < word.size(); ++i) {
    if (std::toupper(static_cast<unsigned char>(word[i])) != keyword[i]) return false;
  }
  return true;
}

const CommandSpec* FindCommand(std::string_view name) {
  static const auto* const by_name = [] {
    auto* made = new absl::flat_hash_map<std::string_view, const CommandSpec*>;
    for (const CommandSpec& spec : kCommands) made->emplace(spec.name, &spec);
    return made;
  }();
  if (const auto found = by_name->find(name); found != by_name->end()) return found->second;
  for (const CommandSpec& spec : kCommands) {
    if (IsKeyword(name, spec.name)) return &spec;
  }
  return nullptr;
}

bool ArityFits(const CommandSpec& spec, Words words) {
  const int count = static_cast<int>(words.size());
  return spec.arity >= 0 ? count == spec.arity : count >= -spec.arity;
}

Words KeysOf(const CommandSpec& spec, Words words) {
  if (spec.first_key == 0) return {};
  const size_t first = static_cast<size_t>(spec.first_key);
  const size_t end = spec.last_key < 0 ? words.size() : static_cast<size_t>(spec.last_key) + 1;
  return words.subspan(first, end - first);
}

CommandReply WrongTypeReply() {
  return ErrorReply("WRONGTYPE Operation against a key holding the wrong kind of value");
}

CommandReply NotAnIntegerReply() {
  return ErrorReply("ERR value is not an integer or out of range");
}

bool ParseInteger(std::string_view word, int64_t& value) {
  const bool negative = word.starts_with('-');
  const std::string_view digits = negative ? word.substr(1) : word;
  if (digits.empty() || (digits.front() == '0' && word != "0")) return false;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size();
}

}  // namespace lockkeeper::support
