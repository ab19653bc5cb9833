// SPDX-License-Identifier: Apache-2.0
#include "simulation/session_server.h"

#include <utility>
#include <variant>

#include "core/errors.h"
#include "simulation/acquire_answer.h"

namespace lockkeeper::simulation {

using core::ErrorReason;
using core::NotExtended;

SessionServer::SessionServer(World world, StreamToClient& stream)
    : world_(std::move(world)),
      stream_(&stream),
      session_(std::make_shared<core::Session>(world_.locks, world_.clock, "", *this)),
      watched_(session_) {}

void SessionServer::Run(core::SessionOperation operation) {
  ++unanswered_;
  if (auto* acquire = std::get_if<core::AcquireRequest>(&operation.request)) {
    acquire->keeper = world_.next_keeper();
    acquires_[operation.id] = TryOf(*acquire);
  }
  session_->Run(std::move(operation));
  AdvanceSoon();
}

void SessionServer::Cancel(uint64_t id) {
  const auto acquire = acquires_.find(id);
  if (acquire != acquires_.end()) world_.judge.Cancelled(acquire->second, world_.clock.Now());
  session_->Cancel(id);
  AdvanceSoon();
}

void SessionServer::Adopt(uint64_t id, core::ExtendRequest request) {
  ++unanswered_;
  request.keeper = world_.next_holder();
  session_->Adopt(std::move(request), [this, id](absl::StatusOr<core::Lease> lease) {
    if (SpeaksTooLate()) return;
    if (!lease.ok()) return Answer(id, lease.status());
    Answer(id, core::SessionAnswer(*std::move(lease)));
  });
}

void SessionServer::Heartbeat(uint64_t number) {
  if (beating_) {
    next_beat_ = number;
    return;
  }
  StartBeat(number);
}

void SessionServer::StartBeat(uint64_t number) {
  beating_ = true;
  session_->Heartbeat([this, number](absl::StatusOr<core::HeartbeatAnswer> answer) {
    if (!SpeaksTooLate()) OnBeat(number, *std::move(answer));
  });
}

void SessionServer::OnBeat(uint64_t number, core::HeartbeatAnswer answer) {
  beating_ = false;
  // As the outbox: an older one stays if it brings proofs; else the newest tells what is lost.
  if (!outbox_.beats.empty() && outbox_.beats.back().answer.proofs.empty()) {
    for (NotExtended& lost : outbox_.beats.back().answer.not_extended) {
      if (lost.reason == ErrorReason::kLeaseLost) answer.not_extended.push_back(std::move(lost));
    }
    outbox_.beats.pop_back();
  }
  outbox_.beats.push_back({number, std::move(answer)});
  if (next_beat_) StartBeat(*std::exchange(next_beat_, std::nullopt));
  AdvanceSoon();
}

void SessionServer::Close(bool release_leases) {
  closing_ = Closing::kWaiting;
  release_leases_ = release_leases;
  session_->LeaveLines();
  AdvanceSoon();
}

void SessionServer::HalfClose() {
  half_closed_ = true;
  AdvanceSoon();
}

void SessionServer::StartDraining() {
  if (!session_) return;
  draining_ = outbox_.draining = true;
  AdvanceSoon();
}

void SessionServer::OnAnswer(const core::AnsweredOperation& operation,
                             absl::StatusOr<core::SessionAnswer> answer) {
  if (SpeaksTooLate()) return;
  if (operation.kind == core::OperationKind::kAcquire) TellJudge(operation.id, answer);
  Answer(operation.id, std::move(answer));
}

// Whoever speaks to a stream that is gone would, in the real daemon, speak to freed memory.
bool SessionServer::SpeaksTooLate() {
  if (over_) return true;
  if (stream_ != nullptr) return false;
  world_.judge.Violation("a session spoke after its stream was gone");
  return true;
}

void SessionServer::Answer(uint64_t id, absl::StatusOr<core::SessionAnswer> answer) {
  world_.judge.CallAnswered(id);
  --unanswered_;
  outbox_.results.push_back({id, std::move(answer)});
  AdvanceSoon();
}

void SessionServer::TellJudge(uint64_t id, const absl::StatusOr<core::SessionAnswer>& answer) {
  const auto acquire = acquires_.extract(id);
  if (acquire.empty()) return;
  const auto told =
      answer.ok() ? absl::StatusOr<core::AcquireAnswer>(std::get<core::AcquireAnswer>(*answer))
                  : absl::StatusOr<core::AcquireAnswer>(answer.status());
  TellJudgeOfAnswer(world_.judge, acquire.mapped(), Caller::kListens, told, world_.clock.Now());
}

void SessionServer::AdvanceSoon() {
  if (stream_ == nullptr || std::exchange(advancing_, true)) return;
  world_.process.AtEndOfTurn([self = shared_from_this()] {
    self->advancing_ = false;
    self->Advance();
  });
}

void SessionServer::Advance() {
  if (stream_ == nullptr || over_) return;
  if (closing_ == Closing::kWaiting && Idle()) {
    closing_ = Closing::kReleasing;
    const auto done = [this](absl::StatusOr<int32_t>) {
      if (SpeaksTooLate()) return;
      closing_ = Closing::kDone;
      outbox_.closed = true;
      AdvanceSoon();
    };
    release_leases_ ? session_->ReleaseAll(done) : done(0);
  }
  if (!writing_ && !outbox_.empty()) {
    writing_ = true;
    stream_->Deliver(std::exchange(outbox_, {}), [self = shared_from_this()] {
      self->writing_ = false;
      self->Advance();
    });
  }
  const bool no_more =
      closing_ == Closing::kDone || (half_closed_ && closing_ == Closing::kNo && Idle());
  const bool drained = draining_ && session_->leases() == 0 && Idle();
  if ((no_more || drained) && !writing_ && outbox_.empty()) {
    StreamToClient* const stream = stream_;
    Break();
    stream->End();
  }
}

void SessionServer::Break() {
  const core::Instant now = world_.clock.Now();
  for (const auto& [id, acquire] : acquires_) {
    world_.judge.GivenUp(acquire, now);
    world_.judge.Answered(acquire, now);
  }
  acquires_.clear();
  stream_ = nullptr;
  session_->Break();
  session_ = nullptr;
}

}  // namespace lockkeeper::simulation
