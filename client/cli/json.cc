// SPDX-License-Identifier: Apache-2.0
#include "cli/json.h"

#include <utility>

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

template <typename Values, typename Write>
std::string ArrayOf(const Values& values, Write write) {
  std::string array = "[";
  for (const auto& value : values) {
    if (array.size() > 1) array += ",";
    array += write(value);
  }
  return array + "]";
}

// As `run` calls it in the environment of its command.
std::string VariableOf(std::string_view key) {
  std::string name = "LOCKKEEPER_";
  if (key == "name") return name + "LOCK";
  for (const char c : key) name += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return name;
}

// Nothing has a meaning between single quotes but another one.
std::string ShellQuoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += R"('\'')";
    } else if (c != '\0') {  // Which no variable can hold.
      quoted += c;
    }
  }
  return quoted + "'";
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
  return SetRaw(key, ArrayOf(values, [](const JsonObject& value) { return value.ToString(); }));
}

JsonObject& JsonObject::Set(std::string_view key, const std::vector<std::string>& values) {
  return SetRaw(key, ArrayOf(values, JsonString));
}

std::string JsonObject::ToString() const {
  std::string text = "{";
  for (const Member& member : members_) {
    if (text.size() > 1) text += ",";
    text += JsonString(member.key) + ":" + member.json;
  }
  return text + "}";
}

std::string JsonObject::ToShell() const {
  std::string text;
  for (const Member& member : members_) {
    if (!text.empty()) text += "\n";
    text += VariableOf(member.key) + "=" + ShellQuoted(member.plain);
  }
  return text;
}

JsonObject& JsonObject::SetRaw(std::string_view key, std::string json, std::string plain) {
  members_.push_back({std::string(key), std::move(json), std::move(plain)});
  return *this;
}

}  // namespace lockkeeper::cli
