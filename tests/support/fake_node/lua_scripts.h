// SPDX-License-Identifier: Apache-2.0
//
// Runs Lua scripts as Redis 7 does: the same globals (but for those that are no core Lua, see
// lua_sandbox.h), the same conversions, the same error texts. Redis has Lua 5.1, this the
// interpreter of LuaJIT, which computes the same in half of the time
// (tests/scripts/lua_conformance_test.cc). What differs: the error of a call that a script returns
// as it is (`return redis.call(...)`) does not name its place; positions of string.sub have 32
// bits; a script that does not end is not stopped, and one that overwrites a global or a library is
// not refused. Compiles each text once, so that one instance can serve many in-process servers.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "redis/node/reply.h"
#include "support/fake_node/command_reply.h"
#include "support/fake_node/lua_memory.h"
#include "support/fake_node/string_map.h"

struct lua_State;

namespace lockkeeper::support {

// What `redis.call` reaches.
class ScriptHost {
 public:
  virtual CommandReply CallFromScript(Words words) = 0;

 protected:
  ~ScriptHost() = default;
};

enum class ScriptWrites { kYes, kNo };
enum class ScriptMemory { kNeeded, kNotNeeded };

struct CompiledScript {
  std::string sha1;  // 40 lower-case hex digits, of the whole text.
  int function = 0;  // Where the Lua registry has it.
  ScriptWrites writes = ScriptWrites::kYes;
  ScriptMemory memory = ScriptMemory::kNeeded;
};

struct ScriptArguments {
  Words keys;
  Words arguments;
};

// Thread-safety: not thread-safe.
class LuaScripts {
 public:
  LuaScripts();
  ~LuaScripts();

  struct Compilation {
    const CompiledScript* script = nullptr;  // Lives as long as the LuaScripts.
    std::string error;                       // Error reply if there is no script.
  };

  // Compiles a script, which has to begin with a `#!lua` line. The same text is compiled once.
  Compilation Compile(std::string_view text);

  // Call it when nearly all scripts are compiled: from now on the memory that calls leave is
  // dropped as a whole instead of collected.
  void ExpectNoMore();

  // All scripts that have been compiled.
  std::vector<const CompiledScript*> compiled() const;

  // Runs a script to its end and converts what it returns. Not to be called by a host.
  redis::Reply Run(const CompiledScript& script, ScriptArguments arguments, ScriptHost& host);

 private:
  struct Closer {
    void operator()(lua_State* lua) const;
  };

  LuaMemory memory_;
  bool forgets_calls_ = false;
  std::unique_ptr<lua_State, Closer> lua_;
  std::map<std::string, std::unique_ptr<CompiledScript>> compiled_;  // By digest.
  StringMap<const CompiledScript*> by_text_;  // Many servers load the same ones.
  ScriptHost* host_ = nullptr;                // During Run; what the sandbox's redis.call asks.
};

}  // namespace lockkeeper::support
