// SPDX-License-Identifier: Apache-2.0
//
// The bridge between a session's stream and what the session does on the loop's thread: posts
// there, and brings answers back. It lives until the loop has heard that the stream is gone,
// whatever is still under way.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/executor.h"
#include "core/session.h"
#include "lockkeeper/v1/lock_service.pb.h"
#include "rpc/service_deps.h"
#include "telemetry/metrics.h"

namespace lockkeeper::rpc {

// What the loop tells a stream. Thread-safety: called on the loop's thread.
class SessionStream {
 public:
  virtual ~SessionStream() = default;

  virtual void OnAnswer(const core::AnsweredOperation& operation,
                        absl::StatusOr<core::SessionAnswer> answer) = 0;
  virtual void OnAdopted(v1::SessionAdoptResult result) = 0;
  virtual void OnBeat(core::HeartbeatAnswer answer) = 0;
  virtual void OnEnded(int32_t released) = 0;

  // At the end of a turn with any of these.
  virtual void Advance() = 0;

  // The part has done what Break() asked, and calls no more.
  virtual void OnBroken() = 0;
};

// Thread-safety: thread-safe. Ownership: shared by the stream and by what is posted. Lifetime:
// borrows the stream until OnBroken, everything else for good.
class SessionPart final : public core::SessionListener,
                          public std::enable_shared_from_this<SessionPart> {
 public:
  SessionPart(SessionStream& stream, const ServiceDeps& deps, const std::string& principal)
      : stream_(&stream),
        executor_(deps.loop),
        leases_gauge_(deps.metrics.session_leases()),
        session_(std::make_shared<core::Session>(deps.locks, deps.clock, principal, *this)) {}

  // All of these are carried out on the loop's thread, in the order of the calls.
  void Run(std::vector<core::SessionOperation> operations);
  void Cancel(uint64_t operation_id);
  // `result` has name and lease id; OnAdopted gets the rest.
  void Adopt(core::ExtendRequest request, v1::SessionAdoptResult result);
  void Heartbeat();
  void LeaveLines();
  void End(bool release_leases);
  void Break();

  // Lets the stream advance when the loop comes to it.
  void Nudge();

  // Leases that the session keeps. A lease is counted before its answer is told.
  size_t leases() const { return leases_; }

  void OnAnswer(const core::AnsweredOperation& operation,
                absl::StatusOr<core::SessionAnswer> answer) override;

 private:
  template <typename Task>
  void Post(Task task);
  // The session keeps so many leases now.
  void SetLeases(size_t leases);
  // Lets the stream send at the end of the turn what was answered in it. On the loop's thread.
  void AdvanceSoon();

  // Of the loop's thread.
  SessionStream* stream_;  // Null once it is gone.
  core::Executor& executor_;
  const telemetry::Gauge leases_gauge_;  // Of the leases of all sessions.
  const std::shared_ptr<core::Session> session_;
  bool advancing_ = false;

  std::atomic<size_t> leases_ = 0;
};

}  // namespace lockkeeper::rpc
