// SPDX-License-Identifier: Apache-2.0
//
// One in-process Redis server: its keys, its clock, its script cache, and the states in which it
// rejects writes. Several FakeNodes may use one, as several daemons would.
// tests/scripts/model_conformance_test.cc compares it with a real server.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/functional/any_invocable.h"
#include "redis/node/node.h"
#include "redis/node/reply.h"
#include "support/fake_node/command_reply.h"
#include "support/fake_node/commands.h"
#include "support/fake_node/keyspace.h"
#include "support/fake_node/lua_scripts.h"
#include "support/fake_node/node_clock.h"

namespace lockkeeper::support {

enum class MemoryState { kFree, kFull };

// Thread-safety: not thread-safe. Lifetime: borrows `lua` and `monotonic`.
class RedisModel final : private ScriptHost {
 public:
  // `digit` tells the run ids of several servers apart.
  RedisModel(LuaScripts& lua, const core::Clock& monotonic, char digit = '0');

  // Executes one command atomically, at the clock's current time.
  redis::Reply Execute(Words words);

  NodeClock& clock() { return clock_; }

  // This start of the server, an hour ago. Tests may change what it says of its settings.
  redis::NodeLife& life() { return life_; }

  // As SCRIPT FLUSH does, and every restart and failover.
  void ForgetScripts() { known_scripts_.clear(); }

  // As if every script that `lua` has compiled had been loaded.
  void LoadCompiledScripts();

  // Restarts the server, without scripts; with all keys, or with none.
  void Restart();
  void RestartEmpty();

  // Starts so far. What was sent to an earlier one never arrives at a later one.
  uint64_t starts() const { return starts_; }

  // All keys as they are now; and back to that, as if nothing had been written since.
  Keyspace::Snapshot TakeSnapshot() const { return keys_.snapshot(); }
  void RestoreSnapshot(Keyspace::Snapshot snapshot) { keys_.Restore(std::move(snapshot)); }

  // As FLUSHALL.
  void Flush() { keys_.Clear(); }

  // As with maxmemory reached and noeviction.
  void SetMemory(MemoryState memory) { memory_ = memory; }

  // From now on writes and scripts that may write answer `error`, such as "READONLY ...". Empty:
  // no more.
  void RefuseWrites(std::string error) { write_refusal_ = std::move(error); }

  // From now on `command` answers as to a user without the right to it.
  void Forbid(std::string command) { forbidden_ = std::move(command); }

  // Hears of what is published on one channel, while the command or script that publishes runs.
  using Subscriber = absl::AnyInvocable<void(std::string_view message)>;

  // Subscribes until Unsubscribe with the number that this answers.
  uint64_t Subscribe(std::string_view channel, Subscriber subscriber);
  void Unsubscribe(uint64_t subscription);

  // Commands that scripts have called so far: the cost of an operation.
  uint64_t commands_in_scripts() const { return commands_in_scripts_; }

 private:
  struct Call {
    const CompiledScript& script;
    Words keys;
  };

  struct Subscription {
    std::string channel;
    Subscriber subscriber;
  };

  enum class ScriptNamedBy { kText, kDigest };

  CommandReply Scripting(const CommandSpec& spec, Words words);
  CommandReply Eval(Words words, ScriptNamedBy named_by);
  LuaScripts::Compilation Load(std::string_view text);
  CommandReply ScriptCommand(Words words);
  CommandReply RunScript(const CompiledScript& script, Words words, size_t key_count);
  CommandReply CallFromScript(Words words) override;
  CommandReply Dispatch(const CommandSpec& spec, Words words);
  CommandReply Publish(std::string_view channel, std::string_view message);
  CommandReply PubSubCommand(Words words) const;
  CommandReply RefusalOf(const CommandSpec& spec) const;

  LuaScripts& lua_;
  NodeClock clock_;
  const char digit_;
  redis::NodeLife life_{.run_id = std::string(40, digit_), .durable = true};
  uint64_t starts_ = 0;
  Keyspace keys_;
  StringMap<const CompiledScript*> known_scripts_;
  const Call* running_ = nullptr;
  MemoryState memory_ = MemoryState::kFree;
  std::string write_refusal_;
  std::string forbidden_;
  uint64_t commands_in_scripts_ = 0;
  uint64_t next_subscription_ = 0;
  std::map<uint64_t, Subscription> subscriptions_;
};

}  // namespace lockkeeper::support
