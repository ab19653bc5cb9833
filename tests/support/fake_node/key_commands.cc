// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <utility>

#include "support/fake_node/commands.h"
#include "support/fake_node/glob.h"

namespace lockkeeper::support {
namespace {

std::string_view TypeName(const Value* value) {
  if (!value) return "none";
  if (std::holds_alternative<std::string>(*value)) return "string";
  return std::holds_alternative<Hash>(*value) ? "hash" : "zset";
}

struct ScanOptions {
  std::string_view pattern = "*";
  std::string_view type;  // Empty: any.
  int64_t count = 10;
};

// Error reply for a wrong option, else nil.
CommandReply ParseScanOptions(Words words, ScanOptions& options) {
  for (size_t i = 2; i < words.size(); i += 2) {
    if (i + 1 == words.size()) return ErrorReply("ERR syntax error");
    if (IsKeyword(words[i], "MATCH")) {
      options.pattern = words[i + 1];
    } else if (IsKeyword(words[i], "TYPE")) {
      options.type = words[i + 1];
    } else if (!IsKeyword(words[i], "COUNT")) {
      return ErrorReply("ERR syntax error");
    } else if (!ParseInteger(words[i + 1], options.count)) {
      return NotAnIntegerReply();
    } else if (options.count < 1) {
      return ErrorReply("ERR syntax error");
    }
  }
  return NilReply();
}

bool ParseCursor(std::string_view word, uint64_t& cursor) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), cursor);
  return error == std::errc() && end == word.data() + word.size();
}

}  // namespace

CommandReply Del(Keyspace& keys, Words words) {
  return IntegerReply(std::count_if(words.begin() + 1, words.end(),
                                    [&keys](std::string_view key) { return keys.Erase(key); }));
}

CommandReply Exists(Keyspace& keys, Words words) {
  return IntegerReply(std::count_if(words.begin() + 1, words.end(), [&keys](std::string_view key) {
    return keys.Find(key) != nullptr;
  }));
}

CommandReply Type(Keyspace& keys, Words words) {
  return StatusReply(TypeName(keys.Find(words[1])));
}

CommandReply PExpireAt(Keyspace& keys, Words words) {
  int64_t time = 0;
  if (!ParseInteger(words[2], time)) return NotAnIntegerReply();
  if (!keys.Find(words[1])) return IntegerReply(0);
  if (time <= keys.clock().NowMillis()) {
    keys.Erase(words[1]);
  } else {
    keys.SetExpiry(words[1], time);
  }
  return IntegerReply(1);
}

CommandReply PTtl(Keyspace& keys, Words words) {
  if (!keys.Find(words[1])) return IntegerReply(-2);
  const auto expires_at_ms = keys.ExpiryOf(words[1]);
  if (!expires_at_ms) return IntegerReply(-1);
  return IntegerReply(*expires_at_ms - keys.clock().NowMillis());
}

CommandReply Scan(Keyspace& keys, Words words) {
  uint64_t cursor = 0;
  if (!ParseCursor(words[1], cursor)) return ErrorReply("ERR invalid cursor");
  ScanOptions options;
  if (CommandReply fault = ParseScanOptions(words, options); fault.is_error()) return fault;

  const Keyspace::Page page = keys.Scan(cursor, static_cast<size_t>(options.count));
  std::vector<redis::Reply> names;
  for (const std::string& key : page.keys) {
    const bool type_fits = options.type.empty() || TypeName(keys.Find(key)) == options.type;
    if (type_fits && GlobMatches(options.pattern, key)) names.push_back(BulkReply(key).reply);
  }
  return ArrayReply(
      {BulkReply(std::to_string(page.next_cursor)).reply, ArrayReply(std::move(names)).reply});
}

CommandReply DbSize(Keyspace& keys, Words /*words*/) {
  return IntegerReply(static_cast<int64_t>(keys.Count()));
}

CommandReply FlushAll(Keyspace& keys, Words words) {
  if (words.size() > 1) return ErrorReply("ERR syntax error");
  keys.Clear();
  return StatusReply("OK");
}

CommandReply Time(Keyspace& keys, Words /*words*/) {
  const int64_t micros = keys.clock().Now().micros;
  return ArrayReply({BulkReply(std::to_string(micros / 1'000'000)).reply,
                     BulkReply(std::to_string(micros % 1'000'000)).reply});
}

}  // namespace lockkeeper::support
