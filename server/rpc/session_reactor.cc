// SPDX-License-Identifier: Apache-2.0
#include "rpc/session_reactor.h"

#include <utility>
#include <vector>

#include "core/errors.h"
#include "core/limits.h"
#include "core/validation.h"
#include "rpc/convert.h"
#include "rpc/convert_duration.h"
#include "rpc/session_log.h"
#include "rpc/session_operation.h"
#include "rpc/session_refusals.h"
#include "rpc/status_convert.h"

namespace lockkeeper::rpc {

using core::limits::kSessionBatchMax;

SessionReactor::SessionReactor(const SessionKinds& kinds, const ServiceDeps& deps,
                               KeeperSource& keepers, SessionRegistry& registry,
                               grpc::CallbackServerContext& context)
    : kinds_(kinds),
      deps_(deps),
      keepers_(keepers),
      registry_(registry),
      call_(context),
      context_(kinds.session, context),
      leases_of_all_(deps.metrics.session_leases()),
      request_(google::protobuf::Arena::CreateMessage<v1::SessionRequest>(&request_arena_)),
      progress_(registry) {
  StartRead(request_);
}

SessionReactor::~SessionReactor() { registry_.Remove(*this); }

// --- messages of the client -----------------------------------------------------------------

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
  StartRead(request_);
}

absl::Status SessionReactor::Handle(const v1::SessionRequest& request) {
  using Message = v1::SessionRequest;
  if (request.message_case() == Message::kOpen) return Open(request.open());
  if (!session_) return core::InvalidField("open", "has to be the first message of a session");
  switch (request.message_case()) {
    case Message::kBatch:
      return RunBatch(request.batch());
    case Message::kCancel:
      Post([this, id = request.cancel().operation_id()] { session_->Cancel(id); });
      return absl::OkStatus();
    case Message::kAdopt:
      return Adopt(request.adopt());
    case Message::kHeartbeat:
      Heartbeat(request.heartbeat().number());
      return absl::OkStatus();
    case Message::kClose:
      Close();
      return absl::OkStatus();
    case Message::kOpen:
    case Message::MESSAGE_NOT_SET:
      break;
  }
  return core::InvalidField("message", "is not set, or is newer than this server");
}

absl::Status SessionReactor::Open(const v1::SessionOpen& open) {
  if (session_) return core::InvalidField("open", "was sent before");
  if (absl::Status status = context_.Admission(); !status.ok()) return status;
  if (absl::Status status =
          core::ValidateText("open.owner", open.owner(), core::limits::kOwnerBytesMax);
      !status.ok()) {
    return status;
  }
  owner_ = open.owner();
  release_on_close_ = open.release_on_close();
  v1::SessionOpened opened;
  opened.set_session_id(context_.RequestId());
  opened.set_max_outstanding_operations(core::limits::kSessionOperationsMax);
  {
    const std::lock_guard lock(mutex_);
    if (!progress_.EnterLoop()) return absl::OkStatus();  // The client left meanwhile.
    session_ =
        std::make_shared<core::Session>(deps_.locks, deps_.clock, context_.principal(), *this);
    progress_.outbox().SetOpened(std::move(opened));
  }
  if (!registry_.Add(*this)) return Draining();
  Advance();
  return absl::OkStatus();
}

// Takes places for the answers of the batch's first operations, as many as there are; the others
// are refused.
absl::Status SessionReactor::TakePlaces(const v1::SessionBatch& batch, int& taken) {
  const std::lock_guard lock(mutex_);
  if (progress_.closing()) return core::InvalidField("batch", "comes after close");
  SessionOutbox& outbox = progress_.outbox();
  const bool full = progress_.Crowded() && outbox.kept() > kSessionBatchMax;
  while (!full && taken < batch.operations_size() && outbox.TakePlace()) ++taken;
  for (int i = taken; i < batch.operations_size(); ++i) {
    v1::SessionResult* refusal = outbox.AddRefusal();
    if (refusal == nullptr) {
      cut_off_ = true;
      return TooManyUnread();
    }
    refusal->set_operation_id(batch.operations(i).id());
    ToProto(OverLimit(), *refusal->mutable_error());
  }
  return absl::OkStatus();
}

absl::Status SessionReactor::RunBatch(const v1::SessionBatch& batch) {
  if (batch.operations_size() == 0 || batch.operations_size() > kSessionBatchMax) {
    return core::InvalidField("batch.operations",
                              "has to have 1 to " + std::to_string(kSessionBatchMax) +
                                  " operations, has " + std::to_string(batch.operations_size()));
  }
  int taken = 0;
  if (absl::Status status = TakePlaces(batch, taken); !status.ok()) return status;
  // Without the mutex, which the loop needs for each answer.
  const SessionFacts facts{deps_.limits, keepers_, context_.principal(), owner_};
  std::vector<core::SessionOperation> operations;
  operations.reserve(static_cast<size_t>(taken));
  bool answered = taken < batch.operations_size();
  for (int i = 0; i < taken; ++i) {
    core::SessionOperation operation;
    const absl::Status status = ToCore(batch.operations(i), facts, operation);
    if (status.ok()) {
      operations.push_back(std::move(operation));
      continue;
    }
    const std::lock_guard lock(mutex_);
    v1::SessionResult& result = progress_.outbox().AddResult();
    result.set_operation_id(batch.operations(i).id());
    ToProto(status, *result.mutable_error());
    answered = true;
  }
  if (!operations.empty()) {
    Post([this, operations = std::move(operations)]() mutable {
      for (core::SessionOperation& operation : operations) session_->Run(std::move(operation));
    });
  }
  if (answered) Advance();
  return absl::OkStatus();
}

absl::Status SessionReactor::Adopt(const v1::SessionAdopt& adopt) {
  core::ExtendRequest request;
  const absl::Status status =
      ToCore(adopt, {deps_.limits, keepers_, context_.principal(), owner_}, request);
  {
    const std::lock_guard lock(mutex_);
    if (!progress_.outbox().TakePlace()) return OverLimit();
  }
  v1::SessionAdoptResult result;
  result.set_name(adopt.name());
  result.set_lease_id(adopt.lease_id());
  if (!status.ok()) {
    ToProto(status, *result.mutable_error());
    OnAdopted(std::move(result));
    Advance();
    return absl::OkStatus();
  }
  Post([this, request = std::move(request), result = std::move(result)]() mutable {
    session_->Adopt(std::move(request),
                    [this, result = std::move(result)](absl::StatusOr<core::Lease> lease) mutable {
                      if (lease.ok()) {
                        ToProto(*lease, *result.mutable_lease());
                      } else {
                        ToProto(lease.status(), *result.mutable_error());
                      }
                      OnAdopted(std::move(result));
                      AdvanceAtEndOfTurn();
                    });
  });
  return absl::OkStatus();
}

void SessionReactor::Heartbeat(uint64_t number) {
  {
    const std::lock_guard lock(mutex_);
    if (!progress_.StartBeat(number)) return;
  }
  Post([this] { Beat(); });
}

void SessionReactor::Close() {
  {
    const std::lock_guard lock(mutex_);
    if (!progress_.Close()) return;
  }
  Post([this] { session_->LeaveLines(); });
}

// --- on the loop ----------------------------------------------------------------------------

// End() posts last, so a task finds this object: it lives until the loop has run that.
template <typename Task>
void SessionReactor::Post(Task task) {
  const std::lock_guard lock(mutex_);
  if (progress_.ending()) return;
  deps_.loop.Post([this, task = std::move(task)]() mutable {
    task();
    AdvanceAtEndOfTurn();
  });
}

void SessionReactor::OnAnswer(const core::AnsweredOperation& operation,
                              absl::StatusOr<core::SessionAnswer> answer) {
  LogOperation(kinds_.Of(operation.kind), context_, owner_, operation, answer);
  const core::Lease* lease = LeaseIn(answer);
  {
    const std::lock_guard lock(mutex_);
    CountLeases(session_->leases());
    if (lease != nullptr && lease->offered) {
      v1::SessionOffer& offer = progress_.outbox().AddOffer();
      offer.set_operation_id(operation.id);
      ToProto(*lease, *offer.mutable_lease());
    } else {
      v1::SessionResult& result = progress_.outbox().AddResult();
      result.set_operation_id(operation.id);
      ToProto(answer, result);
    }
  }
  AdvanceAtEndOfTurn();
}

// On the thread that reads, if the message was wrong.
void SessionReactor::OnAdopted(v1::SessionAdoptResult result) {
  LogAdoption(context_, owner_, result);
  const std::lock_guard lock(mutex_);
  progress_.outbox().AddAdoptResult() = std::move(result);
}

void SessionReactor::Beat() {
  session_->Heartbeat([this](absl::StatusOr<core::HeartbeatAnswer> answer) {
    v1::SessionHeartbeatResult result = ToProto(*std::move(answer));
    bool again = false;
    {
      const std::lock_guard lock(mutex_);
      again = progress_.FinishBeat(std::move(result));
    }
    if (again) Post([this] { Beat(); });
    AdvanceAtEndOfTurn();
  });
}

void SessionReactor::ReleaseAll() {
  if (!release_on_close_) return OnReleased(0);
  session_->ReleaseAll([this](absl::StatusOr<int32_t> released) {
    LogReleaseAtClose(context_, owner_, *released);
    OnReleased(*released);
    AdvanceAtEndOfTurn();
  });
}

void SessionReactor::OnReleased(int32_t released) {
  const std::lock_guard lock(mutex_);
  progress_.Closed(released);
}

void SessionReactor::CountLeases(size_t leases) {
  const size_t before = progress_.leases();
  progress_.SetLeases(leases);
  if (leases != before)
    leases_of_all_.Add(static_cast<double>(leases) - static_cast<double>(before));
}

void SessionReactor::AdvanceAtEndOfTurn() {
  if (std::exchange(advancing_, true)) return;
  deps_.loop.AtEndOfTurn([this] { OnEndOfTurn(); });
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

// --- the stream -----------------------------------------------------------------------------

void SessionReactor::Advance() {
  SessionProgress::Step step;
  {
    const std::lock_guard lock(mutex_);
    step = progress_.Next();
  }
  Do(step);
}

// Unless the step says something, another thread may have finished the session: this object is
// gone.
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

void SessionReactor::OnWriteDone(bool ok) {
  {
    const std::lock_guard lock(mutex_);
    progress_.Written();
  }
  // If it failed the stream is gone, which OnCancel tells.
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

void SessionReactor::End(SessionEnding ending) {
  {
    const std::lock_guard lock(mutex_);
    if (progress_.End(std::move(ending)) && session_) {
      deps_.loop.Post([this] {
        session_->Break();
        broken_ = true;
        AdvanceAtEndOfTurn();
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
  context_.RecordAnswer(outcome, ending.status, {.owner = owner_});
  Finish(ending.cancelled ? grpc::Status::CANCELLED : ToGrpcStatus(ending.status));
}

}  // namespace lockkeeper::rpc
