// SPDX-License-Identifier: Apache-2.0
//
// Whether an error of Lua runs destructors on its way depends on the machine: functions that may
// raise one keep their C++ objects in a function of their own, which has returned by then.
#include "support/fake_node/lua_sandbox.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <lua.hpp>

#include "absl/container/inlined_vector.h"
#include "support/fake_node/lua_scripts.h"
#include "support/fake_node/lua_values.h"

namespace lockkeeper::support {
namespace {

constexpr std::array kBaseFunctions = {
    "assert",   "error",  "getmetatable", "ipairs", "next",         "pairs",
    "rawequal", "rawget", "rawset",       "select", "setmetatable", "tonumber",
    "tostring", "type",   "unpack",       "xpcall", "_VERSION"};
constexpr std::array kLibraries = {"string", "table", "math"};
// In any of them.
constexpr std::array kNotThere = {"random", "randomseed", "move"};

// Addresses of these are keys of the Lua registry.
const char kGlobalsKey = 0;

void* KeyOf(const char& key) { return const_cast<char*>(&key); }

int RefuseWrite(lua_State* lua) { return luaL_error(lua, "Attempt to modify a readonly table"); }

int RefuseRead(lua_State* lua) {
  return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'",
                    luaL_checkstring(lua, 2));
}

// As Redis has it since 7.0: an error that is a table is handed out as its text.
int ProtectedCall(lua_State* lua) {
  const int arguments = lua_gettop(lua) - 1;
  luaL_checkany(lua, 1);
  const bool failed = lua_pcall(lua, arguments, LUA_MULTRET, 0) != 0;
  if (failed && lua_istable(lua, -1)) {
    lua_getfield(lua, -1, "err");
    if (lua_isstring(lua, -1)) {
      lua_replace(lua, -2);
    } else {
      lua_pop(lua, 1);
    }
  }
  lua_pushboolean(lua, failed ? 0 : 1);
  lua_insert(lua, 1);
  return lua_gettop(lua);
}

// Makes the argument a string, a number with all its digits. False if it is neither.
bool MakeWord(lua_State* lua, int index) {
  if (lua_type(lua, index) == LUA_TSTRING) return true;
  if (lua_type(lua, index) != LUA_TNUMBER) return false;
  std::array<char, 64> text;
  const int length = std::snprintf(text.data(), text.size(), "%.17g", lua_tonumber(lua, index));
  lua_pushlstring(lua, text.data(), static_cast<size_t>(length));
  lua_replace(lua, index);
  return true;
}

CommandReply CallHost(lua_State* lua) {
  const int count = lua_gettop(lua);
  if (count == 0) {
    return ErrorReply("ERR Please specify at least one argument for this redis lib call");
  }
  absl::InlinedVector<std::string_view, 16> words;
  for (int i = 1; i <= count; ++i) {
    if (!MakeWord(lua, i)) {
      return ErrorReply("ERR Lua redis lib command arguments must be strings or integers");
    }
    size_t length = 0;
    const char* word = lua_tolstring(lua, i, &length);
    words.emplace_back(word, length);
  }
  auto* host = static_cast<ScriptHost* const*>(lua_touserdata(lua, lua_upvalueindex(1)));
  return (*host)->CallFromScript(words);
}

enum class Called { kAnswered, kFailed };

Called CallAndPush(lua_State* lua) {
  const CommandReply reply = CallHost(lua);
  PushReply(lua, reply);
  return reply.is_error() ? Called::kFailed : Called::kAnswered;
}

int RedisCall(lua_State* lua) { return CallAndPush(lua) == Called::kFailed ? lua_error(lua) : 1; }

int RedisPcall(lua_State* lua) {
  CallAndPush(lua);
  return 1;
}

bool HasOneString(lua_State* lua) {
  return lua_gettop(lua) == 1 && lua_type(lua, 1) == LUA_TSTRING;
}

int RedisErrorReply(lua_State* lua) {
  if (HasOneString(lua)) {
    PushErrorTable(lua, ErrorTextOf({lua_tostring(lua, 1)}));
  } else {
    PushErrorTable(lua, "ERR wrong number or type of arguments");
  }
  return 1;
}

int RedisStatusReply(lua_State* lua) {
  if (!HasOneString(lua)) {
    PushErrorTable(lua, "ERR wrong number or type of arguments");
    return 1;
  }
  lua_createtable(lua, 0, 1);
  lua_pushvalue(lua, 1);
  lua_setfield(lua, -2, "ok");
  return 1;
}

void PushSha1(lua_State* lua) {
  size_t length = 0;
  const char* text = lua_tolstring(lua, 1, &length);
  lua_pushstring(lua, Sha1Hex({text, length}).c_str());
}

int RedisSha1Hex(lua_State* lua) {
  if (lua_gettop(lua) != 1) {
    PushErrorTable(lua, "ERR wrong number of arguments");
    return lua_error(lua);
  }
  if (lua_tostring(lua, 1) == nullptr) {
    lua_pushliteral(lua, "");
    lua_replace(lua, 1);
  }
  PushSha1(lua);
  return 1;
}

void OpenLibrary(lua_State* lua, const char* name, lua_CFunction open) {
  lua_pushcfunction(lua, open);
  lua_pushstring(lua, name);
  lua_call(lua, 1, 0);
}

// Sets the field `redis` of the table on top.
void AddRedisLibrary(lua_State* lua, ScriptHost* const* host) {
  constexpr std::array<luaL_Reg, 5> kFunctions = {{{"call", RedisCall},
                                                   {"pcall", RedisPcall},
                                                   {"error_reply", RedisErrorReply},
                                                   {"status_reply", RedisStatusReply},
                                                   {"sha1hex", RedisSha1Hex}}};
  lua_newtable(lua);
  for (const luaL_Reg& entry : kFunctions) {
    lua_pushlightuserdata(lua, const_cast<ScriptHost**>(host));
    lua_pushcclosure(lua, entry.func, 1);
    lua_setfield(lua, -2, entry.name);
  }
  lua_setfield(lua, -2, "redis");
}

// Fills the table on top with the globals that scripts see.
void AddGlobals(lua_State* lua) {
  for (const char* name : kBaseFunctions) {
    lua_getglobal(lua, name);
    lua_setfield(lua, -2, name);
  }
  lua_pushcfunction(lua, ProtectedCall);
  lua_setfield(lua, -2, "pcall");
  for (const char* name : kLibraries) {
    lua_getglobal(lua, name);
    for (const char* field : kNotThere) {
      lua_pushnil(lua);
      lua_setfield(lua, -2, field);
    }
    lua_setfield(lua, -2, name);
  }
}

}  // namespace

void OpenSandbox(lua_State* lua, ScriptHost* const* host) {
  OpenLibrary(lua, "", luaopen_base);
  OpenLibrary(lua, LUA_STRLIBNAME, luaopen_string);
  OpenLibrary(lua, LUA_TABLIBNAME, luaopen_table);
  OpenLibrary(lua, LUA_MATHLIBNAME, luaopen_math);

  lua_pushlightuserdata(lua, KeyOf(kGlobalsKey));
  lua_newtable(lua);
  for (const char* name : {"KEYS", "ARGV"}) {
    lua_newtable(lua);
    lua_setfield(lua, -2, name);
  }
  AddGlobals(lua);
  AddRedisLibrary(lua, host);
  lua_createtable(lua, 0, 2);
  lua_pushcfunction(lua, RefuseRead);
  lua_setfield(lua, -2, "__index");
  lua_pushcfunction(lua, RefuseWrite);
  lua_setfield(lua, -2, "__newindex");
  lua_setmetatable(lua, -2);
  lua_rawset(lua, LUA_REGISTRYINDEX);
}

void EnterSandbox(lua_State* lua) {
  lua_pushlightuserdata(lua, KeyOf(kGlobalsKey));
  lua_rawget(lua, LUA_REGISTRYINDEX);
  lua_setfenv(lua, -2);
}

void SetSandboxGlobal(lua_State* lua, const char* name) {
  lua_pushlightuserdata(lua, KeyOf(kGlobalsKey));
  lua_rawget(lua, LUA_REGISTRYINDEX);
  lua_insert(lua, -2);
  lua_setfield(lua, -2, name);
  lua_pop(lua, 1);
}

int DescribeError(lua_State* lua) {
  lua_Debug where;
  bool placed = lua_getstack(lua, 1, &where) != 0;
  if (placed) lua_getinfo(lua, "Sl", &where);
  if (placed && std::strcmp(where.what, "C") == 0) {
    placed = lua_getstack(lua, 2, &where) != 0;
    if (placed) lua_getinfo(lua, "Sl", &where);
  }
  if (!lua_istable(lua, -1)) {
    lua_getglobal(lua, "tostring");
    lua_insert(lua, -2);
    lua_call(lua, 1, 1);
    lua_pushliteral(lua, "ERR ");
    lua_insert(lua, -2);
    lua_concat(lua, 2);
    lua_createtable(lua, 0, 3);
    lua_insert(lua, -2);
    lua_setfield(lua, -2, "err");
  }
  if (!placed) return 1;
  lua_pushstring(lua, where.source);
  lua_setfield(lua, -2, "source");
  lua_pushinteger(lua, where.currentline);
  lua_setfield(lua, -2, "line");
  return 1;
}

}  // namespace lockkeeper::support
