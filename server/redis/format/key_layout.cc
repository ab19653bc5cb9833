// SPDX-License-Identifier: Apache-2.0
#include "redis/format/key_layout.h"

#include <utility>

namespace lockkeeper::redis {
namespace {

// `text` with every character escaped that means something in a Redis glob pattern.
std::string EscapeGlob(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("*?[]\\^-").find(c) != std::string_view::npos) escaped.push_back('\\');
    escaped.push_back(c);
  }
  return escaped;
}

}  // namespace

KeyLayout::KeyLayout(std::string prefix)
    : prefix_(std::move(prefix)), channel_prefix_(prefix_ + "daemon:") {}

std::string KeyLayout::LineKeyOf(std::string_view record_key) {
  return std::string(record_key).append(":line");
}

std::string KeyLayout::RecordKey(std::string_view lock_name) const {
  std::string key;
  key.reserve(prefix_.size() + lock_name.size() + 2);
  key.append(prefix_).append("{").append(lock_name).append("}");
  return key;
}

std::string KeyLayout::MarkerKey() const { return prefix_ + "store"; }

std::string KeyLayout::RollKey() const { return prefix_ + "daemons"; }

std::string KeyLayout::ChannelPattern() const { return EscapeGlob(channel_prefix_) + "*"; }

std::optional<std::string> KeyLayout::LockName(std::string_view key) const {
  const size_t frame = prefix_.size() + 2;
  if (key.size() <= frame || !key.starts_with(prefix_)) return std::nullopt;
  if (key[prefix_.size()] != '{' || key.back() != '}') return std::nullopt;
  return std::string(key.substr(prefix_.size() + 1, key.size() - frame));
}

std::string KeyLayout::RecordPattern(std::string_view name_prefix) const {
  return EscapeGlob(prefix_) + "{" + EscapeGlob(name_prefix) + "*}";
}

}  // namespace lockkeeper::redis
