// SPDX-License-Identifier: Apache-2.0
//
// Tells the judge what the store decided, as it decides it: who joins a line, who leaves it, and
// who is given a lock. It reads the commands that daemons send and the records that they leave.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "redis/key_layout.h"
#include "redis/reply.h"
#include "simulation/judge.h"
#include "support/fake_node/redis_model.h"

namespace lockkeeper::simulation {

class LineWatch {
 public:
  LineWatch(support::RedisModel& server, const core::Clock& clock, Judge& judge)
      : server_(server), clock_(clock), judge_(judge) {}

  // The daemon with this id runs at the place `index`.
  void DaemonIs(const std::string& daemon_id, int index) { daemons_[daemon_id] = index; }

  // The node has executed a command.
  void Executed(const std::vector<std::string_view>& words, const redis::Reply& reply);

  int64_t KeysInStore();
  uint64_t executed() const { return executed_; }

 private:
  void OnScript(std::string_view name, const std::vector<std::string_view>& words,
                const redis::Reply& reply);
  void OnOperation(std::string_view script, const std::string& lock,
                   const std::vector<std::string_view>& arguments, const redis::Reply* replies);
  void LookAtRecord(const std::string& lock);

  support::RedisModel& server_;
  const core::Clock& clock_;
  Judge& judge_;
  const redis::KeyLayout keys_{"lk:"};
  std::map<std::string, int> daemons_;
  std::map<std::string, int64_t> tokens_;  // Last seen in each record.
  uint64_t executed_ = 0;
};

}  // namespace lockkeeper::simulation
