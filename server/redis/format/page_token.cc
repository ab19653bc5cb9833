// SPDX-License-Identifier: Apache-2.0
#include "redis/format/page_token.h"

#include <charconv>

namespace lockkeeper::redis {
namespace {

std::optional<uint64_t> Number(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::string PageToken::Encode() const {
  return std::to_string(cursor) + "." + std::to_string(after);
}

std::optional<PageToken> PageToken::Decode(std::string_view text) {
  if (text.empty()) return PageToken{};
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto cursor = Number(text.substr(0, dot));
  const auto after = Number(text.substr(dot + 1));
  if (!cursor || !after) return std::nullopt;
  const PageToken token{*cursor, *after};
  if (token.Encode() != text) return std::nullopt;  // Such as leading zeros.
  return token;
}

}  // namespace lockkeeper::redis
