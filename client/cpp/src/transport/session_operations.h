// SPDX-License-Identifier: Apache-2.0
//
// Operations by a session, one at a time, that is opened when it is first needed; by unary calls
// while there is none. Knows when to use which; what a session does is in the link.
//
// An operation that was never sent goes on by a unary call when its session ends. One that was sent
// is left to its caller, who repeats it under the same lease id.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "renewal/backoff.h"
#include "renewal/scheduler.h"
#include "transport/session_link.h"

namespace lockkeeper::client {

// Lifetime: borrows.
struct SessionPorts {
  const Clock& clock;
  Scheduler& scheduler;
  Jitter& jitter;
};

// Thread-safety: thread-safe, but for destroying. Lifetime: borrows `unary` and the ports.
class SessionOperations final : public Operations, private SessionLinkOwner {
 public:
  using NewStream =
      std::function<std::shared_ptr<SessionStream>(std::shared_ptr<SessionEvents> events)>;

  struct Settings {
    std::string owner;                  // Names the client for people.
    std::function<void()> on_draining;  // The daemon stops: another one should be used.
  };

  SessionOperations(const SessionPorts& ports, Operations& unary, NewStream new_stream,
                    Settings settings);
  // Requires: nothing is under way, see Close.
  ~SessionOperations() override = default;

  void Run(OperationPtr operation) override;
  void Cancel(const OperationPtr& operation) override;

  // Ends the sessions and waits until the last `done` has run. No call may come after it.
  void Close();

 private:
  // The session to use, which is opened if there should be one. Null: none now.
  std::shared_ptr<SessionLink> CurrentLink();

  void OnOpened(SessionLink& link) override;
  void OnDraining(SessionLink& link) override;
  void OnBroken(SessionLink& link, SessionPolicy::End end,
                std::vector<OperationPtr> unsent) override;
  void OnGone(SessionLink& link) override;

  const SessionPorts ports_;
  Operations& unary_;
  const NewStream new_stream_;
  const Settings settings_;

  std::mutex mutex_;
  std::condition_variable all_gone_;
  SessionPolicy policy_;                             // Guarded by mutex_, as all below.
  std::shared_ptr<SessionLink> link_;                // The one to use. Null: none.
  bool open_ = false;                                // It is.
  std::vector<std::shared_ptr<SessionLink>> links_;  // That are not gone.
  bool closed_ = false;
};

}  // namespace lockkeeper::client
