// SPDX-License-Identifier: Apache-2.0
//
// Calls scripts by their digest. A server that does not know a script (any more: restart, failover,
// SCRIPT FLUSH) is told its text and asked once more. This is the one place that knows NOSCRIPT.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "loop/event_loop.h"
#include "redis/client/lane.h"
#include "redis/client/node_observer.h"
#include "redis/node/command.h"
#include "redis/node/node.h"

namespace lockkeeper::redis {

// The script calls of one lane.
//
// Thread-safety: loop-thread only. Lifetime: borrows its collaborators; to be destroyed when the
// lane was closed and nothing was sent since, so that no answer is to come.
class ScriptCaller {
 public:
  ScriptCaller(loop::EventLoop& loop, Lane& lane, NodeObserver& observer);

  // Completion and errors: see Node::Run.
  void Run(const ScriptSource& script, Command command, ReplyDone done);

 private:
  // A SCRIPT LOAD that was sent to mend a NOSCRIPT.
  struct Load {
    bool in_flight = false;
    std::string error;  // Of the last one; empty if it succeeded.
  };
  struct Call;

  void Send(std::unique_ptr<Call> call);
  void OnReply(std::unique_ptr<Call> call, absl::StatusOr<Reply> reply);
  void LoadAgain(const ScriptSource& script);
  void Finish(Call& call, absl::StatusOr<Reply> reply);

  loop::EventLoop& loop_;
  Lane& lane_;
  NodeObserver& observer_;
  std::map<std::string_view, Load> loads_;  // By digest.
};

}  // namespace lockkeeper::redis
