// SPDX-License-Identifier: Apache-2.0
//
// The conversions between Lua values and replies, as Redis makes them in protocol version 2.
#pragma once

#include <string>
#include <string_view>

#include "redis/node/reply.h"
#include "support/fake_node/command_reply.h"

struct lua_State;

namespace lockkeeper::support {

// Pushes what a script sees of a command's reply: nil is false, a status {ok=}, an error {err=}.
void PushReply(lua_State* lua, const CommandReply& reply);

// Pushes {err=text}.
void PushErrorTable(lua_State* lua, const std::string& text);

// What redis.error_reply makes of its argument: "ERR " comes before a single word.
std::string ErrorTextOf(std::string_view argument);

// The reply of a script that returned the value on top: numbers lose their fraction, false is nil,
// an array ends at its first nil.
redis::Reply ReplyOfValue(lua_State* lua);

// The reply of a script that failed with the error on top, which DescribeError has made.
redis::Reply ReplyOfError(lua_State* lua, std::string_view sha1);

}  // namespace lockkeeper::support
