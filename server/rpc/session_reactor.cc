// SPDX-License-Identifier: Apache-2.0
//
// The stream of a session, and its end. Its messages are in session_messages.cc.
#include "rpc/session_reactor.h"

#include <utility>

#include "core/errors.h"
#include "rpc/convert_duration.h"
#include "rpc/session_refusals.h"
#include "rpc/status_convert.h"

namespace lockkeeper::rpc {

SessionReactor::SessionReactor(const Edge& edge, SessionRegistry& registry,
                               grpc::CallbackServerContext& call)
    : edge_(edge),
      registry_(registry),
      call_(call),
      context_(edge, call),
      leases_of_all_(edge.deps.metrics.session_leases()),
      leases_lost_(edge.deps.metrics.session_leases_lost()),
      heartbeat_times_(edge.deps.metrics.session_heartbeats()),
      request_(google::protobuf::Arena::CreateMessage<v1::SessionRequest>(&request_arena_)),
      progress_(registry) {
  StartRead(request_);
}

SessionReactor::~SessionReactor() { registry_.Remove(*this); }

void SessionReactor::OnReadDone(bool ok) {
  if (!ok) {
    {
      const std::lock_guard lock(mutex_);
      progress_.HalfClose();
    }
    return Advance();
  }
  const absl::Status status = Handle(*request_);
  if (!status.ok()) return cut_off_ ? CutOff(status) : End({.status = status});
  request_arena_.Reset();
  request_ = google::protobuf::Arena::CreateMessage<v1::SessionRequest>(&request_arena_);
  ReadNext();
}

void SessionReactor::ReadNext() {
  {
    const std::lock_guard lock(mutex_);
    if (progress_.StopReading()) return;  // OnNoteDone goes on.
  }
  StartRead(request_);
}

void SessionReactor::OnNoteDone() {
  AdvanceAtEndOfTurn();
  {
    const std::lock_guard lock(mutex_);
    if (!progress_.FinishNote()) return;
  }
  StartRead(request_);
}

void SessionReactor::OnWriteDone(bool ok) {
  {
    const std::lock_guard lock(mutex_);
    progress_.Written();
  }
  // If it failed, the stream is gone, and OnCancel is called.
  if (ok) return Advance();
  End({.cancelled = true});
}

void SessionReactor::OnCancel() { End({.cancelled = true}); }

void SessionReactor::OnDraining(core::Millis remaining) {
  v1::SessionDraining message;
  ToProto(core::Micros(remaining), *message.mutable_remaining());
  {
    const std::lock_guard lock(mutex_);
    progress_.Drain(std::move(message));
  }
  Post([] {});  // To advance there: the registry must not be called from here.
}

void SessionReactor::AdvanceAtEndOfTurn() {
  if (std::exchange(advancing_, true)) return;
  edge_.deps.loop.AtEndOfTurn([this] { OnEndOfTurn(); });
}

void SessionReactor::OnEndOfTurn() {
  advancing_ = false;
  SessionProgress::Step step;
  {
    const std::lock_guard lock(mutex_);
    CountLeases(broken_ ? 0 : session_->leases());
    if (broken_) progress_.LeaveLoop();
    step = progress_.Next();
  }
  Do(step);
}

void SessionReactor::Advance() {
  SessionProgress::Step step;
  {
    const std::lock_guard lock(mutex_);
    step = progress_.Next();
  }
  Do(step);
}

// If the step is empty, another thread may have finished the session, and this object is gone.
void SessionReactor::Do(const SessionProgress::Step& step) {
  if (step.release) Post([this] { ReleaseAll(); });
  if (step.cut_off) {
    CutOff(TooManyUnread());
  } else if (step.write != nullptr) {
    StartWrite(step.write);
  } else if (step.end) {
    End({.status = *step.end});
  } else if (step.finish) {
    FinishWith(*step.finish);
  }
}

void SessionReactor::End(SessionEnding ending) {
  {
    const std::lock_guard lock(mutex_);
    if (progress_.End(std::move(ending)) && session_) {
      edge_.deps.loop.Post([this] {
        edge_.fair_share.Run(context_.caller().principal(), [this] {
          session_->Break();
          broken_ = true;
          move_timer_.reset();
          holds_.clear();
          AdvanceAtEndOfTurn();
        });
      });
    }
  }
  Advance();
}

void SessionReactor::CutOff(const absl::Status& status) {
  End({.status = status});
  call_.TryCancel();  // A status would wait behind what is not read.
}

void SessionReactor::FinishWith(const SessionEnding& ending) {
  const auto outcome = ending.cancelled     ? telemetry::Outcome::kCancelled
                       : ending.status.ok() ? telemetry::Outcome::kDone
                                            : telemetry::Outcome::kError;
  hold_ = {};
  context_.RecordAnswer(Verb::kOpenSession, {.owner = owner_}, outcome, ending.status);
  Finish(ending.cancelled ? grpc::Status::CANCELLED : ToGrpcStatus(ending.status));
}

}  // namespace lockkeeper::rpc
