// SPDX-License-Identifier: Apache-2.0
#include "support/fake_node/lua_scripts.h"

#include <openssl/sha.h>

#include <array>
#include <lua.hpp>
#include <utility>

#include "support/fake_node/lua_sandbox.h"
#include "support/fake_node/lua_values.h"

namespace lockkeeper::support {
namespace {

// The first line of a script, and its flags. Error reply if it is not one that Redis takes.
std::string ParseShebang(std::string_view line, CompiledScript& script) {
  bool engine = true;
  while (!line.empty()) {
    const std::string_view part = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(line.size(), part.size() + 1));
    if (std::exchange(engine, false)) {
      if (part != "#!lua") return "ERR Unexpected engine in script shebang: " + std::string(part);
    } else if (part == "flags=allow-oom") {
      script.memory = ScriptMemory::kNotNeeded;
    } else if (part == "flags=no-writes") {
      script.writes = ScriptWrites::kNo;
      script.memory = ScriptMemory::kNotNeeded;
    } else {
      return "ERR the in-process node does not know what follows #!lua: " + std::string(part);
    }
  }
  return "";
}

void PushTable(lua_State* lua, Words words) {
  lua_createtable(lua, static_cast<int>(words.size()), 0);
  for (size_t i = 0; i < words.size(); ++i) {
    lua_pushlstring(lua, words[i].data(), words[i].size());
    lua_rawseti(lua, -2, static_cast<int>(i) + 1);
  }
}

}  // namespace

std::string Sha1Hex(std::string_view text) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest;
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += kHexDigits[byte >> 4];
    hex += kHexDigits[byte & 0xf];
  }
  return hex;
}

void LuaScripts::Closer::operator()(lua_State* lua) const { lua_close(lua); }

LuaScripts::LuaScripts() : lua_(lua_newstate(LuaMemory::Reallocate, &memory_)) {
  OpenSandbox(lua_.get(), &host_);
}

LuaScripts::~LuaScripts() = default;

LuaScripts::Compilation LuaScripts::Compile(std::string_view text) {
  if (const auto known = by_text_.find(text); known != by_text_.end()) return {known->second, ""};
  std::string sha1 = Sha1Hex(text);
  if (const auto known = compiled_.find(sha1); known != compiled_.end()) {
    return {known->second.get(), ""};
  }
  if (!text.starts_with("#!")) {
    return {nullptr, "ERR the in-process node runs only scripts with a #!lua line"};
  }
  const size_t shebang_end = text.find('\n');
  if (shebang_end == std::string_view::npos) return {nullptr, "ERR Invalid script shebang"};

  if (std::exchange(forgets_calls_, false)) lua_gc(lua_.get(), LUA_GCRESTART, 0);
  auto script = std::make_unique<CompiledScript>();
  std::string error = ParseShebang(text.substr(0, shebang_end), *script);
  if (!error.empty()) return {nullptr, std::move(error)};

  // The line feed stays, so that errors name the lines of the file.
  const std::string_view body = text.substr(shebang_end);
  lua_State* lua = lua_.get();
  if (luaL_loadbuffer(lua, body.data(), body.size(), "@user_script") != 0) {
    error = "ERR Error compiling script (new function): " + std::string(lua_tostring(lua, -1));
    lua_pop(lua, 1);
    return {nullptr, std::move(error)};
  }
  EnterSandbox(lua);
  script->function = luaL_ref(lua, LUA_REGISTRYINDEX);
  script->sha1 = sha1;
  by_text_.emplace(text, script.get());
  return {compiled_.emplace(std::move(sha1), std::move(script)).first->second.get(), ""};
}

void LuaScripts::ExpectNoMore() {
  lua_gc(lua_.get(), LUA_GCCOLLECT, 0);
  lua_gc(lua_.get(), LUA_GCSTOP, 0);
  memory_.Keep();
  forgets_calls_ = true;
}

std::vector<const CompiledScript*> LuaScripts::compiled() const {
  std::vector<const CompiledScript*> scripts;
  for (const auto& [sha1, script] : compiled_) scripts.push_back(script.get());
  return scripts;
}

redis::Reply LuaScripts::Run(const CompiledScript& script, ScriptArguments arguments,
                             ScriptHost& host) {
  lua_State* lua = lua_.get();
  host_ = &host;
  PushTable(lua, arguments.keys);
  SetSandboxGlobal(lua, "KEYS");
  PushTable(lua, arguments.arguments);
  SetSandboxGlobal(lua, "ARGV");

  lua_pushcfunction(lua, DescribeError);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, script.function);
  const int failed = lua_pcall(lua, 0, 1, -2);
  redis::Reply reply = failed ? ReplyOfError(lua, script.sha1) : ReplyOfValue(lua);
  lua_settop(lua, 0);
  host_ = nullptr;
  if (forgets_calls_) memory_.ForgetRest();
  return reply;
}

}  // namespace lockkeeper::support
