// SPDX-License-Identifier: Apache-2.0
//
// The functions that a script can use: fewer than in Redis, never more. They are the core functions
// of Lua 5.1 and redis.{call,pcall,error_reply,status_reply,sha1hex}. Functions that only some
// servers have (cjson, bit, os), that are random (math.random) or that compile code are missing. So
// a script that passes here runs on every server, and always does the same.
#pragma once

#include <string>
#include <string_view>

struct lua_State;

namespace lockkeeper::support {

class ScriptHost;

// Prepares a new Lua state. `*host` is what redis.call asks, at the time of the call.
void OpenSandbox(lua_State* lua, ScriptHost* const* host);

// Lets the function on top of the stack see the sandbox and nothing else.
void EnterSandbox(lua_State* lua);

// Takes the value on top of the stack for a global of the sandbox.
void SetSandboxGlobal(lua_State* lua, const char* name);

// Error handler for lua_pcall: what Redis makes of an error, a table with its place.
int DescribeError(lua_State* lua);

// Digest of a text, 40 lower-case hex digits.
std::string Sha1Hex(std::string_view text);

}  // namespace lockkeeper::support
