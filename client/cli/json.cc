// SPDX-License-Identifier: Apache-2.0
#include "cli/json.h"

#include "utf8.h"

namespace lockkeeper::cli {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::string Escaped(char character) {
  switch (character) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  const auto code = static_cast<unsigned char>(character);
  if (code >= 0x20 && code != 0x7F) return std::string(1, character);
  constexpr char kDigits[] = "0123456789abcdef";
  return std::string("\\u00") + kDigits[code >> 4] + kDigits[code & 15];
}

}  // namespace

std::string JsonString(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const size_t length = client::Utf8CharacterLength(text);
    if (length > 1) {
      result += text.substr(0, length);
    } else {
      result += length == 0 ? std::string(kReplacement) : Escaped(text[0]);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result + "\"";
}

JsonObject& JsonObject::Set(std::string_view key, const std::vector<JsonObject>& values) {
  std::string array = "[";
  for (const JsonObject& value : values) {
    if (array.size() > 1) array += ",";
    array += value.ToString();
  }
  return SetRaw(key, array + "]");
}

JsonObject& JsonObject::SetRaw(std::string_view key, std::string_view value) {
  if (!members_.empty()) members_ += ",";
  members_ += JsonString(key) + ":";
  members_ += value;
  return *this;
}

}  // namespace lockkeeper::cli
