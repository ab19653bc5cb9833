// SPDX-License-Identifier: Apache-2.0
#include "cli/json.h"

#include <utility>

#include "text/escape.h"

namespace lockkeeper::cli {
namespace {

std::string JsonString(std::string_view text) {
  std::string result;
  text::AppendJsonString(text, result);
  return result;
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

JsonObject& JsonObject::Set(std::string_view key, const std::vector<JsonObject>& values) {
  return SetRaw(key, ArrayOf(values, [](const JsonObject& value) { return value.ToString(); }));
}

JsonObject& JsonObject::Set(std::string_view key, const std::vector<std::string>& values) {
  return SetRaw(key, ArrayOf(values, JsonString));
}

JsonObject& JsonObject::Set(std::string_view key, std::string_view value) {
  return SetRaw(key, JsonString(value), std::string(value));
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
