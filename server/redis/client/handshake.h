// SPDX-License-Identifier: Apache-2.0
//
// What is said on a new connection before it carries commands: who we are, what the server is and
// whether locks may be kept there, and the scripts. Knows no socket: commands out, replies in.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "redis/client/redis_url.h"
#include "redis/client/server_facts.h"
#include "redis/client/store_problem.h"
#include "redis/node/command.h"
#include "redis/node/reply.h"

namespace lockkeeper::redis {

struct ScriptSource;

// SCRIPT LOAD of one script.
Command LoadCommand(const ScriptSource& script);

// Two pipelines: the first tells what the server is, the second loads the scripts and asks for
// rights; who is only asked gets the first one only. Then the server is judged.
// Thread-safety: not thread-safe. Lifetime: borrows the scripts.
class Handshake {
 public:
  // `client_name` is what CLIENT LIST shows; no spaces. Keys and channels begin with `key_prefix`.
  Handshake(const RedisUrl& url, const std::string& client_name, const std::string& key_prefix,
            std::span<const ScriptSource> scripts, Expected expected = Expected::kServer);

  // What to send next, after the previous pipeline has been answered. Empty: it has succeeded.
  std::vector<Command> NextPipeline();

  // The reply to the first command without one. A problem ends the handshake.
  std::optional<StoreProblem> OnReply(Reply reply);

  const ServerFacts& facts() const { return facts_; }

 private:
  // What a reply is to the handshake.
  enum class Step { kMustSucceed, kMayFail, kInfo, kRole, kConfig, kRights, kSentinelInfo };
  struct Awaited {
    Step step;
    std::string command;  // As errors name it.
  };
  enum class Phase { kIdentify, kLoadScripts, kDone };

  void AskSentinel(std::vector<Command>& pipeline);
  void AskServer(std::vector<Command>& pipeline);
  void Add(std::vector<Command>& pipeline, Step step, std::string name, Command command);
  std::vector<Command> Identify();
  std::vector<Command> LoadScripts();

  const RedisUrl url_;
  const std::string client_name_;
  const std::string key_prefix_;
  const std::span<const ScriptSource> scripts_;
  const Expected expected_;
  Phase phase_ = Phase::kIdentify;
  std::deque<Awaited> awaited_;
  ServerFacts facts_;
};

}  // namespace lockkeeper::redis
