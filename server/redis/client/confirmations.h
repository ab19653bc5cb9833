// SPDX-License-Identifier: Apache-2.0
//
// Lets a server confirm that replicas have what it has replied to (WAIT). WAIT blocks the
// connection that sends it, so it has one of its own, and there it counts only what this connection
// itself has written: hence a small write before it, which replicas get after everything that was
// replied to before.
//
// One round of write and wait serves all who asked before it began; who asks later is in the next
// one. After a round that was not confirmed nobody is kept waiting: probes find out when the server
// confirms again.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "loop/backoff.h"
#include "loop/event_loop.h"
#include "redis/client/connection.h"
#include "redis/client/reconnecting_connection.h"

namespace lockkeeper::redis {

struct ConfirmationsOptions {
  int replicas = 1;                  // How many have to acknowledge, 1 at least.
  std::function<std::string()> key;  // The key that it writes in the next round. It expires.
  // The longest that a round waits, less than the connection's request_timeout. At least 1 ms.
  core::Millis round_max{500};
  core::Millis probe_interval{500};
};

// Thread-safety: loop-thread only. Lifetime: borrows the loop and the listener.
class Confirmations final : private ReconnectingConnection::Listener {
 public:
  using Done = absl::AnyInvocable<void(bool confirmed) &&>;

  class Listener {
   public:
    virtual ~Listener() = default;
    // problem() or confirms() has changed.
    virtual void OnConfirmationsChanged() = 0;
    // Its connection broke, or could not be made: the server may be no primary any more.
    virtual void OnConfirmationsBroken() = 0;
    virtual void OnRoundEnded(bool confirmed, core::Micros elapsed) = 0;
  };

  // Begins to connect, and probes the server then.
  Confirmations(loop::EventLoop& loop, ConnectionOptions connection, loop::Backoff backoff,
                ConfirmationsOptions options, Listener& listener);
  ~Confirmations() override;
  Confirmations(const Confirmations&) = delete;
  Confirmations& operator=(const Confirmations&) = delete;

  // Why the last round was not confirmed, or none can begin, for people: "has confirmed a write on
  // 0 of 1 replicas". Empty if it was confirmed, and before the first one has ended.
  const std::string& problem() const { return problem_; }

  // Whether the last round was confirmed. False before the first one has ended.
  bool confirms() const { return confirms_; }

  // Asks whether the server with this run id confirms what it has replied to so far. `done` runs
  // once, in a later turn, at `deadline` at the latest.
  void Confirm(std::string_view run_id, core::Instant deadline, Done done);

  // See ReconnectingConnection. All who have asked are answered that it did not confirm.
  void MoveTo(const RedisUrl& url, const StoreProblem& why);
  void Close();

 private:
  struct Asked {
    std::string run_id;
    core::Instant deadline;
    Done done;  // Empty once it has run.
  };
  struct Round;

  void OnReady(ReconnectingConnection& connection, const ServerFacts& facts) override;
  void OnDown(ReconnectingConnection& connection, Before before) override;
  void StartRoundAtEndOfTurn();
  void StartRound();
  void EndRound(Round& round);
  // What the server answered to WAIT as a problem; empty if it confirmed.
  std::string ProblemOf(const Reply& answer) const;
  void Learn(std::string problem);
  void ProbeLater();
  void WatchDeadlines(core::Instant earliest);
  void AnswerDue();
  void AnswerAll();

  loop::EventLoop& loop_;
  const ConfirmationsOptions options_;
  Listener& listener_;
  std::string problem_;
  bool confirms_ = false;
  std::string run_id_;            // Of the server; empty without a connection.
  std::vector<Asked> waiting_;    // For the next round.
  std::shared_ptr<Round> round_;  // That runs; null if none does.
  bool round_scheduled_ = false;
  bool closed_ = false;
  std::unique_ptr<core::Timer> probe_timer_;
  core::Instant deadline_watched_ = core::Instant::max();
  std::unique_ptr<core::Timer> deadline_timer_;
  // False once this object is gone; late answers check it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  ReconnectingConnection connection_;
};

}  // namespace lockkeeper::redis
