// SPDX-License-Identifier: Apache-2.0
//
// The state machine of a session: what it sends next, when it releases its leases, when and how it
// ends. It only decides; the reactor does what Next() says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "lockkeeper/v1/lock_service.pb.h"
#include "rpc/session_outbox.h"
#include "rpc/session_registry.h"

namespace lockkeeper::rpc {

// How a session ends: with a status, or because its client is gone.
struct SessionEnding {
  absl::Status status;
  bool cancelled = false;
};

// Thread-safety: thread-compatible. Lifetime: borrows `registry`.
class SessionProgress {
 public:
  explicit SessionProgress(SessionRegistry& registry) : registry_(registry) {}
  ~SessionProgress() { registry_.AddKept(-kept_); }
  SessionProgress(const SessionProgress&) = delete;
  SessionProgress& operator=(const SessionProgress&) = delete;

  // What must be done now. At most one field besides `release` is set; do it last, because it may
  // destroy the session.
  struct Step {
    bool release = false;                        // Release the leases on the loop.
    const v1::SessionResponse* write = nullptr;  // Write this, and then call Written().
    bool cut_off = false;                        // The client does not read: TooManyUnread().
    std::optional<absl::Status> end;             // The session is over: call End().
    std::optional<SessionEnding> finish;         // Nothing holds the session any more. Told once.
  };
  Step Next();

  SessionOutbox& outbox() { return outbox_; }
  // Whether all sessions together keep too much. Tells the registry what this one keeps.
  bool Crowded();

  // The session has work on the loop from now on. False if it has already ended.
  bool EnterLoop();
  // It has no work on the loop any more, and gets none.
  void LeaveLoop() { on_loop_ = false; }

  void Written();
  // The client sends no more.
  void HalfClose() { half_closed_ = true; }
  // How many leases the session keeps. Call it before the answer that brings a lease.
  void SetLeases(size_t leases) { leases_ = leases; }
  size_t leases() const { return leases_; }

  // A note has arrived: a cancel or a forget, which has no answer.
  void StartNote() { ++notes_; }
  // It is carried out. True if the client's messages must be read again.
  bool FinishNote();
  // Whether the client's next message must not be read before a note is carried out.
  bool StopReading();

  // A heartbeat has arrived. False if another one is in progress: the newest is next then.
  bool StartBeat(uint64_t number);
  // The heartbeat in progress is done. True if another one must be carried out.
  bool FinishBeat(v1::SessionHeartbeatResult result);

  // The client closes the session. False if it has done so before.
  bool Close();
  bool closing() const { return closing_ != Closing::kNo; }
  // The leases are released.
  void Closed(int32_t released);

  void Drain(v1::SessionDraining message);
  // Asks the client to go on in a new session. It ends this one itself.
  void AskToMove() { outbox_.SetDraining({}); }

  // False if it is already ending.
  bool End(SessionEnding ending);
  bool ending() const { return end_.has_value(); }

 private:
  enum class Closing { kNo, kWaiting, kReleasing, kDone };

  bool Idle() const { return outbox_.unanswered() == 0 && notes_ == 0 && !beat_; }
  bool HasTooManyNotes();
  std::optional<absl::Status> EndIfOver() const;

  SessionRegistry& registry_;
  SessionOutbox outbox_;
  int64_t kept_ = 0;  // As the registry knows it.
  bool writing_ = false;
  int32_t notes_ = 0;           // Not carried out yet.
  bool reads_no_more_ = false;  // Because of them.
  bool half_closed_ = false;
  bool draining_ = false;
  Closing closing_ = Closing::kNo;
  std::optional<uint64_t> beat_;  // The number of the heartbeat that is under way.
  std::optional<uint64_t> next_beat_;
  size_t leases_ = 0;
  bool on_loop_ = false;
  std::optional<SessionEnding> end_;  // Set once the session is ending.
  bool finished_ = false;
};

}  // namespace lockkeeper::rpc
