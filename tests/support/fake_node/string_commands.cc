// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "support/fake_node/commands.h"

namespace lockkeeper::support {
namespace {

// Redis' own limit, proto-max-bulk-len.
constexpr int64_t kStringBytesMax = int64_t{512} * 1024 * 1024;

}  // namespace

CommandReply Get(Keyspace& keys, Words words) {
  const Value* value = keys.Find(words[1]);
  if (!value) return NilReply();
  const auto* text = std::get_if<std::string>(value);
  return text ? BulkReply(*text) : WrongTypeReply();
}

CommandReply MGet(Keyspace& keys, Words words) {
  std::vector<redis::Reply> items;
  for (const std::string_view key : words.subspan(1)) {
    const Value* value = keys.Find(key);
    const auto* text = value ? std::get_if<std::string>(value) : nullptr;
    items.push_back((text ? BulkReply(*text) : NilReply()).reply);
  }
  return ArrayReply(std::move(items));
}

CommandReply Set(Keyspace& keys, Words words) {
  std::optional<int64_t> expires_at_ms;
  bool only_new = false;
  bool keeps_expiry = false;
  std::optional<std::string_view> expiry;
  for (size_t i = 3; i < words.size(); ++i) {
    if (IsKeyword(words[i], "NX")) {
      only_new = true;
    } else if (IsKeyword(words[i], "KEEPTTL") && !expiry) {
      keeps_expiry = true;
    } else if (IsKeyword(words[i], "PXAT") && i + 1 < words.size() && !keeps_expiry) {
      expiry = words[++i];
    } else {
      return ErrorReply("ERR syntax error");
    }
  }
  if (expiry) {
    int64_t time = 0;
    if (!ParseInteger(*expiry, time)) return NotAnIntegerReply();
    if (time <= 0) return ErrorReply("ERR invalid expire time in 'set' command");
    expires_at_ms = time;
  }
  const bool is_there = keys.Find(words[1]) != nullptr;
  if (only_new && is_there) return NilReply();
  if (keeps_expiry && is_there) expires_at_ms = keys.ExpiryOf(words[1]);
  keys.Put(words[1], std::string(words[2]), expires_at_ms);
  return StatusReply("OK");
}

CommandReply GetRange(Keyspace& keys, Words words) {
  int64_t first = 0;
  int64_t last = 0;
  if (!ParseInteger(words[2], first) || !ParseInteger(words[3], last)) return NotAnIntegerReply();
  const Value* value = keys.Find(words[1]);
  if (!value) return BulkReply("");
  const auto* text = std::get_if<std::string>(value);
  if (!text) return WrongTypeReply();

  const auto length = static_cast<int64_t>(text->size());
  if (first < 0 && last < 0 && first > last) return BulkReply("");
  if (first < 0) first = std::max<int64_t>(first + length, 0);
  if (last < 0) last = std::max<int64_t>(last + length, 0);
  last = std::min(last, length - 1);
  if (first > last) return BulkReply("");
  const auto begin = static_cast<size_t>(first);
  return BulkReply(std::string_view(*text).substr(begin, static_cast<size_t>(last) - begin + 1));
}

CommandReply SetRange(Keyspace& keys, Words words) {
  int64_t offset = 0;
  if (!ParseInteger(words[2], offset)) return NotAnIntegerReply();
  if (offset < 0) return ErrorReply("ERR offset is out of range");
  Value* value = keys.Find(words[1]);
  auto* text = value ? std::get_if<std::string>(value) : nullptr;
  if (value && !text) return WrongTypeReply();

  const std::string_view patch = words[3];
  if (patch.empty()) return IntegerReply(text ? static_cast<int64_t>(text->size()) : 0);
  if (offset > kStringBytesMax - static_cast<int64_t>(patch.size())) {
    return ErrorReply("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
  }
  if (!text) text = &std::get<std::string>(keys.Put(words[1], std::string(), std::nullopt));
  const auto begin = static_cast<size_t>(offset);
  if (text->size() < begin + patch.size()) text->resize(begin + patch.size(), '\0');
  text->replace(begin, patch.size(), patch);
  return IntegerReply(static_cast<int64_t>(text->size()));
}

}  // namespace lockkeeper::support
