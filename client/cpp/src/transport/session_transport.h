// SPDX-License-Identifier: Apache-2.0
//
// Runs operations in a session, which is opened when it is first needed, and by unary calls while
// there is no session. Decides which of the two to use; SessionLink is one session.
//
// When a session ends, its operations that were never sent continue as unary calls. Those that were
// sent fail, and their caller repeats them with the same lease id.
#pragma once

#include <condition_variable>
#include <cstdint>
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

// Thread-safety: thread-safe, except destroying. Lifetime: borrows `unary` and the ports.
class SessionTransport final : public Transport, private SessionLinkOwner {
 public:
  using NewStream =
      std::function<std::shared_ptr<SessionStream>(std::shared_ptr<SessionEvents> events)>;

  using LeaseEnded = std::function<void(const std::string& name, const std::string& lease_id)>;

  struct Settings {
    std::string owner;  // Names the client for people.
    // The daemon drains, or asks to move: use another one, if there is. The next operation opens a
    // new session in any case.
    std::function<void()> on_draining;
    // The daemon says, without being asked, that a lease has ended.
    LeaseEnded on_lease_ended = [](const auto&, const auto&) {};
    // Changes when a new token must be shown. A session keeps the one that it was opened with, so
    // it is replaced then.
    std::function<uint64_t()> token_version = [] { return 0; };
  };

  SessionTransport(const SessionPorts& ports, Transport& unary, NewStream new_stream,
                   Settings settings);
  // Requires: Close was called, or nothing is in flight.
  ~SessionTransport() override = default;

  void Run(PendingOperationPtr operation) override;
  void Cancel(const PendingOperationPtr& operation) override;

  // As SessionLink::Forget, in all sessions.
  void Forget(const std::string& name, const std::string& lease_id);

  // Ends the sessions and waits until the last `done` has run. Must be the last call.
  void Close();

 private:
  // The session to use; opens one if the policy allows. Null if there is none at the moment.
  std::shared_ptr<SessionLink> CurrentLink();

  void OnOpened(SessionLink& link) override;
  void OnDraining(SessionLink& link) override;
  void OnLeaseEnded(SessionLink& link, const std::string& name,
                    const std::string& lease_id) override;
  void OnBroken(SessionLink& link, SessionPolicy::End end,
                std::vector<PendingOperationPtr> unsent) override;
  void OnGone(SessionLink& link) override;

  const SessionPorts ports_;
  Transport& unary_;
  const NewStream new_stream_;
  const Settings settings_;

  std::mutex mutex_;
  std::condition_variable all_gone_;
  SessionPolicy policy_;                             // Guarded by mutex_, as all below.
  std::shared_ptr<SessionLink> link_;                // The session in use. Null if there is none.
  uint64_t token_version_ = 0;                       // That link_ was opened with.
  bool open_ = false;                                // Whether link_ is open.
  std::vector<std::shared_ptr<SessionLink>> links_;  // All that have not ended.
  bool closed_ = false;
};

}  // namespace lockkeeper::client
