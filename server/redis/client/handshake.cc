// SPDX-License-Identifier: Apache-2.0
#include "redis/client/handshake.h"

#include <string_view>
#include <utility>

#include "redis/client/rights.h"
#include "redis/node/error_reply.h"
#include "redis/scripts.h"

namespace lockkeeper::redis {
namespace {

// Whether it is a server that locks are kept at.
bool LoadsScripts(Expected expected) {
  return expected != Expected::kSentinel && expected != Expected::kClusterServer;
}

}  // namespace

Command LoadCommand(const ScriptSource& script) {
  return Command::Of({"SCRIPT", "LOAD", script.text});
}

Handshake::Handshake(const RedisUrl& url, const std::string& client_name,
                     const std::string& key_prefix, std::span<const ScriptSource> scripts,
                     Expected expected)
    : url_(url),
      client_name_(client_name),
      key_prefix_(key_prefix),
      scripts_(scripts),
      expected_(expected) {}

std::vector<Command> Handshake::NextPipeline() {
  const bool loads_scripts = phase_ == Phase::kIdentify && LoadsScripts(expected_);
  switch (std::exchange(phase_, loads_scripts ? Phase::kLoadScripts : Phase::kDone)) {
    case Phase::kIdentify:
      return Identify();
    case Phase::kLoadScripts:
      return LoadScripts();
    case Phase::kDone:
      break;
  }
  return {};
}

std::vector<Command> Handshake::Identify() {
  std::vector<Command> pipeline;
  const text::Secret secret = url_.CurrentPassword();
  const std::string& password = secret.reveal();
  if (!url_.user.empty()) {
    Add(pipeline, Step::kMustSucceed, "AUTH", Command::Of({"AUTH", url_.user, password}));
  } else if (!password.empty()) {
    Add(pipeline, Step::kMustSucceed, "AUTH", Command::Of({"AUTH", password}));
  }
  if (expected_ == Expected::kSentinel) {
    AskSentinel(pipeline);
  } else {
    AskServer(pipeline);
  }
  return pipeline;
}

void Handshake::AskSentinel(std::vector<Command>& pipeline) {
  Add(pipeline, Step::kMustSucceed, "PING",
      Command::Of({"PING"}));  // Says whether it wants a password.
  Add(pipeline, Step::kSentinelInfo, "INFO", Command::Of({"INFO", "server"}));
  Add(pipeline, Step::kMayFail, "CLIENT SETNAME", Command::Of({"CLIENT", "SETNAME", client_name_}));
}

void Handshake::AskServer(std::vector<Command>& pipeline) {
  const std::string database = std::to_string(url_.database);
  if (url_.database != 0) {
    Add(pipeline, Step::kMustSucceed, "SELECT " + database, Command::Of({"SELECT", database}));
  }
  for (const std::string_view section : kInfoSections) {
    Add(pipeline, Step::kInfo, "INFO", Command::Of({"INFO", section}));
  }
  Add(pipeline, Step::kRole, "ROLE", Command::Of({"ROLE"}));
  Add(pipeline, Step::kConfig, "CONFIG GET", ConfigQuestion());
  Add(pipeline, Step::kMayFail, "CLIENT SETNAME", Command::Of({"CLIENT", "SETNAME", client_name_}));
  // Under memory pressure others' connections go first.
  Add(pipeline, Step::kMayFail, "CLIENT NO-EVICT", Command::Of({"CLIENT", "NO-EVICT", "ON"}));
}

void Handshake::Add(std::vector<Command>& pipeline, Step step, std::string name, Command command) {
  pipeline.push_back(std::move(command));
  awaited_.push_back({step, std::move(name)});
}

std::vector<Command> Handshake::LoadScripts() {
  std::vector<Command> pipeline;
  for (const ScriptSource& script : scripts_) {
    pipeline.push_back(LoadCommand(script));
    awaited_.push_back({Step::kMustSucceed, "SCRIPT LOAD of " + std::string(script.name)});
  }
  pipeline.push_back(RightsQuestion(key_prefix_));
  awaited_.push_back({Step::kRights, "EVALSHA"});
  return pipeline;
}

std::optional<StoreProblem> Handshake::OnReply(Reply reply) {
  const Awaited awaited = std::move(awaited_.front());
  awaited_.pop_front();
  const bool error = reply.type == Reply::Type::kError;
  if (error && (awaited.step == Step::kMustSucceed || awaited.step == Step::kInfo)) {
    return ProblemOfErrorReply(awaited.command, reply.text, expected_);
  }
  switch (awaited.step) {
    case Step::kInfo:
    case Step::kSentinelInfo:
      if (!error) AddInfo(reply.text, facts_.info);
      break;
    case Step::kRole:
      facts_.role = std::move(reply);
      break;
    case Step::kConfig:
      if (!error) facts_.config = std::move(reply);
      break;
    case Step::kRights:
      // Judge() explains better why scripts cannot run. Only a missing right is explained here.
      if (error && ErrorWord(reply.text) == "NOPERM") {
        return ProblemOfErrorReply(awaited.command, reply.text, expected_);
      }
      facts_.missing_rights = MissingRights(reply, key_prefix_);
      break;
    case Step::kMustSucceed:
    case Step::kMayFail:
      break;
  }
  const Phase last = LoadsScripts(expected_) ? Phase::kLoadScripts : Phase::kDone;
  if (phase_ == last && awaited_.empty()) return Judge(facts_, expected_);
  return std::nullopt;
}

}  // namespace lockkeeper::redis
