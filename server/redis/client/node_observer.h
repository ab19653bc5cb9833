// SPDX-License-Identifier: Apache-2.0
//
// What a Redis node tells the outside, besides its health: the composition root makes log records
// and metrics of it.
#pragma once

#include <cstddef>
#include <optional>
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

  // A connection of the pool is ready; after the first time, it is ready again.
  virtual void OnConnected(size_t connection, std::string_view server_version) = 0;

  // It was ready and broke.
  virtual void OnConnectionLost(size_t connection, const StoreProblem& problem) = 0;

  // A try to connect failed; it goes on trying.
  virtual void OnConnectFailed(size_t connection, const StoreProblem& problem) = 0;

  // The server did not know the script any more, so it was loaded once more.
  virtual void OnScriptLoadedAgain(std::string_view script) = 0;

  // Replicas were asked for `elapsed` to confirm what the server had replied to.
  virtual void OnConfirmationEnded(bool confirmed, core::Micros elapsed) = 0;

  // The server was asked what it is like, as it is about once a second, and has begun to answer,
  // `elapsed` after the question. `clock`: what its clock showed meanwhile; nothing if it does not
  // tell.
  virtual void OnLooked(core::Micros elapsed, std::optional<core::NodeTime> clock) = 0;

  // `elapsed` is the time from the call of Node::Run to its end.
  virtual void OnScriptCallEnded(std::string_view script, ScriptCallEnd end,
                                 core::Micros elapsed) = 0;
};

}  // namespace lockkeeper::redis
