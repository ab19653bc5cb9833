// SPDX-License-Identifier: Apache-2.0
//
// One place in the pool: a connection, and a new one whenever it breaks, with growing pauses. What
// is sent through a lane is executed in the order of the calls, as long as no connection breaks.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "core/executor.h"
#include "loop/backoff.h"
#include "loop/event_loop.h"
#include "redis/client/connection.h"
#include "redis/client/server_facts.h"
#include "redis/client/store_problem.h"
#include "redis/node/node.h"

namespace lockkeeper::redis {

// Thread-safety: loop-thread only.
// Lifetime: borrows loop and listener; not to be destroyed inside a callback of its own.
class Lane : private Connection::Listener {
 public:
  // Never called inside the constructor or Send().
  class Listener {
   public:
    virtual ~Listener() = default;
    // `facts`: what the server told in the handshake.
    virtual void OnLaneReady(Lane& lane, const ServerFacts& facts) = 0;
    // `was_ready`: the connection had been ready, as opposed to a try that failed.
    enum class Before { kReady, kConnecting };
    virtual void OnLaneDown(Lane& lane, Before before) = 0;
  };

  Lane(loop::EventLoop& loop, ConnectionOptions options, loop::Backoff backoff, Listener& listener);
  ~Lane() override;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  bool ready() const;

  // Why it is not ready. Meaningless if it is.
  const StoreProblem& problem() const { return problem_; }

  // Completion and errors: see Node. STORE_UNAVAILABLE with the problem if the lane is not ready,
  // and if too much is in flight.
  void Send(std::string_view wire, ReplyDone done);

  // Ends the connection, for ever. What has no answer yet is answered inside this call, refusals
  // too; so is, by another Close(), what was sent since.
  void Close();

 private:
  struct Refusal {
    ReplyDone done;
    absl::Status why;
  };

  void Connect();
  void Refuse(const std::string& why, ReplyDone done);
  void TellOldestRefusal();
  void OnReady(const ServerFacts& facts) override;
  void OnBroken(const StoreProblem& problem) override;

  loop::EventLoop& loop_;
  const ConnectionOptions options_;
  loop::Backoff backoff_;
  Listener& listener_;
  StoreProblem problem_;
  bool closed_ = false;
  bool was_ready_ = false;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<core::Timer> reconnect_timer_;
  std::deque<Refusal> refusals_;  // To be told in the next turn.
  // What tasks hold that cannot be cancelled.
  std::shared_ptr<Lane*> self_;
};

}  // namespace lockkeeper::redis
