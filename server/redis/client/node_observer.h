// SPDX-License-Identifier: Apache-2.0
//
// What a Redis node tells the outside, besides its health: the composition root makes log records
// and metrics of it.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/types.h"
#include "redis/client/store_problem.h"

namespace lockkeeper::redis {

enum class ScriptCallEnd {
  kAnswered,
  kErrorReply,
  kNotSent,     // STORE_UNAVAILABLE
  kUnanswered,  // OUTCOME_UNKNOWN
};

// Thread-safety: called on the loop's thread; must not block nor call the node.
class NodeObserver {
 public:
  virtual ~NodeObserver() = default;

  // A lane has a connection that is ready; after the first time, it has it again.
  virtual void OnConnected(size_t lane, std::string_view server_version) = 0;

  // A lane's connection was ready and broke.
  virtual void OnConnectionLost(size_t lane, const StoreProblem& problem) = 0;

  // A lane's try to connect failed; it goes on trying.
  virtual void OnConnectFailed(size_t lane, const StoreProblem& problem) = 0;

  // The server did not know the script any more, so it was loaded once more.
  virtual void OnScriptLoadedAgain(std::string_view script) = 0;

  // `elapsed` is the time from the call of Node::Run to its end.
  virtual void OnScriptCallEnded(std::string_view script, ScriptCallEnd end,
                                 core::Micros elapsed) = 0;
};

}  // namespace lockkeeper::redis
