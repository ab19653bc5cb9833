// SPDX-License-Identifier: Apache-2.0
#include "support/fake_node/redis_model.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/fake_node/glob.h"

namespace lockkeeper::support {
namespace {

constexpr size_t kFirstKeyOfEval = 3;
constexpr size_t kDigestLength = 40;

bool IsWrite(const CommandSpec& spec) {
  return spec.kind == CommandKind::kWrite || spec.kind == CommandKind::kWriteGrowing;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

CommandReply UnknownCommand(Words words) {
  std::string message =
      "ERR unknown command '" + std::string(words[0]) + "', with args beginning with: ";
  for (const std::string_view word : words.subspan(1)) {
    message.append("'").append(word).append("' ");
  }
  return ErrorReply(message);
}

CommandReply WrongArity(std::string_view name) {
  return ErrorReply("ERR wrong number of arguments for '" + Lower(name) + "' command");
}

CommandReply UnknownScript() { return ErrorReply("NOSCRIPT No matching script. Please use EVAL."); }

// Error reply if the words of an EVAL do not hold the keys that they promise, else nil.
CommandReply CheckKeyCount(Words words, size_t& key_count) {
  int64_t count = 0;
  if (!ParseInteger(words[2], count)) return NotAnIntegerReply();
  if (count > static_cast<int64_t>(words.size() - kFirstKeyOfEval)) {
    return ErrorReply("ERR Number of keys can't be greater than number of args");
  }
  if (count < 0) return ErrorReply("ERR Number of keys can't be negative");
  key_count = static_cast<size_t>(count);
  return NilReply();
}

}  // namespace

RedisModel::RedisModel(LuaScripts& lua, const core::Clock& monotonic, char digit)
    : lua_(lua), clock_(monotonic), digit_(digit), keys_(clock_) {
  const core::Micros up_for = std::chrono::hours(1);
  life_.started.micros = clock_.Now().micros - up_for.count();
}

redis::Reply RedisModel::Execute(Words words) {
  const CommandSpec* spec = FindCommand(words[0]);
  if (!spec) return UnknownCommand(words).reply;
  if (!ArityFits(*spec, words)) return WrongArity(spec->name).reply;
  if (spec->name == forbidden_) {
    return ErrorReply("NOPERM this user has no permissions to run the '" + Lower(spec->name) +
                      "' command")
        .reply;
  }
  if (spec->kind == CommandKind::kScripting) return Scripting(*spec, words).reply;
  CommandReply refusal = RefusalOf(*spec);
  return refusal.is_error() ? std::move(refusal.reply) : Dispatch(*spec, words).reply;
}

CommandReply RedisModel::Scripting(const CommandSpec& spec, Words words) {
  if (spec.name == "SCRIPT") return ScriptCommand(words);
  return Eval(words, spec.name == "EVAL" ? ScriptNamedBy::kText : ScriptNamedBy::kDigest);
}

CommandReply RedisModel::Dispatch(const CommandSpec& spec, Words words) {
  if (spec.name == "PUBLISH") return Publish(words[1], words[2]);
  if (spec.name == "PUBSUB") return PubSubCommand(words);
  return spec.run(keys_, words);
}

CommandReply RedisModel::Publish(std::string_view channel, std::string_view message) {
  int64_t receivers = 0;
  for (auto& [number, subscription] : subscriptions_) {
    if (subscription.channel != channel) continue;
    ++receivers;
    subscription.subscriber(message);
  }
  return IntegerReply(receivers);
}

CommandReply RedisModel::PubSubCommand(Words words) const {
  if (words.size() != 3 || !IsKeyword(words[1], "CHANNELS")) {
    return ErrorReply("ERR the in-process node knows PUBSUB CHANNELS with a pattern");
  }
  std::set<std::string> channels;
  for (const auto& [number, subscription] : subscriptions_) {
    if (GlobMatches(words[2], subscription.channel)) channels.insert(subscription.channel);
  }
  std::vector<redis::Reply> items;
  for (const std::string& channel : channels) items.push_back(BulkReply(channel).reply);
  return ArrayReply(std::move(items));
}

uint64_t RedisModel::Subscribe(std::string_view channel, Subscriber subscriber) {
  subscriptions_.emplace(next_subscription_,
                         Subscription{std::string(channel), std::move(subscriber)});
  return next_subscription_++;
}

void RedisModel::Unsubscribe(uint64_t subscription) { subscriptions_.erase(subscription); }

void RedisModel::LoadCompiledScripts() {
  for (const CompiledScript* script : lua_.compiled()) known_scripts_.emplace(script->sha1, script);
}

void RedisModel::Restart() {
  ForgetScripts();
  life_.run_id = core::Hex16(++starts_) + std::string(24, digit_);
  life_.evicted_keys = 0;
  life_.started = clock_.Now();
}

void RedisModel::RestartEmpty() {
  keys_.Clear();
  Restart();
}

CommandReply RedisModel::RefusalOf(const CommandSpec& spec) const {
  if (IsWrite(spec) && !write_refusal_.empty()) {
    return ErrorReply(write_refusal_);
  }
  if (spec.kind == CommandKind::kWriteGrowing && memory_ == MemoryState::kFull) {
    return ErrorReply("OOM command not allowed when used memory > 'maxmemory'.");
  }
  return NilReply();
}

CommandReply RedisModel::Eval(Words words, ScriptNamedBy named_by) {
  size_t key_count = 0;
  if (named_by == ScriptNamedBy::kDigest && words[1].size() != kDigestLength) {
    return UnknownScript();
  }
  if (CommandReply fault = CheckKeyCount(words, key_count); fault.is_error()) return fault;
  if (named_by == ScriptNamedBy::kText) {
    const LuaScripts::Compilation compilation = Load(words[1]);
    if (!compilation.script) return ErrorReply(compilation.error);
    return RunScript(*compilation.script, words, key_count);
  }
  const auto known = known_scripts_.find(words[1]);
  if (known == known_scripts_.end()) return UnknownScript();
  return RunScript(*known->second, words, key_count);
}

LuaScripts::Compilation RedisModel::Load(std::string_view text) {
  LuaScripts::Compilation compilation = lua_.Compile(text);
  if (compilation.script) known_scripts_.emplace(compilation.script->sha1, compilation.script);
  return compilation;
}

CommandReply RedisModel::ScriptCommand(Words words) {
  if (words.size() == 3 && IsKeyword(words[1], "LOAD")) {
    const LuaScripts::Compilation compilation = Load(words[2]);
    if (!compilation.script) return ErrorReply(compilation.error);
    return BulkReply(compilation.script->sha1);
  }
  if (words.size() == 2 && IsKeyword(words[1], "FLUSH")) {
    ForgetScripts();
    return StatusReply("OK");
  }
  return ErrorReply("ERR the in-process node knows SCRIPT LOAD and SCRIPT FLUSH");
}

CommandReply RedisModel::RunScript(const CompiledScript& script, Words words, size_t key_count) {
  if (script.writes == ScriptWrites::kYes && !write_refusal_.empty()) {
    return ErrorReply(write_refusal_);
  }
  if (script.memory == ScriptMemory::kNeeded && memory_ == MemoryState::kFull) {
    return ErrorReply(
        "OOM allow-oom flag is not set on the script, can not run it when used memory > "
        "'maxmemory'");
  }
  const Words keys = words.subspan(kFirstKeyOfEval, key_count);
  const Call call{script, keys};
  running_ = &call;
  CommandReply reply{lua_.Run(script, {keys, words.subspan(kFirstKeyOfEval + key_count)}, *this)};
  running_ = nullptr;
  return reply;
}

CommandReply RedisModel::CallFromScript(Words words) {
  ++commands_in_scripts_;
  const CommandSpec* spec = FindCommand(words[0]);
  if (!spec) return ErrorReply("ERR Unknown Redis command called from script");
  if (!ArityFits(*spec, words)) {
    return ErrorReply("ERR Wrong number of args calling Redis command from script");
  }
  if (spec->kind == CommandKind::kScripting) {
    return ErrorReply("ERR This Redis command is not allowed from script");
  }
  if (IsWrite(*spec) && running_->script.writes == ScriptWrites::kNo) {
    return ErrorReply("ERR Write commands are not allowed from read-only scripts.");
  }
  for (const std::string_view key : KeysOf(*spec, words)) {
    // Redis itself notices this in a Cluster only, and there not always.
    if (std::find(running_->keys.begin(), running_->keys.end(), key) == running_->keys.end()) {
      return ErrorReply("ERR the script touches a key that is not in KEYS: " + std::string(key));
    }
  }
  return Dispatch(*spec, words);
}

}  // namespace lockkeeper::support
