// SPDX-License-Identifier: Apache-2.0
#include "support/reply_text.h"

namespace lockkeeper::support {
namespace {

std::string Printable(std::string_view text) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  std::string printable;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\\' && c != '"') {
      printable += c;
    } else {
      printable.append("\\x").append(1, kHexDigits[byte >> 4]).append(1, kHexDigits[byte & 0xf]);
    }
  }
  return printable;
}

}  // namespace

std::string Describe(const redis::Reply& reply) {
  using Type = redis::Reply::Type;
  switch (reply.type) {
    case Type::kNil:
      return "nil";
    case Type::kInteger:
      return std::to_string(reply.integer);
    case Type::kText:
      return '"' + Printable(reply.text) + '"';
    case Type::kError:
      return '!' + Printable(reply.text);
    case Type::kArray:
      break;
  }
  std::string text = "[";
  for (const redis::Reply& item : reply.items) {
    if (&item != &reply.items.front()) text += ", ";
    text += Describe(item);
  }
  return text + "]";
}

std::string Describe(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text += ' ';
    text += '"' + Printable(word) + '"';
  }
  return text;
}

}  // namespace lockkeeper::support
