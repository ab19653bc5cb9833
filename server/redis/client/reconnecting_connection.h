// SPDX-License-Identifier: Apache-2.0
//
// A connection, and a new one whenever it breaks, with growing pauses. It can be moved to another
// server. What is sent through it is executed in the order of the calls, as long as it does not
// break.
//
// Scripts are called by their digest. A server that does not know a script (any more: restart,
// failover, SCRIPT FLUSH) is told its text and asked once more. This is the one place that knows
// NOSCRIPT.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/executor.h"
#include "loop/backoff.h"
#include "loop/event_loop.h"
#include "redis/client/connection.h"
#include "redis/client/node_observer.h"
#include "redis/client/server_facts.h"
#include "redis/client/store_problem.h"
#include "redis/node/command.h"
#include "redis/node/node.h"

namespace lockkeeper::redis {

// Thread-safety: loop-thread only.
// Lifetime: borrows loop and listener; not to be destroyed inside a callback of its own, nor while
// script calls are to be answered: Close() answers them.
class ReconnectingConnection : private Connection::Listener {
 public:
  // Never called inside the constructor or Send().
  class Listener {
   public:
    virtual ~Listener() = default;
    // `facts`: what the server told in the handshake.
    virtual void OnReady(ReconnectingConnection& connection, const ServerFacts& facts) = 0;
    // Of a connection that broke: kReady if it had been ready, kConnecting if it never was.
    enum class Before { kReady, kConnecting };
    virtual void OnDown(ReconnectingConnection& connection, Before before) = 0;
    // The server did not know a script any more, so it is loaded once more.
    virtual void OnScriptLoadedAgain(std::string_view /*script*/) {}
    // See NodeObserver. Before the call is answered.
    virtual void OnScriptCallEnded(std::string_view /*script*/, ScriptCallEnd /*end*/,
                                   core::Micros /*elapsed*/) {}
  };

  // Begins to connect, if the URL has an address.
  ReconnectingConnection(loop::EventLoop& loop, ConnectionOptions options, loop::Backoff backoff,
                         Listener& listener);
  ~ReconnectingConnection() override;
  ReconnectingConnection(const ReconnectingConnection&) = delete;
  ReconnectingConnection& operator=(const ReconnectingConnection&) = delete;

  bool ready() const;

  // Why it is not ready. Meaningless if it is.
  const StoreProblem& problem() const { return problem_; }

  // Completion and errors: see Node. STORE_UNAVAILABLE with the problem if it is not ready, and if
  // too much is in flight.
  void Send(std::string_view wire, ReplyDone done);

  // Ends the connection because of `why`, answers inside this call what is in flight, and connects
  // to the server at `url` in the next turn. To none if that has no address.
  void MoveTo(RedisUrl url, const StoreProblem& why);

  // Calls a script: see Node::Run.
  void Run(const ScriptSource& script, Command command, ReplyDone done);

  // Ends the connection for good. Answers inside this call what is in flight, and calls that were
  // rejected and not told yet. Another Close() answers what was sent since.
  void Close();

 private:
  struct Refusal {
    ReplyDone done;
    absl::Status why;
  };

  // A SCRIPT LOAD that was sent to mend a NOSCRIPT.
  struct Load {
    bool in_flight = false;
    std::string error;  // Of the last one; empty if it succeeded.
  };
  struct ScriptCall;

  StoreProblem Connecting() const;
  void Connect();
  void Refuse(const std::string& why, ReplyDone done);
  void TellOldestRefusal();
  void SendCall(std::unique_ptr<ScriptCall> call);
  void OnScriptReply(std::unique_ptr<ScriptCall> call, absl::StatusOr<Reply> reply);
  void LoadAgain(const ScriptSource& script);
  void Finish(ScriptCall& call, absl::StatusOr<Reply> reply);
  void OnReady(const ServerFacts& facts) override;
  void OnBroken(const StoreProblem& problem) override;

  loop::EventLoop& loop_;
  ConnectionOptions options_;
  loop::Backoff backoff_;
  Listener& listener_;
  StoreProblem problem_;
  bool closed_ = false;
  bool was_ready_ = false;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<core::Timer> reconnect_timer_;
  std::map<std::string_view, Load> loads_;  // By digest.
  std::deque<Refusal> refusals_;            // To be told in the next turn.
  // Posted tasks cannot be cancelled: they hold it weakly, and see whether this object is gone.
  std::shared_ptr<ReconnectingConnection*> self_;
};

}  // namespace lockkeeper::redis
