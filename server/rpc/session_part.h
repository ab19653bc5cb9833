// SPDX-License-Identifier: Apache-2.0
//
// The bridge between a session's stream and what the session does in one shard: posts to the
// shard's thread, and brings answers back from there. It lives until the shard has heard that the
// stream is gone, whatever is still under way.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/executor.h"
#include "core/session.h"
#include "core/shard.h"
#include "lockkeeper/v1/lock_service.pb.h"
#include "telemetry/metrics.h"

namespace lockkeeper::rpc {

// What shards tell a stream. Thread-safety: called on their threads.
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
  SessionPart(SessionStream& stream, core::Shard& shard, const core::Clock& clock,
              const std::string& principal, telemetry::Gauge leases_gauge)
      : stream_(&stream),
        executor_(shard.executor),
        leases_gauge_(leases_gauge),
        session_(std::make_shared<core::Session>(shard.locks, clock, principal, *this)) {}

  // All of these are carried out on the shard's thread, in the order of the calls.
  void Run(std::vector<core::SessionOperation> operations);
  void Cancel(uint64_t operation_id);
  // `result` has name and lease id; OnAdopted gets the rest.
  void Adopt(core::ExtendRequest request, v1::SessionAdoptResult result);
  void Heartbeat();
  void LeaveLines();
  void End(bool release_leases);
  void Break();

  // Lets the stream advance when the shard comes to it.
  void Nudge();

  // Leases that the session keeps here. A lease is counted before its answer is told.
  size_t leases() const { return leases_; }

  void OnAnswer(const core::AnsweredOperation& operation,
                absl::StatusOr<core::SessionAnswer> answer) override;

 private:
  template <typename Task>
  void Post(Task task);
  // The session keeps so many leases now.
  void SetLeases(size_t leases);
  // Lets the stream send at the end of the turn what was answered in it. On the shard's thread.
  void AdvanceSoon();

  // Of the shard's thread.
  SessionStream* stream_;  // Null once it is gone.
  core::Executor& executor_;
  const telemetry::Gauge leases_gauge_;  // Of the leases of all sessions.
  const std::shared_ptr<core::Session> session_;
  bool advancing_ = false;

  std::atomic<size_t> leases_ = 0;
};

}  // namespace lockkeeper::rpc
