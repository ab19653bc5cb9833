// SPDX-License-Identifier: Apache-2.0
#include "rpc/session_progress.h"

#include <utility>

#include "core/errors.h"
#include "core/limits.h"

namespace lockkeeper::rpc {

using core::limits::kOperationsOfSessionsMax;
using core::limits::kSessionBatchMax;
using core::limits::kSessionNotesMax;

SessionProgress::Step SessionProgress::Next() {
  Step step;
  if (end_) {
    if (!on_loop_ && !writing_ && !std::exchange(finished_, true)) step.finish = end_;
    return step;
  }
  if (closing_ == Closing::kWaiting && Idle()) {
    closing_ = Closing::kReleasing;
    step.release = true;
  }
  if (!writing_) step.write = outbox_.Next();
  if (step.write != nullptr) writing_ = true;
  const bool crowded = Crowded();
  if (step.write != nullptr) return step;
  step.cut_off = crowded && outbox_.unread() > kSessionBatchMax;
  if (!step.cut_off && outbox_.empty()) step.end = EndIfOver();
  return step;
}

// The final status, if the session has nothing left to do.
std::optional<absl::Status> SessionProgress::EndIfOver() const {
  const bool done = closing_ == Closing::kDone;
  const bool left = half_closed_ && closing_ == Closing::kNo && Idle();
  if (done || left) return absl::OkStatus();
  // The client keeps nothing here that it would have to move to another daemon.
  if (draining_ && leases_ == 0 && Idle()) return core::Draining();
  return std::nullopt;
}

// Each session is bounded, but there may be many.
bool SessionProgress::Crowded() {
  const int64_t kept = outbox_.kept() + notes_;
  return registry_.AddKept(kept - std::exchange(kept_, kept)) > kOperationsOfSessionsMax;
}

bool SessionProgress::EnterLoop() {
  on_loop_ = !end_;
  return on_loop_;
}

void SessionProgress::Written() {
  writing_ = false;
  outbox_.Sent();
}

bool SessionProgress::HasTooManyNotes() {
  return notes_ >= kSessionNotesMax || (notes_ > kSessionBatchMax && Crowded());
}

bool SessionProgress::StopReading() {
  reads_no_more_ = HasTooManyNotes();
  return reads_no_more_;
}

bool SessionProgress::FinishNote() {
  --notes_;
  return reads_no_more_ && !StopReading();
}

bool SessionProgress::StartBeat(uint64_t number) {
  (beat_ ? next_beat_ : beat_) = number;
  return !next_beat_;
}

bool SessionProgress::FinishBeat(v1::SessionHeartbeatResult result) {
  result.set_number(*beat_);
  outbox_.AddHeartbeatResult(std::move(result));
  beat_ = std::exchange(next_beat_, std::nullopt);
  return beat_.has_value();
}

bool SessionProgress::Close() {
  if (closing()) return false;
  closing_ = Closing::kWaiting;
  return true;
}

void SessionProgress::Closed(int32_t released) {
  closing_ = Closing::kDone;
  v1::SessionClosed closed;
  closed.set_released(released);
  outbox_.SetClosed(std::move(closed));
}

void SessionProgress::Drain(v1::SessionDraining message) {
  draining_ = true;
  outbox_.SetDraining(std::move(message));
}

bool SessionProgress::End(SessionEnding ending) {
  if (end_) return false;
  end_ = std::move(ending);
  return true;
}

}  // namespace lockkeeper::rpc
