// SPDX-License-Identifier: Apache-2.0
//
// A real server and the in-process one side by side, at exactly the same time, which stands still
// but for AdvanceBy. Each command goes to both, and their replies have to be the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/clock/server_clock.h"
#include "support/fake_node/redis_model.h"
#include "support/manual_clock.h"
#include "support/process/redis_connection.h"
#include "support/process/redis_server.h"

namespace lockkeeper::support {

class TwinServers {
 public:
  // `program` is the real server's.
  explicit TwinServers(const std::string& program);

  core::NodeTime Now() { return model_.clock().Now(); }
  void AdvanceBy(core::Micros duration);

  // Makes one client of each listen to a channel, as long as this object lives.
  void Subscribe(const std::string& channel);

  // What the in-process client has heard, "channel message".
  const std::vector<std::string>& heard() const { return heard_; }

  // Whether the real client has heard the same since this was last asked; a failure of the test
  // says what it heard.
  bool HeardTheSame();

  // Runs commands on both, in a pipeline on the real one. A failure of the test names the first
  // command whose replies differ; false then.
  bool RunAll(const std::vector<std::vector<std::string>>& commands);

  // Runs one command on both, which has to give the same reply.
  redis::Reply Run(const std::vector<std::string_view>& words);

  // The keys that SCAN finds on both, with `options` (MATCH, TYPE, COUNT) and a whole iteration on
  // each.
  struct Keys {
    std::vector<std::string> real;
    std::vector<std::string> model;
  };
  Keys ScanAll(const std::vector<std::string_view>& options);

 private:
  std::string Said(redis::Reply reply) const;

  ServerClock real_clock_;
  RedisServer real_;
  RedisConnection connection_;
  bool same_words_ = false;
  ManualClock manual_clock_;
  LuaScripts lua_;
  RedisModel model_{lua_, manual_clock_};
  std::vector<std::string> heard_;
  size_t compared_ = 0;
  std::optional<RedisConnection> listener_;
};

}  // namespace lockkeeper::support
