// SPDX-License-Identifier: Apache-2.0
#include "support/fake_node/lua_values.h"

#include <algorithm>
#include <limits>
#include <lua.hpp>
#include <optional>
#include <utility>

namespace lockkeeper::support {
namespace {

using redis::Reply;

// Deeper than any sane reply; Redis gives up at the end of its Lua stack.
constexpr int kDepthMax = 100;

void PushItem(lua_State* lua, const Reply& reply) {
  switch (reply.type) {
    case Reply::Type::kNil:
      lua_pushboolean(lua, 0);
      return;
    case Reply::Type::kInteger:
      lua_pushnumber(lua, static_cast<lua_Number>(reply.integer));
      return;
    case Reply::Type::kText:
      lua_pushlstring(lua, reply.text.data(), reply.text.size());
      return;
    case Reply::Type::kError:
      PushErrorTable(lua, reply.text);
      return;
    case Reply::Type::kArray:
      lua_createtable(lua, static_cast<int>(reply.items.size()), 0);
      for (size_t i = 0; i < reply.items.size(); ++i) {
        PushItem(lua, reply.items[i]);
        lua_rawseti(lua, -2, static_cast<int>(i) + 1);
      }
      return;
  }
}

// A string field of the table on top.
std::optional<std::string> FieldOf(lua_State* lua, const char* name) {
  lua_pushstring(lua, name);
  lua_rawget(lua, -2);
  std::optional<std::string> text;
  if (lua_type(lua, -1) == LUA_TSTRING) {
    size_t length = 0;
    const char* bytes = lua_tolstring(lua, -1, &length);
    text.emplace(bytes, length);
  }
  lua_pop(lua, 1);
  return text;
}

// One line: replies of one line cannot hold line ends.
std::string OneLine(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
  return text;
}

Reply ReplyOfTop(lua_State* lua, int depth);

Reply ReplyOfTable(lua_State* lua, int depth) {
  if (auto error = FieldOf(lua, "err")) {
    return {.type = Reply::Type::kError, .text = OneLine(*std::move(error))};
  }
  if (auto status = FieldOf(lua, "ok")) {
    return {.type = Reply::Type::kText, .text = OneLine(*std::move(status))};
  }
  Reply reply{.type = Reply::Type::kArray};
  reply.items.reserve(lua_objlen(lua, -1));
  for (int i = 1;; ++i) {
    lua_rawgeti(lua, -1, i);
    if (lua_isnil(lua, -1)) break;
    reply.items.push_back(ReplyOfTop(lua, depth + 1));
    lua_pop(lua, 1);
  }
  lua_pop(lua, 1);
  return reply;
}

// What does not fit is the lowest number, as with a server on x86-64.
int64_t IntegerOf(double number) {
  constexpr double kLimit = 9223372036854775808.0;
  const bool fits = number >= -kLimit && number < kLimit;
  return fits ? static_cast<int64_t>(number) : std::numeric_limits<int64_t>::min();
}

Reply ReplyOfTop(lua_State* lua, int depth) {
  if (depth > kDepthMax || lua_checkstack(lua, 4) == 0) {
    return {.type = Reply::Type::kError, .text = "ERR reached lua stack limit"};
  }
  switch (lua_type(lua, -1)) {
    case LUA_TNUMBER:
      return {.type = Reply::Type::kInteger, .integer = IntegerOf(lua_tonumber(lua, -1))};
    case LUA_TSTRING: {
      size_t length = 0;
      const char* text = lua_tolstring(lua, -1, &length);
      return {.type = Reply::Type::kText, .text = std::string(text, length)};
    }
    case LUA_TBOOLEAN:
      if (lua_toboolean(lua, -1) != 0) return {.type = Reply::Type::kInteger, .integer = 1};
      return {};
    case LUA_TTABLE:
      return ReplyOfTable(lua, depth);
    default:
      return {};
  }
}

}  // namespace

void PushErrorTable(lua_State* lua, const std::string& text) {
  lua_createtable(lua, 0, 1);
  lua_pushlstring(lua, text.data(), text.size());
  lua_setfield(lua, -2, "err");
}

std::string ErrorTextOf(std::string_view argument) {
  if (argument.starts_with('-')) argument.remove_prefix(1);
  while (argument.ends_with('\r') || argument.ends_with('\n')) argument.remove_suffix(1);
  const bool has_word = argument.find(' ') != std::string_view::npos;
  return has_word ? std::string(argument) : "ERR " + std::string(argument);
}

void PushReply(lua_State* lua, const CommandReply& reply) {
  if (reply.form == TextForm::kBulk) {
    PushItem(lua, reply.reply);
    return;
  }
  lua_createtable(lua, 0, 1);
  PushItem(lua, reply.reply);
  lua_setfield(lua, -2, "ok");
}

Reply ReplyOfValue(lua_State* lua) { return ReplyOfTop(lua, 0); }

Reply ReplyOfError(lua_State* lua, std::string_view sha1) {
  std::string text = FieldOf(lua, "err").value_or("ERR");
  const auto source = FieldOf(lua, "source");
  lua_getfield(lua, -1, "line");
  if (source && lua_isnumber(lua, -1) != 0) {
    text.append(" script: ").append(sha1).append(", on ").append(*source);
    text.append(":").append(std::to_string(lua_tointeger(lua, -1))).append(".");
  }
  lua_pop(lua, 1);
  return {.type = Reply::Type::kError, .text = OneLine(std::move(text))};
}

}  // namespace lockkeeper::support
